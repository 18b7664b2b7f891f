// Which colour boxes a sample entry gets beside the muxer's own (ISO 14496-12 12.1.5): profiles as
// they are, and the full range, which QuickTime's `nclc` cannot say. Pure.

import FetchCore

enum ColourBoxes {
  private static let unspecified: UInt32 = 2

  /// Whether a whole `colr` is of the form that the container itself writes.
  static func isNative(_ box: [UInt8], in format: ContainerFormat) -> Bool {
    box.fourCharacters(8) == (format == .mp4 ? "nclx" : "nclc")
  }

  /// Whether a whole `colr` says that all values of a sample are used.
  private static func isFullRange(_ box: [UInt8]) -> Bool {
    box.fourCharacters(8) == "nclx" && box.count == 19 && box[18] & 0x80 != 0
  }

  /// Whole boxes for the end of a sample entry; those that are there already are left out later.
  ///
  /// - Parameters:
  ///   - source: the source's whole `colr` boxes.
  ///   - primaries: as ISO 23091-2 numbers them, like the next two.
  static func added(
    to format: ContainerFormat, source: [[UInt8]], primaries: UInt32, transfer: UInt32,
    matrix: UInt32, isFullRange: Bool
  ) -> [[UInt8]] {
    var boxes = source.filter { box in
      switch box.fourCharacters(8) {
      case "nclc": format == .mov
      case "nclx": format == .mp4 || Self.isFullRange(box)
      default: true
      }
    }
    let isSaid = boxes.contains(where: Self.isFullRange)
    let isColourless = [primaries, transfer, matrix].allSatisfy { $0 == unspecified }
    // The muxer says it in mp4, unless nothing else is known of the colour.
    if isFullRange, !isSaid, format == .mov || isColourless {
      var payload = Array("nclx".utf8)
      for number in [primaries, transfer, matrix] { payload.append(number, bytes: 2) }
      boxes.append(.box("colr", payload + [0x80]))
    }
    return boxes
  }
}
