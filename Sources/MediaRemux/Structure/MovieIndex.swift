// The boxes of `moov` against each other (ISO/IEC 14496-12, 6.2.3 and clause 8; QuickTime File
// Format, "Movie Atoms"): libavformat skips a box it doesn't know, so one wrong bit in a box's name
// takes a whole track away without an error. Knows nothing of what the tracks hold.

import FetchCore

/// Which boxes stand in a box of the index.
struct BoxGrammar: Sendable {
  /// Of each group one has to be there.
  var required: [[BoxType]] = []
  /// May be there once.
  var optional: Set<BoxType> = []
  /// May be there many times.
  var repeatable: Set<BoxType> = []

  func contains(_ type: BoxType) -> Bool {
    optional.contains(type) || repeatable.contains(type) || required.contains { $0.contains(type) }
  }

  /// The name that `type` was before it was damaged; nil where it is a name of its own.
  ///
  /// A box that may be there once and is there already has not lost its name.
  func original(of type: BoxType, beside siblings: Set<BoxType>) -> BoxType? {
    guard !contains(type), !Self.elsewhere.contains(type) else { return nil }
    if let name = repeatable.first(where: { type.isMisspelling(of: $0) }) { return name }
    let single = Array(required.joined()) + Array(optional)
    return single.first { type.isMisspelling(of: $0) && !siblings.contains($0) }
  }

  /// The grammar of the boxes between the movie and its tables, and of fragments.
  static let of: [BoxType: BoxGrammar] = [
    "moov": BoxGrammar(
      optional: [
        "mvhd", "mvex", "udta", "meta", "iods", "cmov", "rmra", "ctab", "clip", "prfl", "drm ",
      ],
      repeatable: ["trak", "pssh"]),
    "trak": BoxGrammar(
      required: [["tkhd"], ["mdia"]],
      optional: [
        "edts", "tref", "udta", "meta", "tapt", "load", "imap", "kmat", "clip", "matt", "trgr",
        "txas", "prfl",
      ]),
    "edts": BoxGrammar(optional: ["elst"]),
    "mdia": BoxGrammar(
      required: [["mdhd"], ["hdlr"], ["minf"]], optional: ["elng", "udta", "meta"]),
    "minf": BoxGrammar(
      required: [["stbl"]],
      optional: [
        "vmhd", "smhd", "hmhd", "nmhd", "sthd", "gmhd", "dinf", "hdlr",
        "odhd", "crhd", "sdhd", "m7hd", "ochd", "iphd", "mjhd",
      ]),
    "stbl": BoxGrammar(
      required: [["stsd"], ["stts"], ["stsc"], ["stsz", "stz2"], ["stco", "co64"]],
      optional: [
        "ctts", "cslg", "stss", "stps", "stsh", "sdtp", "padb", "stdp", "senc", "stsl", "stvb",
      ],
      repeatable: ["sbgp", "sgpd", "csgp", "subs", "saiz", "saio"]),
    "mvex": BoxGrammar(optional: ["mehd"], repeatable: ["trex", "leva", "trep"]),
    "moof": BoxGrammar(optional: ["mfhd", "meta"], repeatable: ["traf", "pssh"]),
    "traf": BoxGrammar(
      required: [["tfhd"]], optional: ["tfdt", "sdtp", "senc", "meta"],
      repeatable: ["trun", "sbgp", "sgpd", "csgp", "subs", "saiz", "saio"]),
  ]

  /// Names that may stand in any box.
  private static let elsewhere: Set<BoxType> = ["uuid", "free", "skip", "wide", "udta", "meta"]
}

extension BoxType {
  /// Whether this is the other name with one wrong bit, or with a wrong byte that no writer chose.
  func isMisspelling(of other: BoxType) -> Bool {
    let difference = rawValue ^ other.rawValue
    if difference.nonzeroBitCount == 1 { return true }
    let wrong = [24, 16, 8, 0].count { difference >> $0 & 0xFF != 0 }
    return wrong == 1 && !isPrintable
  }
}

/// Finds what contradicts itself in the boxes of an index.
struct MovieIndex {
  let window: SourceWindow
  /// Whether samples may stand in fragments, so that the tables of `moov` may be empty.
  let isFragmented: Bool

  /// A track without any sample that claims less than this many seconds is no contradiction.
  private static let emptyDuration = 0.5

