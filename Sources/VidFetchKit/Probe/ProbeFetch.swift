// Parts of one resource, one exchange after another, wherever they are wanted. What each response is
// worth is decided by HTTPTransfer's pure rules, what follows a failure by `ExchangeHistory`, both as in
// a download; here is the order of things.
//
// `request`, `drop` and `cancel` come from the probe's thread, everything about an exchange from the
// transfer thread.

import FetchCore
import HTTPTransfer
import PartialStorage

/// Fetches ranges of a resource, or the whole of it where the server knows no ranges.
final class ProbeFetch: ExchangeDelegate {
  /// What the probe is told; each exchange ends with one of those but the first three.
  enum Report: Sendable {
    /// A response was accepted; its bytes follow.
    case accepted(total: Int64?, isSequential: Bool)
    case warning(FetchWarning)
    case log(String)
    /// What was asked for is there, or was dropped.
    case ended
    /// All of the resource is there.
    case completed(total: Int64, isFramed: Bool)
    /// Worth asking again after this wait.
    case paused(wait: Duration, attempt: Int, error: FetchError)
    /// What is there is worth nothing any more: to be begun anew, with `begin(anew:)`.
    case restart(RestartReason)
    case failed(FetchError)

    var endsExchange: Bool {
      switch self {
      case .accepted, .warning, .log: false
      case .ended, .completed, .paused, .restart, .failed: true
      }
    }
  }

  /// Why an exchange was ended without its body, and so what follows.
  private enum Pending {
    case sequel(ExchangeHistory.Sequel)
    case ended
    case failure(TransferFailure)
  }

  private struct State {
    var isRunning = false
    /// nil until the loop has told it.
    var exchange: ExchangeID?
    /// What is being fetched; nil for the whole.
    var asked: ByteRange?
    /// Whether the running exchange was dropped for another place.
    var isDropped = false
    var history = ExchangeHistory()
    /// Whether the server sends the whole only, from its beginning.
    var isSequential = false
    var isPlain = false
    var expectation = RangeExpectation(asked: nil)
    var validators: Validators?
    var total: Int64?
    var pending: Pending?
    /// Answers in a row that brought next to nothing of what was asked for.
    var crumbs = 0
    var cache: ScratchFile
    /// Bytes that came into caches that are gone.
    var receivedBefore: Int64 = 0
  }

  /// How often in a row a server may send crumbs of what was asked for.
  private static let mostCrumbs = 16
  private static let crumb: Int64 = 16 << 10

  private let url: HTTPURL
  private let settings: TransferSettings
  private let loop: TransferLoop
  private let report: @Sendable (Report) -> Void
  private let state: Locked<State>

  /// - Parameter report: called on the transfer thread.
  init(
    _ url: HTTPURL, settings: TransferSettings, cache: ScratchFile, loop: TransferLoop = .shared,
    report: @escaping @Sendable (Report) -> Void
  ) {
    self.url = url
    self.settings = settings
    self.loop = loop
    self.report = report
    state = Locked(State(cache: cache))
  }

  // MARK: - For the probe

  /// Requests that were made so far.
  var attempts: Int { state.withLock { $0.history.attempts } }

  /// Body bytes that were taken so far.
  var received: Int64 { state.withLock { $0.receivedBefore + $0.cache.received } }

  /// The resource's size, where it is known.
  var total: Int64? { state.withLock { $0.total } }

  /// Whether the server sends the whole only.
  var isSequential: Bool { state.withLock { $0.isSequential } }

  /// Whether the running exchange brings this byte.
  func brings(_ offset: Int64) -> Bool {
    state.withLock { state in
      guard state.isRunning, !state.isDropped else { return false }
      return state.isSequential || state.asked?.contains(offset) ?? true
    }
  }

  /// Asks for a range; for the whole where the server knows no ranges.
  ///
  /// Nothing must be running.
  func request(_ range: ByteRange) {
    let request = state.withLock { state in
      let asked = state.isSequential ? nil : range
      var request = HTTPRequest(url: url, settings: settings)
      request.range = asked.map { .closed($0) }
      if let validators = state.validators, !state.isPlain, asked != nil {
        request.ifRange = ResumePolicy.ifRange(for: validators)
      }
      var expectation = RangeExpectation(
        asked: request.range, ifRange: request.ifRange, total: state.total,
        isTotalOfThisRun: state.total != nil, validators: state.validators ?? Validators(),
        isPlain: state.isPlain)
      expectation.needsProof = false
      state.history.begin(&request)
      request.log = { [report] in report(.log($0)) }
      state.asked = asked
      state.expectation = expectation
      state.pending = nil
      state.isDropped = false
      state.isRunning = true
      return request
    }
    // Under no lock: the exchange may be over before this returns.
    let exchange = loop.start(request, delegate: self)
    state.withLock { if $0.isRunning { $0.exchange = exchange } }
  }

  /// Ends the running exchange, since bytes of another place are wanted; `ended` follows.
  func drop() {
    let exchange = state.withLock { state in
      state.isDropped = state.isRunning
      return state.exchange
    }
    if let exchange { loop.cancel(exchange) }
  }

  /// Ends all; nothing needs to follow.
  func cancel() {
    let exchange = state.withLock { state in
      state.history.isCancelled = true
      return state.exchange
    }
    if let exchange { loop.cancel(exchange) }
  }

