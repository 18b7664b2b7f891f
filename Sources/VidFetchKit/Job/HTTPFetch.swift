// The download of one resource into its part: one exchange after another until all bytes are there or
// there is no hope. What each response is worth is decided by HTTPTransfer's pure rules; here are the
// state between exchanges and the order of things.
//
// `request()` and `cancel()` come from the job's thread, everything about an exchange from the
// transfer thread.

import FetchCore
import HTTPTransfer
import PartialStorage

/// Fetches a resource, resuming wherever that is proven to be safe.
final class HTTPFetch: ExchangeDelegate {
  /// A resource's address, and the key of its part.
  struct Address: Sendable {
    let url: HTTPURL
    let key: ResourceKey
  }

  /// What the job is told.
  ///
  /// After `request()` exactly one of the reports that end it comes: all but `accepted`, `warning`
  /// and `log` do.
  enum Report: Sendable {
    /// Bytes will come.
    case accepted(total: Int64?)
    case completed(total: Int64, isFramed: Bool)
    /// The exchange failed, and is worth another after this wait.
    case paused(wait: Duration, attempt: Int, error: FetchError)
    /// Ask again at once: nothing failed, but not all has come.
    case again
    case failed(FetchError)
    /// What is there can't be continued.
    case restart(RestartReason, bytes: Int64)
    case targetExists(path: String)
    case warning(FetchWarning)
    case log(String)
  }

  /// Why an exchange was ended without its body, and so what follows.
  private enum Pending {
    case report(Report)
    case status(TransferFailure)
  }

  private struct State {
    var exchange: ExchangeID?
    var history: ExchangeHistory
    var expectation = RangeExpectation(asked: nil)
    var isPlain = false
    /// Whether this run has proven that the bytes on disk are the resource's.
    var isProven = false
    var comparison: ComparingSink?
    var pending: Pending?
    var total: Int64?
    var isTotalOfThisRun = false
    var isAdmitted = false
    var proposedName: String?
  }

  private let address: Address
  private let settings: TransferSettings
  private let part: PartialFile
  private let loop: TransferLoop
  private let admit: @Sendable (Admission) throws(FetchError) -> Admission.Verdict
  private let report: @Sendable (Report) -> Void
  private let state: Locked<State>

  /// - Parameters:
  ///   - admit: asked once on the transfer thread, before the first body byte.
  ///   - report: called on the transfer thread or on the one that calls `request()`.
  init(
    _ address: Address, settings: TransferSettings, part: PartialFile,
    loop: TransferLoop = .shared,
    admit: @escaping @Sendable (Admission) throws(FetchError) -> Admission.Verdict,
    report: @escaping @Sendable (Report) -> Void
  ) {
    self.address = address
    self.settings = settings
    self.part = part
    self.loop = loop
    self.admit = admit
    self.report = report
    let record = part.record
    var state = State(history: ExchangeHistory(present: record.ranges.byteCount))
    state.total = record.total
    state.proposedName = record.proposedName
    self.state = Locked(state)
  }

  static func parse(_ text: String) throws(FetchError) -> Address {
    let url = try HTTPURL(text)
    return Address(url: url, key: ResourceKey(normalizedURL: url.normalized))
  }

  /// A source's text without its secrets; a path stays as it is.
  static func redacted(_ source: String) -> String {
    switch try? SourceAddress(source) {
    case .file(let path)?:
      return path == source ? SourceAddress.withoutSecrets(path: source) : source
    case .url?:
      if let url = try? HTTPURL(source) { return url.redacted }
      return URLText.redacting(unreadable: source)
    case nil:
      return URLText.redacting(unreadable: source)
    }
  }

  // MARK: - For the job

  /// Names for the result, in order of preference.
  var proposals: [String?] {
    [state.withLock { $0.proposedName }, address.url.lastPathComponent]
  }

  /// The name that the source came under.
  var sourceName: String { proposals.lazy.compactMap { $0 }.first ?? "" }

