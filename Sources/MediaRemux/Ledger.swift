// What passed through one kept stream, taken packet by packet. Pure.

import FetchCore

/// The count of one stream, in the output's time base.
struct LedgerLine: Hashable {
  private(set) var packets: Int64 = 0
  /// As they came from the source.
  private(set) var bytes: Int64 = 0
  /// What the muxer made of them: start codes become lengths, headers fall away.
  private(set) var written: Int64 = 0
  /// Over the packets that are presented; a packet that is only decoded doesn't count.
  private(set) var firstPresentation: Int64?
  private(set) var lastPresentation: Int64?
  private(set) var lastPresentationEnd: Int64?
  private(set) var firstDTS: Int64?
  private(set) var lastDTS: Int64?

  /// Presentation times of packets that are decoded but not shown.
  private(set) var firstHidden: Int64?
  /// The earliest of those that came behind one that is shown.
  private(set) var firstHiddenBehind: Int64?
  private(set) var lastHidden: Int64?

  /// Counts a packet.
  ///
  /// - Parameters:
  ///   - written: how many bytes the muxer made of it.
  ///   - hiddenStart: how much of the first packet's time its decoder must drop (encoder delay).
  ///     What the last one is padded with stays presented: libavformat's own reading of a finished
  ///     mp4 doesn't cut there either, and a few samples of silence harm nobody.
  @inline(__always)
  mutating func add(
    bytes size: Int32, written count: Int64, stamps: TimestampRepair.Stamps, duration: Int64,
    isPresented: Bool, hiddenStart: Int64 = 0
  ) {
    packets += 1
    bytes += Int64(size)
    written += count
    if firstDTS == nil { firstDTS = stamps.dts }
    lastDTS = stamps.dts
    let end = Self.sum(stamps.pts, max(duration, 0))
    lastMediaEnd = max(lastMediaEnd ?? Int64.min, end)
    if hiddenStart > 0, packets == 1 { hiddenUntil = Self.sum(stamps.pts, hiddenStart) }
    guard isPresented else {
      if firstHidden == nil { firstHidden = stamps.pts }
      if firstPresentation != nil {
        firstHiddenBehind = min(firstHiddenBehind ?? stamps.pts, stamps.pts)
      }
      lastHidden = stamps.pts
      return
    }
    let begin = max(stamps.pts, hiddenUntil ?? stamps.pts)
    guard end > begin || hiddenUntil == nil else { return }
    firstPresentation = min(firstPresentation ?? begin, begin)
    lastPresentation = max(lastPresentation ?? stamps.pts, stamps.pts)
    lastPresentationEnd = max(lastPresentationEnd ?? end, end)
  }

  /// Whether packets are hidden between others that are shown: one edit can't say that.
  var hidesInside: Bool {
    guard let firstHiddenBehind, let lastPresentation else { return false }
    return firstHiddenBehind < lastPresentation
  }

  private var hiddenUntil: Int64?
  /// The end of the last packet, shown or not.
  private(set) var lastMediaEnd: Int64?

  /// From the first packet's presentation to the end of the last, in the output's time base.
  var span: Int64 {
    guard let firstPresentation, let lastPresentationEnd else { return 0 }
    return Self.distance(firstPresentation, lastPresentationEnd)
  }

  /// From the first packet's decoding to the last's.
  var decodingSpan: Int64 {
    guard let firstDTS, let lastDTS else { return 0 }
    return Self.distance(firstDTS, lastDTS)
  }

  /// The sum of a stamp and a length, at the range's end where it would leave it.
  @inline(__always)
  private static func sum(_ stamp: Int64, _ length: Int64) -> Int64 {
    let (sum, overflow) = stamp.addingReportingOverflow(length)
    return overflow ? .max : sum
  }

  private static func distance(_ first: Int64, _ last: Int64) -> Int64 {
    let (distance, overflow) = last.subtractingReportingOverflow(first)
    return overflow ? .max : distance
  }
}
