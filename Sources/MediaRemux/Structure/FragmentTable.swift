// Movie fragments (ISO/IEC 14496-12, 8.8): how far the samples of each `moof` reach, how long the
// tracks get, and what the file says about its last fragment.

import FetchCore

/// What the fragments of a file add up to.
struct FragmentLedger {
  /// A track's defaults from `trex` and what its fragments hold.
  struct Track {
    var timescale: Int64 = 0
    var defaultDuration: Int64 = 0
    var defaultSize: Int64 = 0
    /// In the track's timescale, the samples in `moov` included.
    var duration: Int64 = 0
    var longestSample: Int64 = 0
  }

  var tracks: [UInt64: Track] = [:]
  var movieTimescale: Int64 = 0
  /// `mehd`, in the movie's timescale; nil where it isn't there or 0.
  var declaredDuration: Int64?
  var hasExtends = false
  var fragments = 0
  /// One past the last byte of the furthest sample.
  var end: Int64 = 0
  var shortTable: BoxType?
  /// A sample that begins before the file does.
  var isContradictory = false
  /// A box of a fragment that has lost its name.
  var renamed: StructureVerdict?

  // MARK: moov

  /// Takes timescales, defaults and declared duration from `moov`.
  mutating func read(moov: BoxHeader, _ window: SourceWindow) throws(FetchError) {
    for box in try window.children(of: moov) {
      switch box.type {
      case "mvhd":
        let version = try window.byte(at: box.payload) ?? 0
        let scale = try window.big(at: box.payload + (version == 1 ? 20 : 12), width: 4)
        movieTimescale = Int64(scale ?? 0)
      case "trak":
        try read(trak: box, window)
      case "mvex":
        hasExtends = true
        try read(mvex: box, window)
      default:
        break
      }
    }
  }

  private mutating func read(trak: BoxHeader, _ window: SourceWindow) throws(FetchError) {
    guard let tkhd = try window.descendant(of: trak, "tkhd"),
      let mdhd = try window.descendant(of: trak, "mdia", "mdhd")
    else { return }
    let tkhdVersion = try window.byte(at: tkhd.payload) ?? 0
    let id = try window.big(at: tkhd.payload + (tkhdVersion == 1 ? 20 : 12), width: 4) ?? 0
    let mdhdVersion = try window.byte(at: mdhd.payload) ?? 0
    let scale = try window.big(at: mdhd.payload + (mdhdVersion == 1 ? 20 : 12), width: 4) ?? 0
    tracks[id, default: Track()].timescale = Int64(scale)
    guard let stts = try window.descendant(of: trak, "mdia", "minf", "stbl", "stts"),
      let count = try window.big(at: stts.payload + 4, width: 4)
    else { return }
    let table = TableCursor(
      window.reader, start: stts.payload + 8, end: min(stts.end, window.limit), stride: 8)
    for index in 0..<Int64(count) {
      guard let samples = try table.field(index, width: 4),
        let delta = try table.field(index, at: 4, width: 4)
      else { break }
      let duration = Int64(samples).clampedProduct(Int64(delta))
      tracks[id, default: Track()].duration =
        tracks[id, default: Track()].duration.clampedSum(duration)
    }
  }

  private mutating func read(mvex: BoxHeader, _ window: SourceWindow) throws(FetchError) {
    for box in try window.children(of: mvex) {
      switch box.type {
      case "mehd":
        let isLong = try window.byte(at: box.payload) == 1
        let duration = try window.big(at: box.payload + 4, width: isLong ? 8 : 4) ?? 0
        if duration > 0, duration != (isLong ? .max : 0xFFFF_FFFF) {
          declaredDuration = Int64(clamping: duration)
        }
      case "trex":
        let id = try window.big(at: box.payload + 4, width: 4) ?? 0
        let duration = try window.big(at: box.payload + 12, width: 4) ?? 0
        let size = try window.big(at: box.payload + 16, width: 4) ?? 0
        tracks[id, default: Track()].defaultDuration = Int64(duration)
        tracks[id, default: Track()].defaultSize = Int64(size)
      default:
        break
      }
    }
  }

  // MARK: moof

