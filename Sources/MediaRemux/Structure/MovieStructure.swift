// MP4 and QuickTime: the walk along the boxes of the file, and what it means. Classic files prove
// their end by their sample tables; fragmented files only where something declares the last one.

import FetchCore

/// Examines ISO base media and QuickTime files.
struct MovieStructure {
  private let window: SourceWindow
  private let size: Int64

  private var moov: BoxHeader?
  private var fragments = FragmentLedger()
  /// A box that reaches past the end.
  private var overrun: BoxHeader?
  /// Where the boxes end and something else begins.
  private var tail: Int64?
  private var lastMedia: Int64 = 0
  /// Bytes of media in `mdat` boxes.
  private var media: Int64 = 0
  /// A box of the file that was a fragment before its name was damaged.
  private var lostFragment: StructureVerdict?
  private var lastMessage = false
  private var randomAccess = false
  private var sawSegmentType = false
  private var indexedEnd: Int64?

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    var structure = MovieStructure(window: SourceWindow(reader, limit: size), size: size)
    guard try structure.walk() else { return .endlessWalk }
    return try structure.verdict()
  }

  private init(window: SourceWindow, size: Int64) {
    self.window = window
    self.size = size
  }

  // MARK: Walking

  /// Follows the boxes of the file; false where there is no end of them.
  private mutating func walk() throws(FetchError) -> Bool {
    var position: Int64 = 0
    var steps = 0
    while position < size, steps < StructureVerdict.longestWalk {
      guard let box = try window.box(at: position, parentEnd: size), box.type.rawValue != 0 else {
        tail = position
        return true
      }
      if box.end > size {
        overrun = box
        return true
      }
      try take(box)
      position = box.end
      steps += 1
    }
    return position >= size
  }

  private mutating func take(_ box: BoxHeader) throws(FetchError) {
    switch box.type {
    case "moov":
      // The first one counts, as for libavformat.
      guard moov == nil else {
        // One bit makes a `moof` one of these.
        if try window.descendant(of: box, "mfhd") != nil { lostFragment = Self.lost(box) }
        break
      }
      moov = box
      try fragments.read(moov: box, window)
    case "moof":
      lastMedia = box.end
      randomAccess = false
      try fragments.read(moof: box, window)
    case "mdat":
      lastMedia = box.end
      media = media.clampedSum(box.end - box.payload)
    case "styp":
      sawSegmentType = true
      lastMessage = try brands(of: box).contains("lmsg")
    case "sidx":
      try takeIndex(box)
    case "mfra":
      randomAccess = true
    default:
      let name: BoxType = "moof"
      if box.type.isMisspelling(of: name), try window.descendant(of: box, "traf") != nil {
        lostFragment = Self.lost(box)
      }
    }
  }

  private static func lost(_ box: BoxHeader) -> StructureVerdict {
    .incomplete("damaged: box \(box.type.text) at byte \(box.offset) should be moof")
  }

  private func brands(of box: BoxHeader) throws(FetchError) -> [BoxType] {
    var brands: [BoxType] = []
    var position = box.payload
    while position + 4 <= box.end, brands.count < 256,
      let brand = try window.big(at: position, width: 4)
    {
      brands.append(BoxType(rawValue: UInt32(truncatingIfNeeded: brand)))
      position += 4
    }
    return brands
  }

  /// Takes a segment index that describes the whole file.
  ///
  /// It stands before all segments and lists several. One at a segment's head ends with that segment
  /// and proves nothing.
  private mutating func takeIndex(_ box: BoxHeader) throws(FetchError) {
    guard !sawSegmentType, fragments.fragments == 0 else { return }
    let isLong = try (window.byte(at: box.payload) ?? 0) > 0
    let width = isLong ? 8 : 4
    guard let first = try window.big(at: box.payload + 12 + Int64(width), width: width),
      let count = try window.big(at: box.payload + 14 + Int64(2 * width), width: 2), count > 1
    else { return }
    let entries = box.payload + 16 + Int64(2 * width)
    guard Int64(count) * 12 <= box.end - entries else {
      fragments.shortTable = "sidx"
      return
    }
    var end = box.end.clampedSum(first)
    for index in 0..<Int64(count) {
      end = end.clampedSum((try window.big(at: entries + index * 12, width: 4) ?? 0) & 0x7FFF_FFFF)
    }
    indexedEnd = max(indexedEnd ?? 0, end)
  }

  // MARK: Judging

  private func verdict() throws(FetchError) -> StructureVerdict {
    guard let moov else {
      if let overrun, overrun.type == "moov" || overrun.type == "mdat" { return cut(overrun) }
      return .incomplete(
        "the index (moov) is missing; the file is incomplete at its source",
        reason: "its boxes end without one, at byte \(overrun?.offset ?? tail ?? size)")
    }
    let isFragmented = fragments.hasExtends || fragments.fragments > 0
    if let overrun, isFragmented || Self.known.contains(overrun.type) { return cut(overrun) }
    let index = MovieIndex(window: window, isFragmented: isFragmented)
    if let lost = lostFragment ?? fragments.renamed { return lost }
    if let damage = try index.damage(of: moov) { return damage }
    if let damage = try damagedSamples(moov, isFragmented: isFragmented) { return damage }
    if isFragmented { return try fragmentedVerdict() }
    // What follows the boxes is not media: every sample was found inside the file.
    if try window.descendant(of: moov, "cmov") != nil { return .noEndOfItsOwn }
    return .proven
  }

  private func cut(_ box: BoxHeader) -> StructureVerdict {
    .cut("box \(box.type.text)", needs: box.size, has: size - box.offset)
  }

  /// What is wrong with the samples that `moov` and the fragments place.
  private func damagedSamples(
    _ moov: BoxHeader, isFragmented: Bool
  ) throws(FetchError) -> StructureVerdict? {
    let table = SampleTable(window: window)
    var listed: Int64 = 0
    for trak in try window.children(of: moov) where trak.type == "trak" {
      guard let stbl = try window.descendant(of: trak, "mdia", "minf", "stbl") else {
        // In a fragmented file the media stands elsewhere anyway.
        if fragments.hasExtends || fragments.fragments > 0 { continue }
        return .incomplete("the index is damaged: a track has no sample table (stbl)")
      }
      let extent = try table.extent(of: stbl)
      if let short = extent.shortTable { return shortTable(short) }
      if extent.end > size { return .cut("the media", needs: extent.end, has: size) }
      if extent.unplaced > 0 {
        return .incomplete(
          "the index lists \(extent.samples) samples of a track and places only "
            + "\(extent.samples - extent.unplaced)")
      }
      listed = listed.clampedSum(extent.bytes)
    }
    if !isFragmented,
      let damage = try MovieCoverage(window: window).damage(of: moov, media: media, listed: listed)
    {
      return damage
    }
    if let short = fragments.shortTable { return shortTable(short) }
    if fragments.isContradictory {
      return .incomplete("a fragment places samples before the file begins")
    }
    if fragments.end > size { return .cut("the media", needs: fragments.end, has: size) }
    return nil
  }

  private func shortTable(_ type: BoxType) -> StructureVerdict {
    .incomplete("the index is damaged: box \(type.text) is shorter than its table")
  }

  private func fragmentedVerdict() throws(FetchError) -> StructureVerdict {
    if let tail, try !window.isZero(from: tail) {
      return .incomplete("the boxes of the file end at byte \(tail) of \(size)")
    }
    if let indexedEnd, indexedEnd > size {
      return .cut("what the segment index lists", needs: indexedEnd, has: size)
    }
    if case .short(let has, let declared) = fragments.coverage {
      return .incomplete(
        "cut: \(Self.seconds(has)) s of \(Self.seconds(declared)) s are there",
        reason: "the header declares a longer movie than its fragments hold")
    }
    if fragments.fragments == 0, fragments.end == 0, moovHasNoSamples() {
      return .incomplete("cut: the header is there, no fragment follows it")
    }
    let isIndexed = indexedEnd.map { $0 >= lastMedia } ?? false
    if randomAccess || lastMessage || isIndexed || fragments.coverage == .whole {
      return .proven
    }
    if let tail, size - tail < 8 {
      // The first bytes of a size are zeros, and look like padding.
      return .cut("the box at byte \(tail)", needs: 8, has: size - tail)
    }
    return .noEndOfItsOwn
  }

  private func moovHasNoSamples() -> Bool {
    fragments.tracks.values.allSatisfy { $0.duration == 0 }
  }

  private static func seconds(_ value: Double) -> String {
    // Two decimals without Foundation; the values come from 64-bit counters and are finite.
    guard value.isFinite, value >= 0, value < 1e12 else { return "?" }
    let hundredths = Int64((value * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }

  /// Boxes that are certainly boxes; anything else after the media may be an appended trailer.
  private static let known: Set<BoxType> = [
    "ftyp", "styp", "moov", "moof", "mdat", "mfra", "sidx", "ssix", "free", "skip", "wide", "udta",
    "meta", "uuid", "pnot", "pdin", "prft", "emsg", "bloc", "idat",
  ]
}
