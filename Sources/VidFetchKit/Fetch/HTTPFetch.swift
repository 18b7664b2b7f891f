// The download of one resource into its part: one leading exchange after another until all bytes are
// there or there is no hope, and beside it as many lanes as bring something. What each response is
// worth is decided by HTTPTransfer's pure rules; here are the state between exchanges and the order of
// things.
//
// The leading exchange decides: it alone can restart a fetch, wait or give up. What a lane can't bring
// falls back to whoever is left.
//
// `request()`, `tick()`, `want(_:)` and `cancel()` come from the job's thread, everything about an
// exchange from the transfer thread.

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
    /// The version that is at hand is still the resource's.
    case notModified
    case warning(FetchWarning)
    case log(String)
  }

  /// Why an exchange was ended without its body, and so what follows.
  enum Pending {
    case report(Report)
    case status(TransferFailure)
  }

  struct State {
    var history: ExchangeHistory
    var lanes: FetchLanes
    /// The leading exchange's lane, while it runs.
    var lead: Int?
    var expectation = RangeExpectation(asked: nil)
    var isPlain = false
    /// Whether this run has proven that the bytes on disk are the resource's.
    var isProven = false
    var comparison: ComparingSink?
    var pending: Pending?
    /// What will be told once all lanes are silent.
    var closing: Report?
    var total: Int64?
    var isTotalOfThisRun = false
    var isAdmitted = false
    var proposedName: String?
    /// Where redirects led to; nil for the address as it was given.
    var place: HTTPURL?
    var isMultiplexed = false
    /// The version that is at hand, until the server has been found to have another.
    var refreshed: KnownVersion?
  }

  let address: Address
  let settings: TransferSettings
  let part: PartialFile
  let loop: any ExchangeRunner
  let clock: TransferClock
  let limiter: RateLimiter
  /// Whether each request and response is told in full.
  private let logs: Bool
  private let admit: @Sendable (Admission) throws(FetchError) -> Admission.Verdict
  let report: @Sendable (Report) -> Void
  let state: Locked<State>

  /// - Parameters:
  ///   - limiter: the rate that is shared with others; nil for one of its own.
  ///   - refreshed: the version that is at hand; if the resource still is that, nothing is fetched.
  ///     A part that is there is continued all the same.
  ///   - admit: asked once on the transfer thread, before the first body byte.
  ///   - report: called on the transfer thread or on the one that calls `request()`.
  init(
    _ address: Address, settings: TransferSettings, part: PartialFile,
    limiter: RateLimiter? = nil, logs: Bool = true, refreshed: KnownVersion? = nil,
    loop: any ExchangeRunner = TransferLoop.shared,
    clock: TransferClock = .system,
    admit: @escaping @Sendable (Admission) throws(FetchError) -> Admission.Verdict,
    report: @escaping @Sendable (Report) -> Void
  ) {
    self.address = address
    self.settings = settings
    self.part = part
    self.loop = loop
    self.clock = clock
    self.admit = admit
    self.report = report
    self.logs = logs
    self.limiter = limiter ?? RateLimiter(settings.rateLimit)
    let record = part.record
    var state = State(
      history: ExchangeHistory(present: record.ranges.byteCount, clock: clock),
      lanes: FetchLanes(settings))
    state.total = record.total
    state.proposedName = record.proposedName
    state.refreshed = refreshed
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

  /// Asks for what is missing; nothing must be running.
  func request() {
    let present = part.ranges
    let have = present.firstMissing()
    // The bytes before the first gap are all there, so that there is something to compare.
    let next = present.ranges.first { $0.lowerBound > have }?.lowerBound
    let now = clock.now()
    let prepared: (lane: Int, HTTPRequest)? = state.withLock { state in
      guard let (range, asked) = question(state, have: have, next: next) else { return nil }
      var expectation = asked
      var request = HTTPRequest(url: address.url, range: range, settings: settings)
      request.ifRange = expectation.ifRange
      if range == nil {
        // Nothing is there: whatever comes now may be another version.
        state.total = nil
        state.isTotalOfThisRun = false
        state.place = nil
        state.lanes.canSplit = false
        if let version = state.refreshed {
          request.condition = RefreshCondition(version.validators)
          expectation.refreshed = request.condition == nil ? nil : version
        }
      }
      prepare(&request, &state)
      state.history.begin(&request)
      state.expectation = expectation
      state.comparison = nil
      state.pending = nil
      state.closing = nil
      let lane = state.lanes.begin(
        from: have, to: next ?? state.total ?? .max, isElastic: true, now: now)
      state.lead = lane
      return (lane, request)
    }
    guard let (lane, request) = prepared else {
      report(.restart(.noValidator, bytes: present.byteCount))
      return
    }
    start(request, lane: lane, delegate: self)
  }

  /// What the leading exchange asks for, and what it expects; nil where only a fresh start is safe.
  private func question(
    _ state: State, have: Int64, next: Int64?
  ) -> (RequestedRange?, RangeExpectation)? {
    var expectation = RangeExpectation(asked: nil, total: state.total)
    guard have > 0 || next != nil else { return (nil, expectation) }
    let validators = known
    var start = have
    if have > 0 {
      guard
        let plan = ResumePolicy.plan(
          have: have, validators: validators,
          isTrusted: state.isProven || !part.isFromAnotherBoot, isPlain: state.isPlain)
      else { return nil }
      start = plan.start
      expectation.ifRange = plan.ifRange
      expectation.overlap = plan.overlap
    } else {
      // Nothing is there to be compared before what is missing.
      guard let tag = validators.strongETag, !part.isFromAnotherBoot else { return nil }
      expectation.ifRange = state.isPlain ? nil : tag
      expectation.hasOthers = true
    }
    let range = next.flatMap { ByteRange(start, $0) }.map(RequestedRange.closed) ?? .from(start)
    expectation.asked = range
    expectation.isTotalOfThisRun = state.isTotalOfThisRun
    expectation.validators = validators
    expectation.isPlain = state.isPlain
    return (range, expectation)
  }

  /// What identifies the version that is there.
  var known: Validators { part.record.validators }

  func prepare(_ request: inout HTTPRequest, _ state: inout State) {
    request.limiter = limiter
    if logs { request.log = { [report] in report(.log($0)) } }
  }

  func start(_ request: HTTPRequest, lane: Int, delegate: any ExchangeDelegate) {
    // Under no lock: the exchange may be over before this returns.
    let exchange = loop.start(request, delegate: delegate)
    if let retired = state.withLock({ $0.lanes.started(lane, exchange) }) { loop.cancel(retired) }
  }

  /// Starts and ends lanes as it pays; to be called some ten times a second.
  func tick() {
    perform(state.withLock { $0.lanes.areSilent ? [] : plan(&$0) })
  }

  /// Has the bytes from this offset on fetched next, as somebody waits for them.
  func want(_ offset: Int64) {
    perform(
      state.withLock { state in
        state.lanes.wanted = offset
        return state.lanes.areSilent ? [] : plan(&state)
      })
  }

  /// Ends the exchanges that are running; a report follows.
  func cancel() {
    let exchanges = state.withLock { state in
      state.history.isCancelled = true
      if !state.lanes.areSilent { state.closing = .failed(.cancelled) }
      return state.lanes.retireAll()
    }
    exchanges.forEach(loop.cancel)
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
      state.place = nil
      state.lanes.forget()
    }
  }

  // MARK: - The leading exchange

  func exchange(
    _ id: ExchangeID, didReceive response: HTTPResponse
  ) -> BodyDisposition {
    let (decision, expectation) = state.withLock { state in
      state.history.learn(from: response)
      return (RangeCheck.judge(response, state.expectation), state.expectation)
    }
    switch decision {
    case .append where expectation.asked == nil && !part.ranges.isEmpty:
      // Asked for when nothing was there; what has come since may belong to another version.
      return discard(.report(.restart(.rangeIgnored, bytes: part.ranges.byteCount)))
    case .append(let offset, _, let total, let compares):
      return accept(
        response, at: offset, total: total,
        compareBelow: compares ? offset + expectation.overlap : nil)
    case .notModified:
      return discard(.report(.notModified))
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
    let (pending, comparison, isAsked) = state.withLock { state in
      let isAsked = state.lead.map { state.lanes.ended($0) } ?? false
      state.lead = nil
      return (state.pending, state.comparison, isAsked)
    }
    switch outcome {
    case .completed(let response, _):
      settle(.bodyEnded(response))
    case .stopped:
      switch pending {
      case .report(let next): close(next)
      case .status(let failure): settle(.failed(failure))
      case nil: close(.failed(FetchError(.internal, "an exchange was stopped for no reason")))
      }
    case .failed where comparison?.differs == true:
      close(afterChange())
    case .failed(let failure) where isAsked && failure.kind == .cancelled:
      settle(.retired)
    case .failed(let failure) where !RetryPolicy.isWorthRepeating(failure):
      close(afterFailure(failure))
    case .failed(let failure):
      settle(.failed(failure))
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
      state.refreshed = nil
      state.proposedName = name ?? state.proposedName
      state.total = total
      state.isTotalOfThisRun = total != nil
    }
    if let refusal = refusal(total: total) { return discard(.report(refusal)) }
    if have == 0 {
      do throws(FetchError) {
        guard try part.place(total: total) else {
          // Told of a small body before, and no byte of that came: nothing is known to have changed.
          return discard(
            .report(
              part.ranges.isEmpty ? .restart(.partUnusable, bytes: 0) : afterChange()))
        }
      } catch {
        return discard(.report(.failed(error)))
      }
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
    let ranges = part.ranges
    let now = clock.now()
    let accepted: (end: BodyEnd, cancelled: [ExchangeID])? = state.withLock { state in
      state.place = response.redirects > 0 ? response.finalURL : nil
      state.isMultiplexed = response.httpVersion == "2"
      // Only a strong tag proves that parts fit that were fetched side by side.
      state.lanes.canSplit =
        compareBelow == nil && total != nil && response.validators.strongETag != nil
        && response.acceptsRanges != false
      return state.lead.flatMap { state.lanes.accept($0, present: ranges, now: now) }
    }
    guard let (end, cancelled) = accepted else { return discard(.report(.again)) }
    cancelled.forEach(loop.cancel)
    tick()
    guard let compareBelow else { return .write(to: part, at: offset, until: end) }
    let sink = ComparingSink(part, compareBelow: compareBelow)
    state.withLock { $0.comparison = sink }
    return .write(to: sink, at: offset, until: end)
  }

  /// Asks once for each version whether it is welcome; nil where it is.
  private func refusal(total: Int64?) -> Report? {
    let isFirst = state.withLock { state in
      defer { state.isAdmitted = true }
      return !state.isAdmitted
    }
    guard isFirst else { return nil }
    let have = part.ranges.byteCount
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

  func afterBody(_ response: HTTPResponse?) -> Report {
    let ranges = part.ranges
    let present = ranges.firstMissing()
    let (total, broughtSomething): (Int64?, Bool) = state.withLock { state in
      state.isProven = true
      return (state.total, state.history.bodyEnded(present: ranges.byteCount))
    }
    if let total {
      if ranges.isComplete(total: total) { return .completed(total: total, isFramed: true) }
    } else if let response, !response.isRangeOfUnknownTotal {
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

  func afterFailure(_ failure: TransferFailure) -> Report {
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
