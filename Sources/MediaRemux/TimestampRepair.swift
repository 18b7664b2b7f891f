// Timestamps made legal for the muxer, stream by stream, changing as little as possible. Pure: one
// state per stream, no I/O, no libav.
//
// The muxer demands dts that rise strictly and never pass their pts. Presentation times are what a
// person sees, so a pts moves only where nothing else helps.

/// The state of one stream.
struct TimestampRepair: Hashable {
  /// What came out for a packet, in the output's time base.
  struct Stamps: Hashable {
    var pts: Int64
    var dts: Int64
  }

  /// How far a sound packet may be from where the last one ended and still be taken for adjoining:
  /// one tick of a source that counts in milliseconds; 0 for none.
  let slack: Int64
  /// How many pictures are decoded ahead of their time.
  ///
  /// So many at the beginning may come without a decoding time: a container that stores presentation
  /// times only (Matroska) can't say one.
  let reordering: Int64
  private(set) var lastDTS: Int64?
  private var lastDuration: Int64 = 0
  /// How many presentation times had to be changed.
  private(set) var movedPresentations = 0
  /// How many packets had no timestamp at all.
  private(set) var inventedTimestamps = 0

  /// How long after its decoding a packet may be shown, reordering aside, and how far stamps may go
  /// back; what is further is no time but damage.
  ///
  /// A picture may well stand for half an hour, so that the one decoded next is far ahead: the packet
  /// behind it tells, see `next(pts:dts:duration:isJoined:)`.
  let furthest: Int64
  /// Whether a packet came that belongs long before the one before it: one of them has a mad stamp.
  private(set) var isContradictory = false

  /// No codec reorders more pictures.
  private static let deepestReordering: Int64 = 32

  init(slack: Int64 = 0, reordering: Int64 = 0, furthest: Int64 = .max) {
    self.slack = slack
    self.reordering = reordering
    self.furthest = furthest
  }

  /// Where the last packet ends, if it has a length; nil before the first.
  var end: Int64? {
    guard let lastDTS, lastDuration > 0 else { return nil }
    return Self.sum(lastDTS, lastDuration)
  }

  /// The stamps to write for the next packet.
  ///
  /// - Parameters:
  ///   - pts: in the output's time base, as all here; nil where the source has none.
  ///   - dts: nil where the source has none.
  ///   - duration: 0 where it is unknown.
  ///   - isJoined: whether another packet is shown near it, however far ahead that is.
  mutating func next(
    pts: Int64?, dts: Int64?, duration: Int64, isJoined: Bool = false
  ) -> Stamps {
    let lowest = lastDTS.map { Self.sum($0, 1) } ?? Int64.min
    let expected = lastDTS.map { Self.sum($0, max(lastDuration, 1)) }
    var stamps: Stamps
    switch (pts, dts) {
    case (let pts?, let dts?):
      stamps = Stamps(pts: pts, dts: dts)
    case (let pts?, nil):
      // The first ones go before the first that is known, or there is no room for them.
      let (lead, overflow) = max(duration, 1).multipliedReportingOverflow(by: -reordering)
      let first = overflow ? pts : Self.sum(pts, lead)
      stamps = Stamps(pts: pts, dts: min(pts, expected ?? first))
    case (nil, let dts?):
      stamps = Stamps(pts: dts, dts: dts)
      inventedTimestamps += 1
    case (nil, nil):
      stamps = Stamps(pts: expected ?? 0, dts: expected ?? 0)
      inventedTimestamps += 1
    }
    let (deepest, overflow) = max(duration, lastDuration).multipliedReportingOverflow(
      by: Self.deepestReordering)
    if stamps.pts > stamps.dts, !overflow, !isJoined,
      Self.distance(stamps.pts, stamps.dts) > max(furthest, deepest)
    {
      stamps.pts = stamps.dts
      movedPresentations += 1
    }
    if slack > 0, let expected, lastDuration > 0, Self.distance(stamps.pts, expected) <= slack,
      stamps.pts == stamps.dts || dts == nil
    {
      // The source's own rounding is taken back, so that sound runs on without a seam.
      stamps = Stamps(pts: expected, dts: expected)
    }
    stamps.dts = max(min(stamps.dts, stamps.pts), lowest)
    if stamps.pts < stamps.dts {
      if Self.distance(stamps.pts, stamps.dts) > furthest { isContradictory = true }
      stamps.pts = stamps.dts
      movedPresentations += 1
    }
    lastDTS = stamps.dts
    lastDuration = duration
    return stamps
  }

  /// Whether a packet is shown so far ahead of its decoding that the next one has to be asked.
  @inline(__always)
  func isFarAhead(pts: Int64?, dts: Int64?) -> Bool {
    guard let pts, let time = dts ?? end ?? lastDTS else { return false }
    return pts > time && Self.distance(pts, time) > furthest
  }

  /// Whether two packets are shown near each other.
  func areNear(_ one: Int64, _ other: Int64) -> Bool { Self.distance(one, other) <= furthest }

  /// Stays at the end of the range where it would leave it.
  @inline(__always)
  private static func sum(_ stamp: Int64, _ more: Int64) -> Int64 {
    let (sum, overflow) = stamp.addingReportingOverflow(more)
    return overflow ? (more > 0 ? .max : .min) : sum
  }

  @inline(__always)
  private static func distance(_ one: Int64, _ other: Int64) -> Int64 {
    let (difference, overflow) = one.subtractingReportingOverflow(other)
    return overflow ? .max : Int64(clamping: difference.magnitude)
  }
}
