// The first entry of an `stsd`, taken apart: which boxes stand in it. Pure.

import FetchCore

/// A sample entry (ISO 14496-12 8.5.2, QuickTime File Format "Sample Description Atoms").
struct SampleEntry: Hashable {
  var type = ""
  /// The boxes inside, whole, in their order.
  var boxes: [[UInt8]] = []

  /// - Parameters:
  ///   - stsd: what follows the header of an `stsd`.
  ///   - handler: the type of the track's handler, which says what kind of entry it is.
  init(_ stsd: [UInt8], handler: String) {
    guard stsd.count > 8, let entry = stsd.boxes(in: 8..<stsd.count).first else { return }
    type = entry.type
    let payload = Array(stsd[entry.payload])
    guard
      let begin = Self.boxesBegin(
        in: payload, handler: handler, isISOVersion1: stsd.first == 1)
    else { return }
    boxes = payload.boxes(in: begin..<payload.count, limit: 256).map { Array(payload[$0.range]) }
  }

  /// The boxes by type; of several the first.
  var firstBoxes: [String: [UInt8]] {
    Dictionary(boxes.map { ($0.fourCharacters(4), $0) }) { first, _ in first }
  }

  /// Where the boxes begin inside an entry's payload; nil where it is too short.
  ///
  /// - Parameter isISOVersion1: whether the `stsd` has version 1, in which the entry's own version
  ///   1 has no further fields (ISO 14496-12 12.2.3).
  static func boxesBegin(
    in payload: [UInt8], handler: String, isISOVersion1: Bool = false
  ) -> Int? {
    var begin = 78
    if handler == "soun" {
      switch payload.integer(8, 2) {
      case 1 where !isISOVersion1: begin = 44
      case 2: begin = 64
      default: begin = 28
      }
    }
    return payload.count > begin ? begin : nil
  }
}
