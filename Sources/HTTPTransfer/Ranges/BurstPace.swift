// Bodies that come in bursts with silence between them, as from servers that limit a rate by
// sending a piece and waiting. Pure: the clock and the byte counts are arguments.

/// Finds the period of a flow that comes in bursts.
struct BurstPace: Sendable {
  /// A burst, and the time from its predecessor's end to its own.
  struct Cycle: Hashable, Sendable {
    let bytes: Int64
    /// In nanoseconds.
    let period: Int64

    /// Bytes a second.
    var rate: Double { Double(bytes) / (Double(period) / 1e9) }
  }

  private struct End: Sendable {
    let time: Int64
    let bytes: Int64
  }

  // In nanoseconds.
  /// Shorter pauses are those of whoever looks, or of the packets of a slow link.
  private static let silence: Int64 = 80_000_000
  private static let periods: ClosedRange<Int64> = 150_000_000...3_000_000_000
  /// Less is no burst, but single packets, or the rest of one that a server held back (`TCP_CORK`).
  private static let leastBurst: Int64 = 64 << 10

  /// The last burst, where it was no larger than the one before it; nil for a flow that is steady,
  /// or still gains pace.
  private(set) var cycle: Cycle?
  /// Whether the present look is the first into the silence after a burst.
  private(set) var isJustOver = false

  private var bytes: Int64 = 0
  /// When bytes came last; nil before any did, and while there is silence.
  private var grewAt: Int64?
  private var end: End?
  private var burst: Int64?

  /// Takes in how many bytes have come so far.
  ///
  /// - Parameter now: nanoseconds of a clock that never goes back.
  mutating func observe(now: Int64, bytes present: Int64) {
    isJustOver = false
    if present != bytes {
      bytes = present
      if grewAt == nil, let end, present - end.bytes < Self.leastBurst { return }
      grewAt = now
      // So long without silence, it is no burst any more.
      if let end, now - end.time > 2 * (cycle?.period ?? Self.periods.upperBound) { forget() }
      return
    }
    guard let last = grewAt, now - last >= Self.silence else { return }
    grewAt = nil
    isJustOver = true
    defer { end = End(time: last, bytes: bytes) }
    guard let end else {
      burst = bytes
      return
    }
    let next = Cycle(bytes: bytes - end.bytes, period: last - end.time)
    let isRegular =
      Self.periods.contains(next.period) && burst.map { next.bytes <= $0 + $0 / 4 } == true
    cycle = isRegular ? next : nil
    burst = next.bytes
  }

  private mutating func forget() {
    end = nil
    burst = nil
    cycle = nil
  }
}