  /// What is wrong with the boxes of `moov`; nil where nothing is.
  func damage(of moov: BoxHeader) throws(FetchError) -> StructureVerdict? {
    let boxes = try window.children(of: moov)
    if let damage = Self.renamed(boxes, in: "moov") { return damage }
    let known = BoxGrammar.of["moov"]
    for box in boxes {
      switch box.type {
      case "trak":
        if let damage = try damage(ofTrack: box) { return damage }
      case "mvex":
        let defaults = try window.children(of: box)
        if let damage = Self.renamed(defaults, in: "mvex") { return damage }
        // Each track has its `trex`; `trep` is one bit away from it.
        if defaults.contains(where: { $0.type == "trep" }),
          defaults.count(where: { $0.type == "trex" }) < boxes.count(where: { $0.type == "trak" })
        {
          return Self.lost("trep", "trex", "mvex")
        }
      case _ where known?.contains(box.type) == false && !Self.isOpaque(box.type):
        // Whatever it is called, what holds a track's boxes is a track.
        let inside = Set(try window.children(of: box).map(\.type))
        if inside.isSuperset(of: ["tkhd", "mdia"]) { return Self.lost(box.type, "trak", "moov") }
      default:
        break
      }
    }
    return nil
  }

  private func damage(ofTrack trak: BoxHeader) throws(FetchError) -> StructureVerdict? {
    var boxes: [BoxType: [BoxHeader]] = [:]
    var parent = trak
    for name: BoxType in ["trak", "mdia", "minf", "stbl"] {
      if name != "trak" {
        guard let next = boxes[parent.type]?.first(where: { $0.type == name }) else { return nil }
        parent = next
      }
      let children = try window.children(of: parent)
      boxes[name] = children
      if let damage = Self.renamed(children, in: name) { return damage }
      if name != "stbl", let absent = Self.absent(children, in: name) {
        return Self.missing(absent, name)
      }
      if name == "trak", let edts = children.first(where: { $0.type == "edts" }),
        let damage = Self.renamed(try window.children(of: edts), in: "edts")
      {
        return damage
      }
    }
    if let damage = try damagedHandler(boxes["mdia"] ?? [], boxes["minf"] ?? []) { return damage }
    return try damagedTables(boxes["stbl"] ?? [], mdia: boxes["mdia"] ?? [])
  }

  /// A handler that is neither of what its media header is for.
  private func damagedHandler(
    _ mdia: [BoxHeader], _ minf: [BoxHeader]
  ) throws(FetchError) -> StructureVerdict? {
    guard let handler = try handler(mdia) else { return nil }
    let pairs: [(BoxType, BoxType)] = [("vmhd", "vide"), ("smhd", "soun")]
    for (header, name) in pairs
    where handler.isMisspelling(of: name) && minf.contains(where: { $0.type == header }) {
      return .incomplete(
        "the index is damaged: a track with box \(header.text) has the handler \(handler.text)",
        reason: "that is \(name.text) with a wrong bit or byte")
    }
    return nil
  }

  private func handler(_ mdia: [BoxHeader]) throws(FetchError) -> BoxType? {
    guard let hdlr = mdia.first(where: { $0.type == "hdlr" }),
      let type = try window.big(at: hdlr.payload + 8, width: 4)
    else { return nil }
    return BoxType(rawValue: UInt32(truncatingIfNeeded: type))
  }

  /// Tables that are missing, there twice, or empty although the media has a duration.
  private func damagedTables(
    _ stbl: [BoxHeader], mdia: [BoxHeader]
  ) throws(FetchError) -> StructureVerdict? {
    var entries: UInt64 = 0
    for box in stbl {
      switch box.type {
      case "stts", "stsc", "stco", "co64":
        entries = max(entries, try window.big(at: box.payload + 4, width: 4) ?? 0)
      case "stsz", "stz2":
        entries = max(entries, try window.big(at: box.payload + 8, width: 4) ?? 0)
      default:
        break
      }
    }
    // `ctts` and `stss` are one bit away from these.
    for name: BoxType in ["stts", "stsc"] where stbl.count(where: { $0.type == name }) > 1 {
      return .incomplete("the index is damaged: a track has two boxes \(name.text)")
    }
    let seconds = try seconds(mdia)
    let claims = entries > 0 || (!isFragmented && seconds >= Self.emptyDuration)
    // A track that is empty and says so needs no tables; nor do those that fragments fill.
    if claims, let absent = Self.absent(stbl, in: "stbl") { return Self.missing(absent, "stbl") }
    guard entries == 0, claims, let handler = try handler(mdia), ["vide", "soun"].contains(handler)
    else { return nil }
    return .incomplete(
      "the index is damaged: a track of \(Int64(seconds.rounded())) s lists no sample")
  }

