// How many exchanges side by side a resource is worth. Pure: the clock and the byte counts are
// arguments.

/// Decides how many lanes there should be, by what more of them have brought so far.
///
/// It begins with one. Once that has found its pace, a second is tried, at the resource's end; where
/// the total clearly rises, it stays and more are tried, else it goes back to what was before, and
/// tries again later and later. Where a body comes in bursts, trials last from one silence to beyond
/// the next. What a lane brings that runs for the export's sake is not taken for the first one's
/// pace. A person's own number is taken as it is.
package struct LaneCount: Sendable {
  /// The most that are ever used.
  package static let most = 16

  private enum Phase: Sendable {
    /// Nothing was tried yet: one lane, or two if the export needs them, whose pace still changes by
    /// itself.
    case opening
    /// More lanes were asked for; `rate` is what the `count` before them brought.
    case trial(count: Int, rate: Double, since: Int64, accepted: Int)
    /// The same, of a flow in bursts, with the bytes that had come before.
    case burstTrial(
      count: Int, cycle: BurstPace.Cycle, since: Int64, bytes: Int64, accepted: Int)
    /// Nothing is tried before this time.
    case settled(until: Int64)
  }

  /// Bytes that came since a moment.
  private struct Window: Sendable {
    var since: Int64
    var bytes: Int64
  }

  // In nanoseconds.
  private static let openingWindow: Int64 = 150_000_000
  private static let trialWindow: Int64 = 200_000_000
  /// Windows of the opening whose best a trial has to exceed.
  private static let openingMemory = 4
  /// A pace that is not steady after so many windows never is.
  private static let mostOpenings = 12
  /// A lane beyond the first that was there so long, all its times together, is taken for granted.
  private static let crowdPatience: Int64 = 2_000_000_000
  /// What lies between two looks counts for so much of that at most.
  private static let longestLook: Int64 = 200_000_000
  /// How long a trial waits for the responses of all its lanes.
  private static let trialPatience: Int64 = 1_000_000_000
  private static let firstPause: Int64 = 8_000_000_000
  private static let longestPause: Int64 = 60_000_000_000
  /// A second connection on an idle link doubles the rate, on a full one it brings nothing; each of
  /// many brings less.
  private static let worthOfSecond = 1.4
  private static let worthOfMore = 1.2

  // In seconds that the rest would take. On a link that is full already, a second connection makes
  // the first lose its pace for some seconds: what is over soon is left alone.
  private static let worthOpening = 12.0
  private static let worthMore = 1.0
  private static let worthAnotherTrial = 12.0

  /// How many lanes there should be now.
  package private(set) var target: Int {
    // Bursts of so many lanes say nothing of others.
    didSet { if target != oldValue { bursts = BurstPace() } }
  }
  /// Where further lanes should begin.
  package private(set) var order: RangeLanes.Order
  /// Whether lanes over one HTTP/2 connection have brought nothing, so that each is to have its own.
  package private(set) var needsConnections = false
  /// Bytes a second of all lanes together, lately; 0 before it is known.
  package private(set) var rate = 0.0

  private let limit: Int
  private let isFixed: Bool
  private var phase = Phase.opening
  private var window: Window?
  private var bursts = BurstPace()
  private var previousRate: Double?
  /// Windows that have passed since the beginning.
  private var openings = 0
  /// How long there were two lanes before anything was tried, in nanoseconds.
  private var crowdedFor: Int64 = 0
  private var lastLook: Int64?
  private var pause = Self.firstPause
  /// No trial begins before this time, as the server wanted no more lanes.
  private var refusedUntil: Int64 = 0
  /// No trial begins out of turn before this time.
  private var lossTrialFrom: Int64 = 0
  /// What the latest windows of the opening brought, in bytes a second.
  private var openingRates: [Double] = []
  private var bestRate = 0.0
  private var slowWindows = 0
  /// How long the lanes of a trial took to begin; nil until they have.
  private var settling: Int64?

  /// - Parameters:
  ///   - wanted: the person's number; 0 leaves it to what is measured.
  ///   - perHost: the most that one host is to have; nil for no such limit.
  package init(wanted: Int, perHost: Int?) {
    isFixed = wanted > 0
    limit = max(1, min(wanted > 0 ? wanted : Self.most, perHost ?? .max))
    target = isFixed ? limit : 1
    order = isFixed ? .forwards : .backwards
  }

  /// Bytes that a further lane should be asked for.
  ///
  /// - Parameter missing: bytes that are still to come.
  package func demand(missing: Int64) -> RangeLanes.Demand {
    let count = Int64(max(1, target))
    let pace = rate / Double(count)
    switch order {
    case .backwards:
      return RangeLanes.Demand(
        order: order, piece: Self.bytes(pace * 0.25, in: 1 << 20...8 << 20), smallest: 256 << 10)
    case .forwards:
      if isFixed, rate == 0 {
        let share = max(8 << 10, (missing + count - 1) / count)
        return RangeLanes.Demand(order: order, piece: min(share, 8 << 20), smallest: 8 << 10)
      }
      // Two seconds' worth: next to nothing is lost between two requests, and what is read first
      // still comes first. Smaller ones near the end, so that all lanes end together.
      let piece = min(
        Self.bytes(pace * 2, in: 1 << 20...32 << 20), max(256 << 10, missing / (2 * count)))
      return RangeLanes.Demand(
        order: order, piece: piece, smallest: Self.bytes(pace * 0.25, in: 64 << 10...4 << 20))
    }
  }

  // MARK: - What happens

  /// Takes in how far things are; called some ten times a second while bytes may come.
  ///
  /// - Parameters:
  ///   - now: nanoseconds of a clock that never goes back.
  ///   - bytes: how many came so far, over all lanes.
  ///   - running: lanes that are at work, those included that the export waits for.
  ///   - accepted: lanes that were accepted so far, those that are over included.
  ///   - missing: bytes that are still to come.
  ///   - isMultiplexed: whether lanes share one connection.
  package mutating func observe(
    now: Int64, bytes: Int64, running: Int, accepted: Int, missing: Int64, isMultiplexed: Bool
  ) {
    bursts.observe(now: now, bytes: bytes)
    let look = min(max(0, now - (lastLook ?? now)), Self.longestLook)
    lastLook = now
    switch phase {
    case .opening where running > target && target == 1:
      leaveOut(look)
    case .opening:
      if beginBurstTrial(bytes: bytes, accepted: accepted, missing: missing, now) { return }
      guard let measured = measure(now, bytes, over: Self.openingWindow) else { return }
      let before = previousRate
      previousRate = measured
      openings += 1
      // The first is a burst, or a connection that gains pace: no measure for what follows.
      if openings > 1 { openingRates.append(measured) }
      // Servers that limit a rate often let the first megabytes through at once: what came before
      // the last few windows is no measure either.
      openingRates = openingRates.suffix(Self.openingMemory)
      bestRate = openingRates.max() ?? 0
      guard let before, openings > 2 else { return }
      rate = (before + measured) / 2
      if isFixed {
        phase = .settled(until: .max)
        return
      }
      let isSteady =
        measured < before * 1.25 && measured > before * 0.8 && measured > bestRate * 0.5
      // More lanes must bring more than the best that one has brought.
      guard isSteady || openings >= Self.mostOpenings, lasts(missing) > Self.worthOpening else {
        return
      }
      rate = bestRate
      beginTrial(count: min(limit, target * 2), accepted: accepted, now)
    case .trial(let count, let before, let since, let acceptedBefore):
      let areAllThere =
        accepted - acceptedBefore >= target - count || now - since >= Self.trialPatience
      if window == nil, !areAllThere { return }
      let settling = self.settling ?? now - since
      self.settling = settling
      // New connections need some round trips to gain pace; their first answers took one or two.
      let length = max(Self.trialWindow, 2 * settling)
      guard let measured = measure(now, bytes, over: length) else { return }
      endTrial(
        from: count, before, measured, missing: missing, isMultiplexed: isMultiplexed,
        accepted: accepted, now)
    case .burstTrial(let count, let cycle, let since, let bytesBefore, let acceptedBefore):
      let areAllThere =
        accepted - acceptedBefore >= target - count || now - since >= Self.trialPatience
      if areAllThere, settling == nil { settling = now - since }
      // From one silence to beyond the next: all that came before brings one burst in that time.
      let length = max(
        2 * Self.trialWindow, cycle.period * 5 / 4, (settling ?? now - since) + cycle.period)
      let gained = bytes - bytesBefore
      let worth = Self.worthOfBursts(of: target, beside: count)
      let isEnough = Double(gained) >= worth * cycle.rate * (Double(length) / 1e9)
      guard isEnough || (settling != nil && now - since >= length) else { return }
      guard isEnough else {
        rate = cycle.rate
        // The opening's windows may have been peaks.
        bestRate = rate
        slowWindows = 0
        if rejectTrial(from: count, isMultiplexed: isMultiplexed, now) {
          beginBurstTrial(
            cycle, count: min(limit, target * 2), bytes: bytes, accepted: accepted, now)
        }
        return
      }
      // That it is enough is known before the time is over; how much it is isn't.
      let all = BurstPace.Cycle(
        bytes: cycle.bytes * Int64(target) / Int64(count), period: cycle.period)
      rate = all.rate
      if acceptTrial(missing: missing, now) {
        beginBurstTrial(all, count: min(limit, target * 8), bytes: bytes, accepted: accepted, now)
      }
    case .settled(let until):
      if let measured = measure(now, bytes, over: 5 * Self.trialWindow) {
        let before = rate
        rate = measured
        watchForLoss(since: before, now)
      }
      guard now >= until else { return }
      if isFixed {
        target = limit
        phase = .settled(until: .max)
      } else if bursts.cycle != nil {
        beginBurstTrial(bytes: bytes, accepted: accepted, missing: missing, now)
      } else if rate > 0, lasts(missing) > Self.worthAnotherTrial {
        beginTrial(count: min(limit, target * 2), accepted: accepted, now)
      }
    }
  }

  /// A further lane was refused, or failed: there are to be no more than run without it, for a while.
  ///
  /// - Parameters:
  ///   - running: the lanes that are left.
  ///   - wait: what the server asked for, in nanoseconds.
  package mutating func laneFailed(running: Int, wait: Int64?, now: Int64) {
    lower(to: max(1, min(target, running)))
    window = nil
    // Fewer lanes may bring less.
    bestRate = 0
    slowWindows = 0
    let (until, overflow) = now.addingReportingOverflow(max(wait ?? 0, pause))
    refusedUntil = max(refusedUntil, overflow ? .max : until)
    phase = .settled(until: refusedUntil)
    pause = min(pause * 2, Self.longestPause)
  }

  /// What was measured is of a resource that isn't fetched any more.
  package mutating func beginAnew() {
    window = nil
    bursts = BurstPace()
    previousRate = nil
    openings = 0
    openingRates = []
    bestRate = 0
    slowWindows = 0
    if case .opening = phase { return }
    if !isFixed { phase = .settled(until: refusedUntil) }
  }

  // MARK: - Decisions

  /// What comes now isn't what one lane brings: it is no measure, unless there are two for long.
  private mutating func leaveOut(_ look: Int64) {
    window = nil
    previousRate = nil
    bursts = BurstPace()
    crowdedFor += look
    if crowdedFor >= Self.crowdPatience { target = min(limit, 2) }
  }

  private mutating func beginTrial(count: Int, accepted: Int, _ now: Int64) {
    guard count > target else {
      phase = .settled(until: .max)
      return
    }
    phase = .trial(count: target, rate: rate, since: now, accepted: accepted)
    target = count
    window = nil
    settling = nil
  }

  /// Tries more lanes where bytes come in bursts and the last one is just over, so that the silence
  /// and the next burst both fall into the trial; returns whether it does.
  @discardableResult
  private mutating func beginBurstTrial(
    bytes: Int64, accepted: Int, missing: Int64, _ now: Int64
  ) -> Bool {
    guard !isFixed, bursts.isJustOver, let cycle = bursts.cycle,
      Double(missing) > Self.worthOpening * cycle.rate
    else { return false }
    rate = cycle.rate
    bestRate = max(bestRate, rate)
    beginBurstTrial(cycle, count: min(limit, target * 2), bytes: bytes, accepted: accepted, now)
    return true
  }

  private mutating func beginBurstTrial(
    _ cycle: BurstPace.Cycle, count: Int, bytes: Int64, accepted: Int, _ now: Int64
  ) {
    guard count > target else {
      phase = .settled(until: .max)
      return
    }
    phase = .burstTrial(
      count: target, cycle: cycle, since: now, bytes: bytes, accepted: accepted)
    target = count
    window = nil
    settling = nil
  }

  /// The least that lanes bring together, in what so many before them did.
  ///
  /// In less than two periods one lane brings a burst or two: half of what all would bring by themselves is beyond doubt.
  private static func worthOfBursts(of target: Int, beside count: Int) -> Double {
    if count == 1 { return worthOfSecond }
    return min(2, 1 + (Double(target) / Double(count) - 1) / 2)
  }

  private mutating func endTrial(
    from count: Int, _ before: Double, _ measured: Double, missing: Int64, isMultiplexed: Bool,
    accepted: Int, _ now: Int64
  ) {
    rate = measured
    guard measured >= before * (count == 1 ? Self.worthOfSecond : Self.worthOfMore) else {
      _ = rejectTrial(from: count, isMultiplexed: isMultiplexed, now)
      return
    }
    if acceptTrial(missing: missing, now) {
      beginTrial(count: min(limit, target * 8), accepted: accepted, now)
    }
  }

  /// Keeps the lanes of a trial; returns whether more are to be tried.
  private mutating func acceptTrial(missing: Int64, _ now: Int64) -> Bool {
    order = .forwards
    bestRate = rate
    slowWindows = 0
    window = nil
    if target < limit, lasts(missing) > Self.worthMore { return true }
    phase = .settled(until: target < limit ? now + pause : .max)
    return false
  }

  /// Goes back to the lanes before a trial; returns whether to try at once with connections of their
  /// own, as perhaps it is the one connection that is slow.
  private mutating func rejectTrial(from count: Int, isMultiplexed: Bool, _ now: Int64) -> Bool {
    target = count
    window = nil
    if isMultiplexed, !needsConnections {
      needsConnections = true
      phase = .settled(until: now)
      return true
    }
    phase = .settled(until: now + pause)
    pause = min(pause * 2, Self.longestPause)
    return false
  }

  /// Has fewer lanes; where one is left, what is tried beside it leaves it its way.
  private mutating func lower(to count: Int) {
    target = count
    if count == 1, !isFixed { order = .backwards }
  }

  /// Reacts to lanes that together bring far less than they once did.
  ///
  /// They may be what slows the server down, which a trial of more will tell later. Where it is one lane
  /// whose pace is steady again, the server may limit it from now on, which a trial tells at once, though
  /// not often.
  private mutating func watchForLoss(since before: Double, _ now: Int64) {
    bestRate = max(bestRate, rate)
    slowWindows = rate < bestRate / 3 ? slowWindows + 1 : 0
    guard slowWindows >= 3, !isFixed else { return }
    if target > 1 {
      lower(to: max(1, target / 2))
      phase = .settled(until: max(refusedUntil, now + pause))
      pause = min(pause * 2, Self.longestPause)
    } else {
      let isSteady = rate > 0 && rate < before * 1.25 && rate > before * 0.8
      guard isSteady, now >= lossTrialFrom else { return }
      lossTrialFrom = now + Self.longestPause
      phase = .settled(until: max(refusedUntil, now))
    }
    bestRate = rate
    slowWindows = 0
  }

  /// Bytes a second over a window that has passed; nil while it hasn't.
  private mutating func measure(_ now: Int64, _ bytes: Int64, over length: Int64) -> Double? {
    guard let open = window, now >= open.since, bytes >= open.bytes else {
      window = Window(since: now, bytes: bytes)
      return nil
    }
    guard now - open.since >= length else { return nil }
    window = Window(since: now, bytes: bytes)
    return Double(bytes - open.bytes) / (Double(now - open.since) / 1e9)
  }

  /// Seconds that the rest takes at the present rate.
  private func lasts(_ missing: Int64) -> Double {
    rate > 0 ? Double(missing) / rate : .infinity
  }

  private static func bytes(_ value: Double, in range: ClosedRange<Int64>) -> Int64 {
    let bounded = min(max(value, Double(range.lowerBound)), Double(range.upperBound))
    return Int64(bounded)
  }
}
