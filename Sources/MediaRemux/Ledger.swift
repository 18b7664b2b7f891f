// What passed through one kept stream, taken packet by packet. Pure.

import FetchCore

/// The count of one stream, in the output's time base.
struct LedgerLine: Hashable {
  private(set) var packets: Int64 = 0
  private(set) var bytes: Int64 = 0
  /// Over the packets that are presented; a packet that is only decoded doesn't count.
  private(set) var firstPresentation: Int64?
  private(set) var lastPresentationEnd: Int64?
  private(set) var firstDTS: Int64?
  private(set) var lastDTS: Int64?

  mutating func add(
    bytes size: Int32, stamps: TimestampRepair.Stamps, duration: Int64, isPresented: Bool
  ) {
    packets += 1
    bytes += Int64(size)
    if firstDTS == nil { firstDTS = stamps.dts }
    lastDTS = stamps.dts
    guard isPresented else { return }
    firstPresentation = min(firstPresentation ?? stamps.pts, stamps.pts)
    let end = stamps.pts + max(duration, 0)
    lastPresentationEnd = max(lastPresentationEnd ?? end, end)
  }

  /// From the first packet's presentation to the end of the last, in the output's time base.
  var span: Int64 {
    guard let firstPresentation, let lastPresentationEnd else { return 0 }
    return lastPresentationEnd - firstPresentation
  }

  /// From the first packet's decoding to the last's.
  var decodingSpan: Int64 {
    guard let firstDTS, let lastDTS else { return 0 }
    return lastDTS - firstDTS
  }
}
