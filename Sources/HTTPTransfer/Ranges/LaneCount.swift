// How many exchanges side by side a resource is worth. Pure: the clock and the byte counts are
// arguments.

/// Decides how many lanes there should be, by what more of them have brought so far.
///
/// It begins with one. Once that has found its pace, a second is tried, at the resource's end; where
/// the total clearly rises, it stays and more are tried, else it goes back to what was before, and
/// tries again later and later. A person's own number is taken as it is.
package struct LaneCount: Sendable {
  /// The most that are ever used.
  package static let most = 16

  private enum Phase: Sendable {
    /// One lane, whose pace is still changing by itself.
    case opening
    /// More lanes were asked for; `rate` is what the `count` before them brought.
    case trial(count: Int, rate: Double, since: Int64, accepted: Int)
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
  /// A pace that is not steady after so many windows never is.
  private static let mostOpenings = 12
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
  package private(set) var target: Int
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
  private var previousRate: Double?
  /// Windows that have passed since the beginning.
  private var openings = 0
  private var pause = Self.firstPause
  private var bestRate = 0.0
  private var slowWindows = 0
  /// How long the lanes of a trial took to begin.
  private var settling: Int64 = 0

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
  ///   - accepted: lanes that were accepted so far, those that are over included.
  ///   - missing: bytes that are still to come.
  ///   - isMultiplexed: whether lanes share one connection.
  package mutating func observe(
    now: Int64, bytes: Int64, accepted: Int, missing: Int64, isMultiplexed: Bool
  ) {
    switch phase {
    case .opening:
      guard let measured = measure(now, bytes, over: Self.openingWindow) else { return }
      let before = previousRate
      previousRate = measured
      openings += 1
      // The first is a burst, or a connection that gains pace: no measure for what follows.
      if openings > 1 { bestRate = max(bestRate, measured) }
      guard let before, openings > 2 else { return }
      rate = (before + measured) / 2
      if isFixed {
        phase = .settled(until: .max)
        return
      }
      let isSteady = measured < before * 1.25 && measured > before * 0.8
      // More lanes must bring more than the best that one has brought.
      guard isSteady || openings >= Self.mostOpenings, lasts(missing) > Self.worthOpening else {
        return
      }
      rate = bestRate
      beginTrial(count: min(limit, 2), accepted: accepted, now)
    case .trial(let count, let before, let since, let acceptedBefore):
      let areAllThere =
        accepted - acceptedBefore >= target - count || now - since >= Self.trialPatience
      if window == nil, !areAllThere { return }
      if window == nil { settling = now - since }
      // New connections need some round trips to gain pace; their first answers took one or two.
      let length = max(Self.trialWindow, 2 * settling)
      guard let measured = measure(now, bytes, over: length) else { return }
      endTrial(
        from: count, before, measured, missing: missing, isMultiplexed: isMultiplexed,
        accepted: accepted, now)
    case .settled(let until):
      if let measured = measure(now, bytes, over: 5 * Self.trialWindow) {
        rate = measured
        watchForLoss()
      }
      guard now >= until else { return }
      if isFixed {
        target = limit
        phase = .settled(until: .max)
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
    target = max(1, min(target, running))
    window = nil
    let (until, overflow) = now.addingReportingOverflow(max(wait ?? 0, pause))
    phase = .settled(until: overflow ? .max : until)
    pause = min(pause * 2, Self.longestPause)
  }

  /// What was measured is of a resource that isn't fetched any more.
  package mutating func beginAnew() {
    window = nil
    previousRate = nil
    openings = 0
    bestRate = 0
    if case .opening = phase { return }
    if !isFixed { phase = .settled(until: 0) }
  }

  // MARK: - Decisions

  private mutating func beginTrial(count: Int, accepted: Int, _ now: Int64) {
    guard count > target else {
      phase = .settled(until: .max)
      return
    }
    phase = .trial(count: target, rate: rate, since: now, accepted: accepted)
    target = count
    window = nil
  }

  private mutating func endTrial(
    from count: Int, _ before: Double, _ measured: Double, missing: Int64, isMultiplexed: Bool,
    accepted: Int, _ now: Int64
  ) {
    rate = measured
    if measured >= before * (count == 1 ? Self.worthOfSecond : Self.worthOfMore) {
      order = .forwards
      bestRate = measured
      slowWindows = 0
      if target < limit, lasts(missing) > Self.worthMore {
        beginTrial(count: min(limit, target * 8), accepted: accepted, now)
      } else {
        phase = .settled(until: target < limit ? now + pause : .max)
      }
    } else if isMultiplexed, !needsConnections {
      // Perhaps it is the connection that is slow.
      needsConnections = true
      phase = .settled(until: now)
      target = count
    } else {
      target = count
      phase = .settled(until: now + pause)
      pause = min(pause * 2, Self.longestPause)
    }
  }

  /// Lanes that together bring far less than they once did may be what slows the server down.
  private mutating func watchForLoss() {
    bestRate = max(bestRate, rate)
    slowWindows = rate < bestRate / 3 ? slowWindows + 1 : 0
    guard slowWindows >= 3, !isFixed, target > 1 else { return }
    target = max(1, target / 2)
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