  /// Adds a fragment.
  mutating func read(moof: BoxHeader, _ window: SourceWindow) throws(FetchError) {
    fragments += 1
    var dataEnd = moof.offset
    let parts = try window.children(of: moof)
    renamed = renamed ?? MovieIndex.renamed(parts, in: "moof")
    for traf in parts where traf.type == "traf" {
      let boxes = try window.children(of: traf)
      renamed = renamed ?? MovieIndex.renamed(boxes, in: "traf")
      guard let tfhd = boxes.first(where: { $0.type == "tfhd" }),
        let flags = try window.big(at: tfhd.payload + 1, width: 3),
        let id = try window.big(at: tfhd.payload + 4, width: 4)
      else { continue }
      // Only tracks that `moov` knows are kept, so that hostile ids cost no memory.
      var track = tracks[id] ?? Track()
      var next = tfhd.payload + 8
      var base = flags & 0x02_0000 != 0 ? moof.offset : dataEnd
      if flags & 0x01 != 0 {
        base = Int64(clamping: try window.big(at: next, width: 8) ?? .max)
        next += 8
      }
      if flags & 0x02 != 0 { next += 4 }
      if flags & 0x08 != 0 {
        track.defaultDuration = Int64(try window.big(at: next, width: 4) ?? 0)
        next += 4
      }
      if flags & 0x10 != 0 {
        track.defaultSize = Int64(try window.big(at: next, width: 4) ?? 0)
      }
      dataEnd = base
      for trun in boxes where trun.type == "trun" {
        try read(trun: trun, base: base, dataEnd: &dataEnd, &track, window)
      }
      if var known = tracks[id] {
        known.duration = track.duration
        known.longestSample = track.longestSample
        tracks[id] = known
      }
    }
  }

  private mutating func read(
    trun: BoxHeader, base: Int64, dataEnd: inout Int64, _ track: inout Track,
    _ window: SourceWindow
  ) throws(FetchError) {
    guard let flags = try window.big(at: trun.payload + 1, width: 3),
      let count = try window.big(at: trun.payload + 4, width: 4), count > 0
    else { return }
    var next = trun.payload + 8
    var start = dataEnd
    if flags & 0x01 != 0 {
      let relative = Int32(truncatingIfNeeded: try window.big(at: next, width: 4) ?? 0)
      let (sum, overflow) = base.addingReportingOverflow(Int64(relative))
      guard !overflow, sum >= 0 else {
        isContradictory = true
        return
      }
      start = sum
      next += 4
    }
    if flags & 0x04 != 0 { next += 4 }
    let fields: [UInt64] = [0x100, 0x200, 0x400, 0x800]
    let stride = fields.reduce(0) { $0 + (flags & $1 != 0 ? 4 : 0) }
    guard Int64(count) * Int64(stride) <= trun.end - next else {
      shortTable = trun.type
      return
    }
    var bytes: Int64 = 0
    if flags & 0x300 == 0 {
      bytes = Int64(count).clampedProduct(track.defaultSize)
      track.duration = track.duration.clampedSum(
        Int64(count).clampedProduct(track.defaultDuration))
      track.longestSample = max(track.longestSample, track.defaultDuration)
    } else {
      let table = TableCursor(
        window.reader, start: next, end: min(trun.end, window.limit), stride: stride)
      let sizeAt: Int64 = flags & 0x100 != 0 ? 4 : 0
      for index in 0..<Int64(count) {
        var duration = track.defaultDuration
        if flags & 0x100 != 0 { duration = Int64(try table.field(index, width: 4) ?? 0) }
        track.duration = track.duration.clampedSum(duration)
        track.longestSample = max(track.longestSample, duration)
        var size = track.defaultSize
        if flags & 0x200 != 0 {
          size = Int64(try table.field(index, at: sizeAt, width: 4) ?? 0)
        }
        bytes = bytes.clampedSum(size)
      }
    }
    dataEnd = start.clampedSum(bytes)
    if bytes > 0 { end = max(end, dataEnd) }
  }

  // MARK: The declared end

  /// How the tracks' length compares with what `mehd` declares.
  enum Coverage: Equatable {
    case undeclared
    case whole
    /// Shorter by so little that edit lists or rounding may explain it.
    case nearly
    case short(has: Double, of: Double)
  }

  var coverage: Coverage {
    guard let declaredDuration, movieTimescale > 0 else { return .undeclared }
    let declared = Double(declaredDuration) / Double(movieTimescale)
    var longest = 0.0
    var tolerance = 0.05
    for track in tracks.values where track.timescale > 0 {
      longest = max(longest, Double(track.duration) / Double(track.timescale))
      let sample = Double(track.longestSample) / Double(track.timescale)
      tolerance = max(tolerance, min(sample, 0.5))
    }
    // Fragments without durations of their own say nothing.
    if longest == 0 { return .undeclared }
    if longest + tolerance >= declared { return .whole }
    return declared - longest <= 1 ? .nearly : .short(has: longest, of: declared)
  }
}
