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
  /// All colour boxes of the sample entry, whole: there may be several (ISO 14496-12 12.1.5).
  var colours: [[UInt8]] = []
  /// What it says beside its samples.
  var carriage = TrackCarriage()

  struct Edit: Hashable {
    var duration: UInt64
    var mediaTime: Int64
    /// How fast the media is played, in 1/65536; 0 holds a picture.
    var rate: UInt64 = 0x0001_0000
    /// Whether it goes on for as long as there is media: no duration, or one that says "unknown".
    var isOpen: Bool { duration == 0 || duration == .max }
  }

  /// The movie's timescale, ticks a second.
  var movieTimescale: UInt64 = 0

  /// Samples that its `stsz` or `stz2` lists; nil where there is none.
  var samples: Int64?
  /// Whether a sample is a moment of sound, so that libavformat makes packets of whole chunks: one
  /// `stts` entry that says 1 (QuickTime File Format, "Sound Sample Descriptions").
  var isReadByChunk = false

  /// How much the edits show in all, in the movie's timescale; nil where there are none, one is
  /// open-ended, or the sum is no number.
  var presentedEnd: UInt64? {
    guard movieTimescale > 0, !edits.isEmpty else { return nil }
    var sum: UInt64 = 0
    for edit in edits {
      let (next, overflow) = sum.addingReportingOverflow(edit.duration)
      guard !edit.isOpen, !overflow else { return nil }
      sum = next
    }
    return sum
  }
}

/// The index of an ISO source, as far as it is looked at.
struct SourceIndex: Hashable {
  var tracks: [SourceTrack] = []
  /// Whether media may also stand in fragments (`mvex`).
  var isFragmented = false
  /// The size of the whole `moov`, in bytes; 0 where there is none.
  var size: Int64 = 0
  /// Whether it is a QuickTime file, and not one of ISO 14496-12.
  var isQuickTime = false
  /// What it says of the whole film; nil where there is no index.
  var movie: MovieCarriage?
  /// What could be copied, and was too large for it.
  var budget = CopyBudget()

  /// About how much of the index is copied as it is.
  var carriedSize: Int64 { CopyBudget().left - budget.left }

  init() {}
}

extension SourceIndex {
  /// Tables of samples are skipped; nothing else in an index is this large.
  private static let largestBox: Int64 = 4 << 20
  /// More boxes before the index are nobody's file.
  private static let longestSearch = 4096

  /// Reads the source's `moov`, waiting for it; empty where it can't be read this way.
  init(_ source: SourceReader) throws(FetchError) {
    // Small blocks, so that a growing source isn't waited for longer than need be.
    let window = SourceWindow(source, limit: .max, blockSize: 64)
    guard let moov = try findIndex(window) else { return }
    size = moov.size
    var movie = MovieCarriage()
    var timescale: UInt64 = 0
    for box in try window.children(of: moov) {
      switch box.type {
      case "mvhd":
        let isLong = try window.byte(at: box.payload) == 1
        timescale = try window.big(at: box.payload + (isLong ? 20 : 12), width: 4) ?? 0
      case "trak":
        if let track = try Self.track(box, window, &budget) { tracks.append(track) }
      case "mvex":
        isFragmented = true
      default: break
      }
      try movie.take(box, window, &budget)
    }
    self.movie = movie
    for index in tracks.indices {
      tracks[index].movieTimescale = timescale
      // An edit list says nothing of what later fragments bring.
      if isFragmented { tracks[index].edits = [] }
    }
  }

  /// The index; notes on the way which kind of file it is.
  private mutating func findIndex(_ window: SourceWindow) throws(FetchError) -> BoxHeader? {
    var position: Int64 = 0
    isQuickTime = true
    for _ in 0..<Self.longestSearch {
      guard let box = try window.box(at: position, parentEnd: .max) else { return nil }
      // Files older than this box are QuickTime's.
      if box.type == "ftyp" {
        isQuickTime = try window.big(at: box.payload, width: 4) == UInt64(BoxType("qt  ").rawValue)
      }
      if box.type == "moov" { return box }
      position = box.end
    }
    return nil
  }

  private static func track(
    _ trak: BoxHeader, _ window: SourceWindow, _ budget: inout CopyBudget
  ) throws(FetchError) -> SourceTrack? {
    guard let tkhd = try window.descendant(of: trak, "tkhd") else { return nil }
    let isLong = try window.byte(at: tkhd.payload) == 1
    let id = try window.big(at: tkhd.payload + (isLong ? 20 : 12), width: 4) ?? 0
    var track = SourceTrack(id: Int(id))
    track.carriage = try TrackCarriage(trak, window, &budget)
    if let list = try window.descendant(of: trak, "edts", "elst") {
      track.edits = parseEdits(try whole(list, window))
    }
    guard let stbl = try window.descendant(of: trak, "mdia", "minf", "stbl") else { return track }
    for box in try window.children(of: stbl) {
      switch box.type {
      case "stsd":
        let bytes = try whole(box, window)
        let entry = SampleEntry(bytes, handler: track.carriage.handlerType)
        (track.sampleEntry, track.entryBoxes) = (entry.type, entry.firstBoxes)
        track.colours = entry.boxes.filter { $0.fourCharacters(4) == "colr" }
      case "stsz", "stz2":
        track.samples = try window.big(at: box.payload + 8, width: 4).map { Int64($0) }
      case "stts":
        let entries = try window.big(at: box.payload + 4, width: 4)
        let delta = try window.big(at: box.payload + 12, width: 4)
        track.isReadByChunk = entries == 1 && delta == 1 && track.carriage.handlerType == "soun"
      default: break
      }
    }
    return track
  }

  private static func whole(
    _ box: BoxHeader, _ window: SourceWindow
  ) throws(FetchError) -> [UInt8] {
    guard box.payload <= box.end, box.end - box.payload <= largestBox else { return [] }
    return try window.bytes(at: box.payload, count: Int(box.end - box.payload)) ?? []
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
          mediaTime: Int64(bitPattern: bytes.integer(at + 8, 8)), rate: bytes.integer(at + 16, 4))
        : SourceTrack.Edit(
          duration: bytes.integer(at, 4),
          mediaTime: Int64(Int32(truncatingIfNeeded: bytes.integer(at + 4, 4))),
          rate: bytes.integer(at + 8, 4))
    }
  }
}
