// What a track of an ISO source says beside its samples, and that libavformat doesn't hand on: header
// flags, groups, references to other tracks, user data. Parsing is bounded; the numbers are hostile.

import FetchCore

/// How many bytes of boxes may still be copied.
///
/// What goes beyond is left behind, and named.
struct CopyBudget: Hashable {
  ///
  /// A large cover picture fits; so do a few copies of all of it in memory.
  private(set) var left: Int64 = 24 << 20
  /// Types of boxes that were too large.
  private(set) var refused: Set<String> = []

  private static let headers: Set<BoxType> = ["tkhd", "mdhd", "mvhd", "hdlr"]
  private static let largestHeader: Int64 = 512

  /// Takes a box off the budget; false where it doesn't fit.
  mutating func takes(_ box: BoxHeader) -> Bool {
    // Without its headers nothing of a track can be understood, whatever came before.
    if Self.headers.contains(box.type), box.size <= Self.largestHeader { return true }
    guard box.size >= 8, box.size <= left else {
      refuse(box.type.text)
      return false
    }
    left -= box.size
    return true
  }

  /// A whole box, as it stands; empty where it is left behind.
  mutating func whole(_ box: BoxHeader, _ window: SourceWindow) throws(FetchError) -> [UInt8] {
    // A box that claims to run on, or has a long header, is not copied as it stands.
    guard !box.runsToEnd, box.payload - box.offset == 8 else {
      refuse(box.type.text)
      return []
    }
    guard takes(box), let bytes = try window.bytes(at: box.offset, count: Int(box.size)) else {
      return []
    }
    // One that claims to reach out of the box around it would swallow its neighbours in the output.
    guard bytes.integer(0, 4) == UInt64(bytes.count) else {
      refuse(box.type.text)
      return []
    }
    return bytes
  }

  /// Takes note of a box that is left behind.
  mutating func refuse(_ type: String) {
    if refused.count < 16 { refused.insert(type) }
  }

  /// Whether a whole box can stand in another file: one that says where its parts lie in the old one
  /// (`iloc`, ISO 14496-12 8.11.3) can't.
  static func isMovable(_ box: [UInt8]) -> Bool {
    guard box.fourCharacters(4) == "meta" else { return true }
    let begin = box.fourCharacters(12) == "hdlr" ? 8 : 12
    guard begin < box.count else { return true }
    return !box.boxes(in: begin..<box.count, limit: 4096).contains { $0.type == "iloc" }
  }
}

/// One track's own account of itself, apart from its samples.
struct TrackCarriage: Hashable {
  /// The fields of a `tkhd` (ISO 14496-12 8.3.2) that say something of the film.
  struct Header: Hashable {
    /// Enabled, in the movie, in the preview.
    var flags: UInt64
    var created: UInt64
    var modified: UInt64
    /// Layer, alternate group and volume, as they stand.
    var place: [UInt8]
    /// The matrix and the size, as they stand.
    var shape: [UInt8]

    /// Only these three bits mean the same in both containers.
    static let sharedFlags: UInt64 = 7
    var isEnabled: Bool { flags & 1 != 0 }
  }

  /// The tracks that a `tref` names for one purpose.
  struct Reference: Hashable {
    var type: String
    var tracks: [UInt64]
  }

  var id: UInt64 = 0
  var header: Header?
  /// Creation and modification time in `mdhd`.
  var mediaTimes: (UInt64, UInt64)? {
    get { created.flatMap { created in modified.map { (created, $0) } } }
    set { (created, modified) = (newValue?.0, newValue?.1) }
  }
  private var created: UInt64?
  private var modified: UInt64?
  /// The handler's type (`vide`, `meta`, …), and the whole `hdlr` box.
  var handlerType = ""
  var handler: [UInt8] = []
  /// The whole media information header: `gmhd`, `nmhd`, `smhd` and the like.
  var informationHeader: [UInt8] = []
  /// The whole `stsd`; kept of tracks only whose samples libavformat has no name for.
  var sampleDescription: [UInt8] = []
  /// The whole `elng`: a language as BCP 47 has it.
  var extendedLanguage: [UInt8] = []
  var references: [Reference] = []
  /// The boxes inside `udta`, whole.
  var userData: [[UInt8]] = []
  /// Boxes of the `trak` that the muxer knows nothing of (`meta`, `tapt`, `load`, `uuid`), whole.
  var others: [[UInt8]] = []
  /// Boxes that say something of samples by their number, whole.
  var sampleTables: [[UInt8]] = []

  /// Whether this is a track of hints, whose samples describe how another file is to be sent.
  var isHint: Bool { handlerType == "hint" }

  /// Whether its samples, whatever they are, can be copied under its own description.
  var isSelfContained: Bool {
    !isHint && handler.count > 20 && !informationHeader.isEmpty
      && TrackCarriage.describesOneKind(sampleDescription)
  }

