// The exchanges that one fetch has running, and what is to be started or ended next. A value; where
// ranges are worth splitting is `RangeLanes`' to say, how often is `LaneCount`'s.

import FetchCore
import HTTPTransfer

/// The exchanges of one fetch.
struct FetchLanes: Sendable {
  /// Something to be done outside of any lock.
  enum Step: Sendable {
    /// Ask for a range in a further exchange.
    case open(lane: Int, ByteRange)
    case cancel(ExchangeID)
  }

  private struct Run: Sendable {
    /// nil until the loop has told it.
    var exchange: ExchangeID?
    /// Whether it is to end, or has been told to.
    var isRetired = false
    let end: BodyEnd
  }

  /// Bytes a second that a lane is worth under a limit.
  private static let leastRate: Int64 = 16 << 10
  // In nanoseconds.
  private static let firstPause: Int64 = 1_000_000_000
  private static let longestPause: Int64 = 60_000_000_000
  /// The nodes of a pool may name one version differently; some of so many tries meet the right one.
  private static let tries = 8
  /// Ranges that a single connection should turn to are at least this far apart, in bytes, for each
  /// time that it does.
  private static let detour: Int64 = 32 << 20

  /// Whether parts of the resource can be fetched side by side, and be proven to fit.
  var canSplit = false {
    didSet { if isRefused { canSplit = false } }
  }
  /// Whether the server was found not to do that, or not always.
  private var isRefused = false
  /// How often a single lane may still be tried all the same.
  private var triesLeft = 0
  /// The byte that the export waits for.
  var wanted: Int64?
  private(set) var count: LaneCount
  private var ranges = RangeLanes()
  private var runs: [Int: Run] = [:]
  private var detours: Int64 = 0
  /// A server that refuses what is waited for is asked again then, at the earliest.
  private var wantedFrom: Int64 = 0
  private var wantedPause = Self.firstPause
  private let limit: Int

  init(_ settings: TransferSettings) {
    // Of a rate each lane must get enough not to seem silent.
    let fed = settings.rateLimit.map { Int(clamping: max(1, $0 / Self.leastRate)) } ?? .max
    let most = min(settings.connectionsPerHost ?? .max, fed)
    count = LaneCount(wanted: settings.connections, perHost: most)
    let wanted = settings.connections > 0 ? settings.connections : LaneCount.most
    limit = max(1, min(wanted, most))
  }

  /// Whether no exchange is running.
  var areSilent: Bool { runs.isEmpty }

  // MARK: - One lane

  /// Adds a lane, whose exchange is to be started.
  mutating func begin(from start: Int64, to end: Int64, isElastic: Bool, now: Int64) -> Int {
    let lane = ranges.begin(from: start, to: end, isElastic: isElastic, now: now)
    runs[lane] = Run(end: BodyEnd(end))
    return lane
  }

  /// The lane's exchange was started; returns it where it is to be cancelled at once.
  mutating func started(_ lane: Int, _ exchange: ExchangeID) -> ExchangeID? {
    // It may be over already.
    guard let run = runs[lane] else { return nil }
    runs[lane]?.exchange = exchange
    return run.isRetired ? exchange : nil
  }

  /// The lane's response is welcome.
  ///
  /// - Returns: where its body ends, and the exchanges that have nothing left to bring; nil where
  ///   others have brought already what it was to bring.
  mutating func accept(
    _ lane: Int, present: ByteRangeSet, now: Int64
  ) -> (end: BodyEnd, cancelled: [ExchangeID])? {
    guard let run = runs[lane], !run.isRetired, ranges[lane] != nil else { return nil }
    if ranges.advance(present: present, now: now).contains(lane) {
      retire(lane)
      return nil
    }
    if isRefused { triesLeft = max(triesLeft, 1) } else { triesLeft = Self.tries }
    var cancelled: [ExchangeID] = []
    for other in ranges.accept(lane, now: now) {
      runs[other.id]?.end.move(to: other.end)
      if other.remaining == 0 { cancelled += retire(other.id) }
    }
    return (run.end, cancelled)
  }

  /// The lane's exchange is over; returns whether that was asked for.
  @discardableResult
  mutating func ended(_ lane: Int) -> Bool {
    ranges.end(lane)
    return runs.removeValue(forKey: lane)?.isRetired ?? true
  }

  /// A further lane failed, or was refused.
  mutating func failed(wait: Int64?, now: Int64) {
    let pause = max(wait ?? 0, wantedPause)
    wantedFrom = max(wantedFrom, now > .max - pause ? .max : now + pause)
    wantedPause = min(wantedPause * 2, Self.longestPause)
    count.laneFailed(running: ranges.acceptedCount, wait: wait, now: now)
  }