  /// `mdhd`'s duration; 0 where it is unknown (all ones).
  private func seconds(_ mdia: [BoxHeader]) throws(FetchError) -> Double {
    guard let mdhd = mdia.first(where: { $0.type == "mdhd" }) else { return 0 }
    let isLong = try window.byte(at: mdhd.payload) == 1
    guard let scale = try window.big(at: mdhd.payload + (isLong ? 20 : 12), width: 4), scale > 0,
      let duration = try window.big(at: mdhd.payload + (isLong ? 24 : 16), width: isLong ? 8 : 4),
      duration < (isLong ? UInt64(Int64.max) : 0xFFFF_FFFF)
    else { return 0 }
    return Double(duration) / Double(scale)
  }

  // MARK: Names

  /// A box among the children of `parent` that is the damaged name of one that belongs there.
  static func renamed(_ boxes: [BoxHeader], in parent: BoxType) -> StructureVerdict? {
    guard let grammar = BoxGrammar.of[parent] else { return nil }
    let siblings = Set(boxes.map(\.type))
    for type in siblings {
      if let name = grammar.original(of: type, beside: siblings) { return lost(type, name, parent) }
    }
    return nil
  }

  private static func absent(_ boxes: [BoxHeader], in parent: BoxType) -> BoxType? {
    BoxGrammar.of[parent]?.required.first { group in
      !boxes.contains { group.contains($0.type) }
    }?.first
  }

  private static func isOpaque(_ type: BoxType) -> Bool {
    ["free", "skip", "wide", "uuid"].contains(type)
  }

  private static func missing(_ type: BoxType, _ parent: BoxType) -> StructureVerdict {
    .incomplete("the index is damaged: a box \(parent.text) has no \(type.text)")
  }

  private static func lost(
    _ type: BoxType, _ name: BoxType, _ parent: BoxType
  ) -> StructureVerdict {
    .incomplete("the index is damaged: box \(type.text) in \(parent.text) should be \(name.text)")
  }
}

/// Whether the boxes of an index fill what holds them, and all media is listed.
struct MovieCoverage {
  let window: SourceWindow

  /// The share of the media that may be listed nowhere where the index is irregular: 1 in 20.
  private static let tolerated: Int64 = 20
  private static let smallest: Int64 = 4096

  /// Media that no track lists, beside an index whose boxes don't fit into each other.
  ///
  /// Either alone is met in good files: editors leave media behind, writers get sizes wrong.
  func damage(
    of moov: BoxHeader, media: Int64, listed: Int64
  ) throws(FetchError) -> StructureVerdict? {
    let unlisted = media - listed
    guard unlisted > Self.smallest, unlisted > media / Self.tolerated,
      try !isRegular(moov, depth: 0)
    else { return nil }
    return .incomplete(
      "the index is damaged: no track lists \(unlisted) of \(media) bytes of media",
      reason: "the boxes of the index do not fit into each other")
  }

  /// Whether the boxes below one of the index fill it, each in its place.
  private func isRegular(_ parent: BoxHeader, depth: Int) throws(FetchError) -> Bool {
    guard let grammar = BoxGrammar.of[parent.type] else { return true }
    let end = min(parent.end, window.limit)
    var position = parent.payload
    var steps = 0
    while end - position >= 8, steps < 65536 {
      guard let box = try window.box(at: position, parentEnd: end) else {
        // A zero ends a list of atoms in QuickTime.
        return try window.big(at: position, width: 4) == 0
      }
      if box.end > end { return false }
      if Self.structural.contains(box.type), !grammar.contains(box.type) { return false }
      if depth < 4, try !isRegular(box, depth: depth + 1) { return false }
      position = box.end
      steps += 1
    }
    return true
  }

  private static let structural: Set<BoxType> = [
    "trak", "tkhd", "mdia", "mdhd", "minf", "stbl", "stsd", "stts", "stsc", "stsz", "stco", "co64",
  ]
}