  /// Forgets what was there, for a cache that is empty.
  ///
  /// - Parameter reason: why; a server that sends no ranges is asked for the whole from now on.
  func begin(anew cache: ScratchFile, after reason: RestartReason) {
    state.withLock { state in
      state.receivedBefore += state.cache.received
      state.cache = cache
      state.validators = nil
      state.total = nil
      state.isPlain = false
      if reason == .remoteChanged { state.history.beginNewVersion() }
      if reason == .rangeIgnored { state.isSequential = true }
    }
  }

  // MARK: - The exchange

  func exchange(
    _ id: ExchangeID, didReceive response: HTTPResponse
  ) -> BodyDisposition {
    let (decision, isFirst) = state.withLock { state in
      state.history.learn(from: response)
      return (RangeCheck.judge(response, state.expectation), state.validators == nil)
    }
    switch decision {
    case .append(let offset, _, let total, _):
      let (cache, isSequential) = state.withLock { state in
        if isFirst { state.validators = response.validators }
        state.total = total ?? state.total
        // The whole came, although a range was asked for.
        if response.contentRange == nil { state.isSequential = true }
        return (state.cache, state.isSequential)
      }
      report(.accepted(total: total, isSequential: isSequential))
      return .write(to: cache, at: offset, until: nil)
    case .alreadyComplete, .notModified:
      // The source ends before what was asked for.
      let total = response.contentRange?.total ?? self.total
      state.withLock { $0.total = total }
      report(.accepted(total: total, isSequential: false))
      return discard(.ended)
    case .tryPlainRange:
      state.withLock { $0.isPlain = true }
      return discard(.sequel(.again))
    case .restartFromZero:
      return discard(.sequel(.restart(.rangeIgnored)))
    case .remoteChanged:
      return discard(.sequel(state.withLock { $0.history.remoteChanged(settings) }))
    case .contradiction(let error):
      return discard(.sequel(.giveUp(error)))
    case .rejectRange(let text):
      return discard(.sequel(state.withLock { $0.history.rejected(text, settings) }))
    case .failed(let error):
      return discard(
        .failure(TransferFailure(.status(response.status), error, response: response)))
    }
  }

  func exchange(_ id: ExchangeID, willFollowRedirectTo url: HTTPURL, status: Int) {
    report(.log("\(status): redirected to \(url.redacted)"))
  }

  func exchange(_ id: ExchangeID, didWarn warning: FetchWarning) { report(.warning(warning)) }

  func exchange(_ id: ExchangeID, didFinish outcome: ExchangeOutcome) {
    let (pending, isDropped) = state.withLock { state in
      state.exchange = nil
      state.isRunning = false
      return (state.pending, state.isDropped)
    }
    switch outcome {
    case .completed(let response, _):
      report(afterBody(response))
    case .stopped:
      switch pending {
      case .ended: report(.ended)
      case .sequel(let sequel): report(follow(sequel))
      case .failure(let failure): report(afterFailure(failure))
      case nil: report(.failed(FetchError(.internal, "an exchange was stopped for no reason")))
      }
    case .failed(let failure) where isDropped && failure.kind == .cancelled:
      report(.ended)
    case .failed(let failure):
      report(afterFailure(failure))
    }
  }

  private func discard(_ pending: Pending) -> BodyDisposition {
    state.withLock { $0.pending = pending }
    return .discard
  }

  private func afterBody(_ response: HTTPResponse) -> Report {
    let (isSequential, total, present) = state.withLock { state in
      (state.isSequential, state.total, state.cache.present)
    }
    if let total, present.isComplete(total: total) {
      return .completed(total: total, isFramed: true)
    }
    if isSequential, total == nil {
      return .completed(total: present.firstMissing(), isFramed: response.framing.provesEnd)
    }
    let (brought, isMean) = state.withLock { state in
      let brought = state.history.bodyEnded(present: present.byteCount)
      // A part of what was asked for is progress; crumbs, one after the other, are not.
      let came = state.asked.map { ($0.count, state.cache.present.run(from: $0.lowerBound)) }
      let isCrumb = came.map { $0.1 < min($0.0, Self.crumb) } ?? false
      state.crumbs = isCrumb ? state.crumbs + 1 : 0
      return (brought, state.crumbs > Self.mostCrumbs)
    }
    if isMean {
      return .failed(
        FetchError(
          .network, "the server sends next to nothing of what it is asked for",
          recovery: "try again later, or download the file"))
    }
    if brought { return .ended }
    return afterFailure(
      TransferFailure(
        .cut, FetchError(.network, "the server sends less than was asked for"), response: response))
  }

  private func afterFailure(_ failure: TransferFailure) -> Report {
    follow(
      state.withLock { state in
        state.history.failed(failure, present: state.cache.present.byteCount, settings)
      })
  }

  private func follow(_ sequel: ExchangeHistory.Sequel) -> Report {
    switch sequel {
    case .pause(let wait, let attempt, let error):
      .paused(wait: wait, attempt: attempt, error: error)
    case .again: .ended
    case .restart(let reason): .restart(reason)
    case .giveUp(let error): .failed(error)
    }
  }
}