  /// The exchanges to cancel so that all lanes end.
  mutating func retireAll() -> [ExchangeID] { runs.keys.sorted().flatMap { retire($0) } }

  /// The server sends no ranges, or such of other versions; that stays so for the whole fetch.
  mutating func refuse() {
    isRefused = true
    canSplit = false
  }

  /// What was known belongs to another version.
  mutating func forget() {
    triesLeft = 0
    canSplit = false
    wanted = nil
    count.beginAnew()
  }

  // MARK: - All lanes

  /// What is to be done now.
  ///
  /// - Parameter received: bytes that came so far, over all lanes.
  mutating func plan(
    present: ByteRangeSet, total: Int64, received: Int64, isMultiplexed: Bool, now: Int64
  ) -> [Step] {
    var useless = ranges.advance(present: present, now: now)
    let ignored = ranges.ignored(now)
    useless += ignored
    var steps = useless.flatMap { retire($0) }.map { Step.cancel($0) }
    if !ignored.isEmpty { failed(wait: nil, now: now) }
    guard canSplit else { return steps }
    let missing = total - present.byteCount
    count.observe(
      now: now, bytes: received, running: busyCount(now), accepted: ranges.acceptances,
      missing: missing, isMultiplexed: isMultiplexed)
    steps += planWanted(present: present, total: total, received: received, now: now)
    // A single connection is best led by an exchange for all that follows.
    if runs.isEmpty, count.target == 1 { return steps }
    while busyCount(now) < count.target,
      let range = ranges.next(
        count.demand(missing: missing), present: present, total: total, now: now)
    {
      // Who takes a silent lane's place takes its connection's as well.
      if runs.count >= limit {
        guard let silent = ranges.lanes.first(where: { $0.isSilent(now) }) else { break }
        steps += retire(silent.id).map { .cancel($0) }
      }
      steps.append(open(range, now: now))
    }
    return steps
  }

  /// A single lane for what is missing first, where some were accepted before others were refused.
  mutating func planAnother(present: ByteRangeSet, total: Int64, now: Int64) -> [Step] {
    guard isRefused, triesLeft > 0, runs.isEmpty else { return [] }
    triesLeft -= 1
    guard let gap = present.gaps(upTo: total).first else { return [] }
    return [open(gap, now: now)]
  }

  /// Has the byte that is waited for fetched next.
  private mutating func planWanted(
    present: ByteRangeSet, total: Int64, received: Int64, now: Int64
  ) -> [Step] {
    guard let offset = wanted else { return [] }
    if present.run(from: offset) > 0 || offset >= total {
      wanted = nil
      return []
    }
    let reach = Int64(min(max(count.rate / 2, 0x10_0000), 0x400_0000))
    guard let range = ranges.next(wanted: offset, reach: reach, present: present, total: total)
    else { return [] }
    if runs.isEmpty { return [open(range, now: now)] }
    guard now >= wantedFrom else { return [] }
    // One more than there should be does no harm, as it is for the export's sake.
    if busyCount(now) <= min(count.target, limit - 1) {
      var steps: [Step] = []
      if runs.count >= limit {
        guard let silent = ranges.lanes.first(where: { $0.isSilent(now) }) else { return [] }
        steps = retire(silent.id).map { .cancel($0) }
      }
      return steps + [open(range, now: now)]
    }
    guard limit == 1, runs.values.allSatisfy({ !$0.isRetired }), range.lowerBound > Self.detour,
      detours * Self.detour <= received
    else { return [] }
    detours += 1
    return retireAll().map { .cancel($0) }
  }

  private mutating func open(_ range: ByteRange, now: Int64) -> Step {
    let lane = begin(from: range.lowerBound, to: range.upperBound, isElastic: false, now: now)
    return .open(lane: lane, range)
  }

  /// Lanes that are at work: not those that have fallen silent, unless there may be only one.
  private func busyCount(_ now: Int64) -> Int {
    if limit == 1 { return runs.count }
    let lanes = ranges.lanes
    // Whoever is alone is given the time that the person allows.
    if let only = lanes.first, lanes.count == 1, only.isElastic || only.isAccepted { return 1 }
    return lanes.count { !$0.isSilent(now) }
  }

  /// The lane is to end; returns its exchange where that can be told already.
  @discardableResult
  private mutating func retire(_ lane: Int) -> [ExchangeID] {
    ranges.end(lane)
    guard let run = runs[lane], !run.isRetired else { return [] }
    runs[lane]?.isRetired = true
    return run.exchange.map { [$0] } ?? []
  }
}