  /// Whether a whole `stsd` has one entry: libavformat tells nothing of which sample has which.
  static func describesOneKind(_ stsd: [UInt8]) -> Bool {
    stsd.count > 24 && stsd.integer(12, 4) == 1
      && stsd.boxes(in: 16..<stsd.count).first?.range.upperBound == stsd.count
  }
}

extension TrackCarriage {
  /// The boxes of a `trak` that are built anew.
  private static let rebuilt: Set<String> = [
    "tkhd", "edts", "tref", "mdia", "udta", "free", "skip", "wide",
  ]
  /// What goes by the number of a sample (ISO 14496-12 8.6.4, 8.7.7, 8.9).
  private static let tables: Set<String> = ["sgpd", "sbgp", "sdtp", "subs"]
  private static let mediaHandlers: Set<String> = ["vide", "soun"]

  /// Reads a `trak`.
  init(
    _ trak: BoxHeader, _ window: SourceWindow, _ budget: inout CopyBudget
  ) throws(FetchError) {
    for box in try window.children(of: trak) {
      switch box.type.text {
      case "tkhd": take(header: try Self.whole(box, window, &budget))
      case "tref": references = Self.references(try Self.whole(box, window, &budget))
      case "udta":
        let bytes = try Self.whole(box, window, &budget)
        userData = UserData.children(of: bytes)
        if UserData.isTooLong(bytes) { budget.refuse("udta") }
      case "mdia": try take(media: box, window, &budget)
      case let type where !Self.rebuilt.contains(type):
        let bytes = try Self.whole(box, window, &budget)
        if bytes.isEmpty { break }
        if CopyBudget.isMovable(bytes) { others.append(bytes) } else { budget.refuse("meta") }
      default: break
      }
    }
  }

  private mutating func take(
    media: BoxHeader, _ window: SourceWindow, _ budget: inout CopyBudget
  ) throws(FetchError) {
    for box in try window.children(of: media) {
      switch box.type.text {
      case "mdhd":
        let bytes = try Self.whole(box, window, &budget)
        mediaTimes = Self.times(bytes)
      case "hdlr":
        handler = try Self.whole(box, window, &budget)
        handlerType = handler.fourCharacters(16)
      case "elng": extendedLanguage = try Self.whole(box, window, &budget)
      case "minf":
        for inner in try window.children(of: box) {
          switch inner.type.text {
          case "hdlr", "dinf": break
          case "stbl": try take(samples: inner, window, &budget)
          case let type where type.hasSuffix("mhd") || type == "sthd":
            informationHeader = try Self.whole(inner, window, &budget)
          default: break
          }
        }
      default: break
      }
    }
  }

  private mutating func take(
    samples: BoxHeader, _ window: SourceWindow, _ budget: inout CopyBudget
  ) throws(FetchError) {
    for box in try window.children(of: samples) {
      let type = box.type.text
      if type == "stsd", !Self.mediaHandlers.contains(handlerType) {
        sampleDescription = try Self.whole(box, window, &budget)
      } else if Self.tables.contains(type) {
        let bytes = try Self.whole(box, window, &budget)
        if !bytes.isEmpty { sampleTables.append(bytes) }
      }
    }
  }

  private static func whole(
    _ box: BoxHeader, _ window: SourceWindow, _ budget: inout CopyBudget
  ) throws(FetchError) -> [UInt8] {
    try budget.whole(box, window)
  }

  /// Takes the fields of a whole `tkhd`.
  mutating func take(header bytes: [UInt8]) {
    guard let times = Self.times(bytes) else { return }
    let isLong = bytes[8] == 1
    let place = isLong ? 52 : 40
    id = bytes.integer(isLong ? 28 : 20, 4)
    guard bytes.count >= place + 52 else { return }
    header = Header(
      flags: bytes.integer(9, 3), created: times.0, modified: times.1,
      place: Array(bytes[place..<(place + 6)]),
      shape: Array(bytes[(place + 8)..<(place + 52)]))
  }

  /// Creation and modification time of a whole `mvhd`, `tkhd` or `mdhd`: seconds since 1904.
  static func times(_ bytes: [UInt8]) -> (UInt64, UInt64)? {
    guard bytes.count >= 28 else { return nil }
    return bytes[8] == 1
      ? (bytes.integer(12, 8), bytes.integer(20, 8)) : (bytes.integer(12, 4), bytes.integer(16, 4))
  }

  /// What a whole `tref` says (ISO 14496-12 8.3.3).
  static func references(_ tref: [UInt8]) -> [Reference] {
    guard tref.count > 8 else { return [] }
    return tref.boxes(in: 8..<tref.count, limit: 64).map { box in
      Reference(
        type: box.type,
        tracks: stride(from: box.payload.lowerBound, to: box.payload.upperBound - 3, by: 4)
          .prefix(256).map { tref.integer($0, 4) })
    }
  }
}
