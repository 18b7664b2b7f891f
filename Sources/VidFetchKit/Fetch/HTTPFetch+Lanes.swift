// The lanes of a fetch: ranges that come beside what the leading exchange brings, and what follows when
// any exchange has ended. On the transfer thread, but for `perform`, which runs wherever a plan was made.

import FetchCore
import HTTPTransfer
import PartialStorage

extension HTTPFetch {
  /// How an exchange ended.
  enum Ending {
    case bodyEnded(HTTPResponse)
    case failed(TransferFailure)
    /// It was told to end.
    case retired
    /// The server did not send what was asked for.
    case refused
  }

  func lane(
    _ lane: Int, didReceive response: HTTPResponse, expecting expectation: RangeExpectation
  ) -> BodyDisposition {
    let present = part.ranges
    let now = clock.now()
    let decision = RangeCheck.judge(response, expectation)
    let (end, cancelled): (BodyEnd?, [ExchangeID]) = state.withLock { state in
      state.history.learn(from: response)
      guard state.closing == nil else { return (nil, []) }
      guard case .append(let offset, _, _, false) = decision, offset == expectation.asked?.first
      else {
        refuse(response, decision, &state)
        return (nil, [])
      }
      guard let (end, cancelled) = state.lanes.accept(lane, present: present, now: now) else {
        return (nil, [])
      }
      return (end, cancelled)
    }
    cancelled.forEach(loop.cancel)
    return end.map { .write(to: part, at: expectation.asked?.first ?? 0, until: $0) } ?? .discard
  }

  /// Learns from a response that isn't what the lane asked for.
  private func refuse(_ response: HTTPResponse, _ decision: RangeDecision, _ state: inout State) {
    let now = clock.now()
    if case .failed = decision {
      // A signed address that has expired is asked for anew where it came from.
      if state.place != nil, [401, 403, 404, 410].contains(response.status) {
        state.place = nil
      } else {
        let wait = response.retryAfter?.wait(now: clock.date())
        state.lanes.failed(wait: wait.map { min($0, 1 << 20) * 1_000_000_000 }, now: now)
      }
      return
    }
    // No ranges, or of another version: the leading exchange will find out which, if need be.
    state.lanes.refuse()
  }

  func lane(_ lane: Int, didFinish outcome: ExchangeOutcome) {
    let isAsked = state.withLock { $0.lanes.ended(lane) }
    switch outcome {
    case .completed(let response, let bytes) where bytes > 0:
      settle(.bodyEnded(response))
    case .completed, .stopped:
      settle(isAsked ? .retired : .refused)
    case .failed(let failure) where isAsked && failure.kind == .cancelled:
      settle(.retired)
    case .failed(let failure) where failure.kind == .sink || failure.kind == .cancelled:
      close(afterFailure(failure))
    case .failed(let failure):
      state.withLock { $0.lanes.failed(wait: nil, now: clock.now()) }
      settle(RetryPolicy.isWorthRepeating(failure) ? .failed(failure) : .refused)
    }
  }

  /// Goes on after an exchange has ended.
  func settle(_ ending: Ending) {
    if state.withLock({ $0.closing != nil }) { return closeIfSilent() }
    let ranges = part.ranges
    let (total, areSilent) = state.withLock { ($0.total, $0.lanes.areSilent) }
    if let total, ranges.isComplete(total: total) {
      return close(.completed(total: total, isFramed: true))
    }
    guard areSilent else { return tick() }
    switch ending {
    case .bodyEnded(let response): goOn(after: response, canSplit: true)
    case .retired: goOn(after: nil, canSplit: true)
    case .refused: goOn(after: nil, canSplit: false)
    case .failed(let failure): report(afterFailure(failure))
    }
  }

  /// All exchanges have ended without a failure, but perhaps not all is there.
  private func goOn(after response: HTTPResponse?, canSplit: Bool) {
    let present = part.ranges
    let another: [FetchLanes.Step] = state.withLock { state in
      guard state.closing == nil, !state.history.isCancelled, let total = state.total else {
        return []
      }
      return state.lanes.planAnother(present: present, total: total, now: clock.now())
    }
    if !another.isEmpty { return perform(another) }
    let sequel = afterBody(response)
    guard case .again = sequel else { return report(sequel) }
    let steps = canSplit ? state.withLock { plan(&$0) } : []
    if steps.isEmpty { report(.again) } else { perform(steps) }
  }

  /// Ends all lanes, and then tells this.
  func close(_ next: Report) {
    let exchanges = state.withLock { state in
      // What was decided first counts.
      state.closing = state.closing ?? next
      return state.lanes.retireAll()
    }
    exchanges.forEach(loop.cancel)
    closeIfSilent()
  }

  private func closeIfSilent() {
    let next: Report? = state.withLock { state in
      guard state.lanes.areSilent else { return nil }
      defer { state.closing = nil }
      return state.closing
    }
    if let next { report(next) }
  }

  func plan(_ state: inout State) -> [FetchLanes.Step] {
    guard state.closing == nil, !state.history.isCancelled, let total = state.total,
      state.isAdmitted
    else { return [] }
    return state.lanes.plan(
      present: part.ranges, total: total, received: part.received,
      isMultiplexed: state.isMultiplexed, now: clock.now())
  }

  func perform(_ steps: [FetchLanes.Step]) {
    for step in steps {
      switch step {
      case .cancel(let exchange): loop.cancel(exchange)
      case .open(let lane, let range): open(range, lane: lane)
      }
    }
  }

  private func open(_ range: ByteRange, lane: Int) {
    let validators = known
    let (request, expectation) = state.withLock { state in
      var request = HTTPRequest(
        url: state.place ?? address.url, range: .closed(range), settings: settings)
      request.secretsOrigin = address.url.origin
      request.typedURL = address.url
      request.ifRange = validators.strongETag
      request.isAlone = state.lanes.count.needsConnections
      prepare(&request, &state)
      state.history.accompany(&request)
      var expectation = RangeExpectation(
        asked: request.range, ifRange: request.ifRange, total: state.total,
        isTotalOfThisRun: state.isTotalOfThisRun, validators: validators)
      expectation.hasOthers = true
      return (request, expectation)
    }
    start(
      request, lane: lane, delegate: LaneExchange(self, lane: lane, expectation: expectation))
  }
}