  /// Requests that were made so far.
  var attempts: Int { state.withLock { $0.history.attempts } }

  /// Asks for what is missing.
  func request() {
    let have = part.ranges.firstMissing()
    let record = part.record
    let validators = Validators(
      strongETag: record.strongETag, weakETag: record.weakETag, lastModified: record.lastModified,
      date: record.date)
    let prepared: HTTPRequest? = state.withLock { state in
      var request = HTTPRequest(url: address.url, settings: settings)
      var expectation = RangeExpectation(asked: nil, total: state.total)
      if have > 0 {
        guard
          let plan = ResumePolicy.plan(
            have: have, validators: validators,
            isTrusted: state.isProven || !part.isFromAnotherBoot, isPlain: state.isPlain)
        else { return nil }
        request.range = .from(plan.start)
        request.ifRange = plan.ifRange
        expectation = RangeExpectation(
          asked: request.range, ifRange: plan.ifRange, overlap: plan.overlap, total: state.total,
          isTotalOfThisRun: state.isTotalOfThisRun, validators: validators, isPlain: state.isPlain)
      }
      state.history.begin(&request)
      request.log = { [report] in report(.log($0)) }
      state.expectation = expectation
      state.comparison = nil
      state.pending = nil
      return request
    }
    guard let prepared else {
      report(.restart(.noValidator, bytes: have))
      return
    }
    let exchange = loop.start(prepared, delegate: self)
    state.withLock { $0.exchange = exchange }
  }

  /// Ends the exchange that is running; its report follows.
  func cancel() {
    let exchange = state.withLock { state in
      state.history.isCancelled = true
      return state.exchange
    }
    if let exchange { loop.cancel(exchange) }
  }

  /// What is there belongs to the past: the next request is for a resource that nothing is known of.
  ///
  /// - Parameter isNew: another version takes its place, so that each of its bytes is a new one.
  func forget(isNew: Bool) {
    state.withLock { state in
      if isNew { state.history.beginNewVersion() }
      state.isAdmitted = false
      state.total = nil
      state.isTotalOfThisRun = false
      state.isPlain = false
      state.isProven = false
      state.proposedName = nil
    }
  }

  // MARK: - The exchange

  func exchange(
    _ id: ExchangeID, didReceive response: HTTPResponse
  ) -> BodyDisposition {
    let (decision, expectation) = state.withLock { state in
      state.history.learn(from: response)
      return (RangeCheck.judge(response, state.expectation), state.expectation)
    }
    switch decision {
    case .append(let offset, _, let total, let compares):
      return accept(
        response, at: offset, total: total,
        compareBelow: compares ? offset + expectation.overlap : nil)
    case .alreadyComplete:
      let total = expectation.total ?? part.ranges.byteCount
      if let refusal = refusal(total: total) { return discard(.report(refusal)) }
      return discard(.report(.completed(total: total, isFramed: true)))
    case .tryPlainRange:
      state.withLock { $0.isPlain = true }
      return discard(.report(.again))
    case .restartFromZero:
      return discard(.report(.restart(.rangeIgnored, bytes: part.ranges.byteCount)))
    case .remoteChanged:
      return discard(.report(afterChange()))
    case .contradiction(let error):
      return discard(.report(.failed(error)))
    case .rejectRange(let text):
      return discard(.report(afterRejection(text)))
    case .failed(let error):
      return discard(
        .status(TransferFailure(.status(response.status), error, response: response)))
    }
  }

  func exchange(_ id: ExchangeID, willFollowRedirectTo url: HTTPURL, status: Int) {
    report(.log("\(status): redirected to \(url.redacted)"))
  }

  func exchange(_ id: ExchangeID, didWarn warning: FetchWarning) { report(.warning(warning)) }

