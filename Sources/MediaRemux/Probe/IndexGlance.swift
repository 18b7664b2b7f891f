// What the boxes of an ISO source say that libavformat doesn't: where the index stands, and how long a
// film in fragments is. Walks the headers of the top-level boxes; reads through the source.

import FetchCore

/// A look along the boxes of an ISO source, up to its first fragment.
struct IndexGlance: Hashable {
  /// nil where there is no index to be found.
  private(set) var place: SourceProbe.IndexPlace?
  /// Seconds of all fragments, where `mehd` or a `sidx` says so (ISO 14496-12 8.8.2, 8.16.3).
  private(set) var fragmentedDuration: Double?

  /// More boxes before the index are nobody's file.
  private static let longestWalk = 4096

  init(_ source: SourceReader) throws(FetchError) {
    let window = SourceWindow(source, limit: try source.size() ?? .max, blockSize: 64)
    var position: Int64 = 0
    var hasMedia = false
    for _ in 0..<Self.longestWalk {
      guard let box = try window.box(at: position, parentEnd: window.limit) else { return }
      switch box.type {
      case "moov":
        guard let extends = try window.descendant(of: box, "mvex") else {
          place = hasMedia ? .last : .first
          return
        }
        place = .fragmented
        fragmentedDuration = try Self.declaredDuration(of: box, extends, window)
        if fragmentedDuration != nil { return }
      case "sidx":
        fragmentedDuration = try Self.listedDuration(of: box, window) ?? fragmentedDuration
      case "moof":
        place = .fragmented
        return
      // Writers leave an empty one where they change their mind.
      case "mdat": hasMedia = hasMedia || box.end > box.payload
      default: break
      }
      position = box.end
    }
  }

  private static func declaredDuration(
    of moov: BoxHeader, _ extends: BoxHeader, _ window: SourceWindow
  ) throws(FetchError) -> Double? {
    guard let header = try window.descendant(of: moov, "mvhd"),
      let declaration = try window.descendant(of: extends, "mehd"),
      let headerVersion = try window.byte(at: header.payload),
      let version = try window.byte(at: declaration.payload),
      let timescale = try window.big(at: header.payload + (headerVersion == 1 ? 20 : 12), width: 4),
      let ticks = try window.big(at: declaration.payload + 4, width: version == 1 ? 8 : 4)
    else { return nil }
    return seconds(ticks, timescale)
  }

  /// The sum over a segment index that lists several segments; one that stands before a single
  /// segment tells of that only.
  private static func listedDuration(
    of sidx: BoxHeader, _ window: SourceWindow
  ) throws(FetchError) -> Double? {
    guard let version = try window.byte(at: sidx.payload),
      let timescale = try window.big(at: sidx.payload + 8, width: 4)
    else { return nil }
    let entries = sidx.payload + (version == 0 ? 24 : 32)
    guard let count = try window.big(at: entries - 2, width: 2), count > 1,
      Int64(count) * 12 <= sidx.end - entries
    else { return nil }
    var ticks: UInt64 = 0
    for entry in 0..<Int64(count) {
      ticks += try window.big(at: entries + entry * 12 + 4, width: 4) ?? 0
    }
    return seconds(ticks, timescale)
  }

  /// nil for what nobody's film is: nothing, unknown (all ones), or a day.
  private static func seconds(_ ticks: UInt64, _ timescale: UInt64) -> Double? {
    guard ticks > 0, timescale > 0 else { return nil }
    let seconds = Double(ticks) / Double(timescale)
    return seconds < 86_400 ? seconds : nil
  }
}
