// What an ISO source's index says that libavformat doesn't tell: edit lists as written, and the
// boxes of a sample entry. Reads boxes through the source, never the sample tables.

import FetchCore

/// One `trak` of the source.
struct SourceTrack: Hashable {
  var id: Int
  /// Edits in the movie's timescale; a media time of -1 is an empty edit.
  var edits: [Edit] = []
  /// The boxes inside the first sample entry, whole, by type.
  var entryBoxes: [String: [UInt8]] = [:]
  var sampleEntry = ""

  struct Edit: Hashable {
    var duration: UInt64
    var mediaTime: Int64
  }

  /// The movie's timescale, ticks a second.
  var movieTimescale: UInt64 = 0

  /// Seconds that the edits show in all; nil where there are none, or one is open-ended.
  var presentedEnd: Double? {
    guard movieTimescale > 0, !edits.isEmpty else { return nil }
    guard edits.allSatisfy({ $0.duration > 0 }) else { return nil }
    return edits.reduce(0) { $0 + Double($1.duration) } / Double(movieTimescale)
  }
}

/// The index of an ISO source, as far as it is looked at.
struct SourceIndex: Hashable {
  var tracks: [SourceTrack] = []
  /// Whether media may also stand in fragments (`mvex`).
  var isFragmented = false

  init() {}
}

extension SourceIndex {
  /// Tables of samples are skipped; nothing else in an index is this large.
  private static let largestBox = 4 << 20

  /// Reads the source's `moov`; empty where it can't be read this way.
  init(_ source: SourceBytes) throws(FetchError) {
    guard let moov = try Self.find("moov", in: 0..<Int64.max, source) else { return }
    var timescale: UInt64 = 0
    for box in try Self.children(of: moov, source) {
      switch box.type {
      case "mvhd":
        let bytes = try source.read(at: box.payload.lowerBound, count: 24)
        timescale = bytes.first == 1 ? bytes.integer(20, 4) : bytes.integer(12, 4)
      case "trak":
        if let track = try Self.track(box.payload, source) { tracks.append(track) }
      case "mvex":
        isFragmented = true
      default: break
      }
    }
    for index in tracks.indices {
      tracks[index].movieTimescale = timescale
      // An edit list says nothing of what later fragments bring.
      if isFragmented { tracks[index].edits = [] }
    }
  }

  private struct Found {
    var type: String
    var payload: Range<Int64>
  }

  private static func children(
    of range: Range<Int64>, _ source: SourceBytes
  ) throws(FetchError) -> [Found] {
    var found: [Found] = []
    var at = range.lowerBound
    while at <= range.upperBound - 8, found.count < 4096 {
      guard let (box, end) = try header(at, range.upperBound, source) else { break }
      found.append(box)
      at = end
    }
    return found
  }

  private static func find(
    _ type: String, in range: Range<Int64>, _ source: SourceBytes
  ) throws(FetchError) -> Range<Int64>? {
    var at = range.lowerBound
    for _ in 0..<4096 {
      guard at < range.upperBound - 8, let (box, end) = try header(at, range.upperBound, source)
      else { return nil }
      if box.type == type { return box.payload }
      at = end
    }
    return nil
  }

  private static func header(
    _ at: Int64, _ limit: Int64, _ source: SourceBytes
  ) throws(FetchError) -> (Found, end: Int64)? {
    let bytes = try source.read(at: at, count: 16)
    guard bytes.count >= 8 else { return nil }
    var length = Int64(bytes.integer(0, 4))
    var size: Int64 = 8
    if length == 1, bytes.count == 16 {
      guard let long = Int64(exactly: bytes.integer(8, 8)) else { return nil }
      length = long
      size = 16
    }
    guard length >= size, length <= limit - at else { return nil }
    return (
      Found(type: bytes.fourCharacters(4), payload: (at + size)..<(at + length)), at + length
    )
  }

  private static func track(
    _ range: Range<Int64>, _ source: SourceBytes
  ) throws(FetchError) -> SourceTrack? {
    var track: SourceTrack?
    var edits: [SourceTrack.Edit] = []
    var entry: (type: String, boxes: [String: [UInt8]]) = ("", [:])
    for box in try children(of: range, source) {
      switch box.type {
      case "tkhd":
        let bytes = try source.read(at: box.payload.lowerBound, count: 24)
        let id = bytes.first == 1 ? bytes.integer(20, 4) : bytes.integer(12, 4)
        track = SourceTrack(id: Int(id))
      case "edts":
        for list in try children(of: box.payload, source) where list.type == "elst" {
          edits = parseEdits(try whole(list.payload, source))
        }
      case "mdia":
        guard let minf = try find("minf", in: box.payload, source),
          let stbl = try find("stbl", in: minf, source),
          let stsd = try find("stsd", in: stbl, source)
        else { continue }
        entry = parseSampleEntry(try whole(stsd, source))
      default: break
      }
    }
    track?.edits = edits
    track?.sampleEntry = entry.type
    track?.entryBoxes = entry.boxes
    return track
  }

  private static func whole(
    _ range: Range<Int64>, _ source: SourceBytes
  ) throws(FetchError) -> [UInt8] {
    guard range.count <= largestBox else { return [] }
    return try source.read(at: range.lowerBound, count: range.count)
  }

  /// The entries of an `elst` payload (ISO 14496-12 8.6.6).
  static func parseEdits(_ bytes: [UInt8]) -> [SourceTrack.Edit] {
    let isLong = bytes.first == 1
    let size = isLong ? 20 : 12
    let count = Int(min(bytes.integer(4, 4), UInt64(max(bytes.count - 8, 0) / size)))
    return (0..<count).map { index in
      let at = 8 + index * size
      return isLong
        ? SourceTrack.Edit(
          duration: bytes.integer(at, 8),
          mediaTime: Int64(bitPattern: bytes.integer(at + 8, 8)))
        : SourceTrack.Edit(
          duration: bytes.integer(at, 4),
          mediaTime: Int64(Int32(truncatingIfNeeded: bytes.integer(at + 4, 4))))
    }
  }

  /// The first visual sample entry of an `stsd` payload (ISO 14496-12 12.1.3): its boxes begin 78
  /// bytes into it.
  static func parseSampleEntry(_ bytes: [UInt8]) -> (type: String, boxes: [String: [UInt8]]) {
    guard bytes.count > 8, let entry = bytes.boxes(in: 8..<bytes.count).first else {
      return ("", [:])
    }
    guard entry.payload.count > 78 else { return (entry.type, [:]) }
    let inner = bytes.boxes(in: (entry.payload.lowerBound + 78)..<entry.payload.upperBound)
    var boxes: [String: [UInt8]] = [:]
    for box in inner where boxes[box.type] == nil { boxes[box.type] = Array(bytes[box.range]) }
    return (entry.type, boxes)
  }
}