  func exchange(_ id: ExchangeID, didFinish outcome: ExchangeOutcome) {
    let (pending, comparison) = state.withLock { state in
      state.exchange = nil
      return (state.pending, state.comparison)
    }
    switch outcome {
    case .completed(let response, _):
      report(afterBody(response))
    case .stopped:
      switch pending {
      case .report(let next): report(next)
      case .status(let failure): report(afterFailure(failure))
      case nil: report(.failed(FetchError(.internal, "an exchange was stopped for no reason")))
      }
    case .failed where comparison?.differs == true:
      report(afterChange())
    case .failed(let failure):
      report(afterFailure(failure))
    }
  }

  private func discard(_ pending: Pending) -> BodyDisposition {
    state.withLock { $0.pending = pending }
    return .discard
  }

  /// Lets the body in, once it has been found to be welcome.
  private func accept(
    _ response: HTTPResponse, at offset: Int64, total: Int64?, compareBelow: Int64?
  ) -> BodyDisposition {
    let name = response.contentDisposition.flatMap(ContentDisposition.filename)
    let have = part.ranges.firstMissing()
    state.withLock { state in
      state.proposedName = name ?? state.proposedName
      state.total = total
      state.isTotalOfThisRun = total != nil
    }
    if let refusal = refusal(total: total) { return discard(.report(refusal)) }
    if have == 0 {
      let validators = response.validators
      part.updateRecord { record in
        record.strongETag = validators.strongETag
        record.weakETag = validators.weakETag
        record.lastModified = validators.lastModified
        record.date = validators.date
        record.total = total
        record.proposedName = name
      }
    } else if total != nil, part.record.total == nil {
      part.updateRecord { $0.total = total }
    }
    report(.accepted(total: total))
    guard let compareBelow else { return .write(to: part, at: offset, limit: nil) }
    let sink = ComparingSink(part, compareBelow: compareBelow)
    state.withLock { $0.comparison = sink }
    return .write(to: sink, at: offset, limit: nil)
  }

  /// Asks once for each version whether it is welcome; nil where it is.
  private func refusal(total: Int64?) -> Report? {
    let isFirst = state.withLock { state in
      defer { state.isAdmitted = true }
      return !state.isAdmitted
    }
    guard isFirst else { return nil }
    let have = part.ranges.firstMissing()
    do throws(FetchError) {
      let admission = Admission(
        proposals: proposals, missing: total.map { $0 - have }, total: total)
      if case .exists(let path) = try admit(admission) { return .targetExists(path: path) }
      return nil
    } catch {
      return .failed(error)
    }
  }

  // MARK: - What follows

  private func afterChange() -> Report {
    follow(state.withLock { $0.history.remoteChanged(settings) })
  }

  private func afterBody(_ response: HTTPResponse) -> Report {
    let ranges = part.ranges
    let present = ranges.firstMissing()
    let (total, broughtSomething): (Int64?, Bool) = state.withLock { state in
      state.isProven = true
      return (state.total, state.history.bodyEnded(present: ranges.byteCount))
    }
    if let total {
      if ranges.isComplete(total: total) { return .completed(total: total, isFramed: true) }
    } else if !response.isRangeOfUnknownTotal {
      // Only the end of the body tells the size, and only framing tells that this is the end.
      part.updateRecord { $0.total = response.framing.provesEnd ? present : nil }
      return .completed(total: present, isFramed: response.framing.provesEnd)
    }
    if broughtSomething { return .again }
    return afterFailure(
      TransferFailure(
        .cut, FetchError(.network, "the server sends less than was asked for"), response: response))
  }

  private func afterRejection(_ text: String) -> Report {
    follow(state.withLock { $0.history.rejected(text, settings) })
  }

  private func afterFailure(_ failure: TransferFailure) -> Report {
    let present = part.ranges.byteCount
    return follow(state.withLock { $0.history.failed(failure, present: present, settings) })
  }

  private func follow(_ sequel: ExchangeHistory.Sequel) -> Report {
    switch sequel {
    case .pause(let wait, let attempt, let error):
      .paused(wait: wait, attempt: attempt, error: error)
    case .again: .again
    case .restart(let reason): .restart(reason, bytes: part.ranges.byteCount)
    case .giveUp(let error): .failed(error)
    }
  }
}
