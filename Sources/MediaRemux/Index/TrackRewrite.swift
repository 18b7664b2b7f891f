// A track of the output told what the source's track says of itself. Pure: boxes in, boxes out.

import FetchCore

/// Puts one source track's properties into one `trak` of the output.
struct TrackRewrite {
  let carriage: TrackCarriage
  let format: ContainerFormat
  /// The output's track ids by the source's.
  let ids: [UInt64: UInt64]
  /// Whether the samples are the source's one by one, so that tables by number stay true.
  let sampleCount: Int64?
  /// Whether all of the track's own description is the source's: libavformat has no name for it.
  let isOpaque: Bool
  /// Whether user data is copied.
  let copiesMetadata: Bool
  /// False where the source shows no track at all, which players take literally.
  let copiesFlags: Bool

  // MARK: trak

  /// A whole `tkhd` with the source's flags, times and place.
  func header(_ tkhd: [UInt8]) -> [UInt8] {
    guard let header = carriage.header, tkhd.count >= 92 else { return tkhd }
    var bytes = tkhd
    let isLong = bytes[8] == 1
    let place = isLong ? 52 : 40
    guard bytes.count >= place + 52 else { return tkhd }
    if copiesFlags { bytes.set(header.flags & TrackCarriage.Header.sharedFlags, at: 9, bytes: 3) }
    if copiesMetadata { Self.set((header.created, header.modified), &bytes) }
    bytes.replaceSubrange(place..<(place + header.place.count), with: header.place)
    if isOpaque {
      bytes.replaceSubrange((place + 8)..<(place + 8 + header.shape.count), with: header.shape)
    }
    return bytes
  }

  /// Writes creation and modification time into a whole `mvhd`, `tkhd` or `mdhd`.
  static func set(_ times: (UInt64, UInt64), _ bytes: inout [UInt8]) {
    guard bytes.count >= 28 else { return }
    if bytes[8] == 1 {
      bytes.set(times.0, at: 12, bytes: 8)
      bytes.set(times.1, at: 20, bytes: 8)
    } else if times.0 <= UInt64(UInt32.max), times.1 <= UInt64(UInt32.max) {
      bytes.set(times.0, at: 12, bytes: 4)
      bytes.set(times.1, at: 16, bytes: 4)
    }
  }

  /// The whole `tref`, or nothing: the source's with the output's ids, and what the muxer wrote.
  ///
  /// - Parameter written: the muxer's own `tref`, or empty.
  func references(_ written: [UInt8]) -> [UInt8] {
    var references = TrackCarriage.references(written)
    let own = Set(references.map(\.type))
    // The chapters' track is the muxer's own.
    for reference in carriage.references where reference.type != "chap" && reference.type != "hint"
    {
      guard !own.contains(reference.type) else { continue }
      let tracks = reference.tracks.compactMap { ids[$0] }
      if !tracks.isEmpty { references.append(.init(type: reference.type, tracks: tracks)) }
    }
    guard !references.isEmpty else { return [] }
    var payload: [UInt8] = []
    for reference in references {
      var list: [UInt8] = []
      for track in reference.tracks { list.append(track, bytes: 4) }
      payload += [UInt8].box(reference.type, list)
    }
    return .box("tref", payload)
  }

  /// The boxes that end a `trak`: user data and all that the muxer knows nothing of.
  ///
  /// - Parameter written: the muxer's own `udta`, or empty.
  func tail(_ written: [UInt8]) -> [UInt8] {
    let source = carriage.userData.filter { isCopied($0) }
    let types = Set(source.map { $0.fourCharacters(4) })
    let own = UserData.children(of: written).filter { !types.contains($0.fourCharacters(4)) }
    let children = (own + source).flatMap { $0 }
    let userData = children.isEmpty ? [] : [UInt8].box("udta", children)
    let others = carriage.others.filter { isCopied($0) }.map { box in
      MetadataBox(box)?.box(isISO: format == .mp4) ?? box
    }
    return userData + others.flatMap { $0 }
  }

  /// What of a track's boxes says how it is to be played, and isn't a tag.
  private static let playback: Set<String> = [
    "kind", "ludt", "tapt", "load", "clip", "matt", "kmat",
  ]

  private func isCopied(_ box: [UInt8]) -> Bool {
    copiesMetadata || Self.playback.contains(box.fourCharacters(4))
  }

  // MARK: mdia

  /// A whole `mdia` with the source's handler, language and descriptions.
  func media(_ mdia: [UInt8]) -> [UInt8] {
    var payload: [UInt8] = []
    for box in mdia.boxes(in: 8..<mdia.count) {
      var bytes = Array(mdia[box.range])
      switch box.type {
      case "mdhd":
        if copiesMetadata, let times = carriage.mediaTimes { Self.set(times, &bytes) }
        payload += bytes + carriage.extendedLanguage
      case "elng" where !carriage.extendedLanguage.isEmpty: break
      case "hdlr" where isOpaque: payload += Self.handler(carriage.handler, in: format)
      case "minf": payload += information(bytes)
      default: payload += bytes
      }
    }
    return .box("mdia", payload)
  }

  private func information(_ minf: [UInt8]) -> [UInt8] {
    var payload: [UInt8] = []
    if isOpaque { payload += informationHeader }
    for box in minf.boxes(in: 8..<minf.count) {
      let bytes = Array(minf[box.range])
      switch box.type {
      case "gmhd" where isOpaque, "nmhd" where isOpaque, "sthd" where isOpaque: break
      case "smhd" where carriage.informationHeader.count == bytes.count:
        // The balance.
        payload +=
          carriage.informationHeader.fourCharacters(4) == "smhd"
          ? carriage.informationHeader : bytes
      case "stbl": payload += samples(bytes)
      default: payload += bytes
      }
    }
    return .box("minf", payload)
  }

  private func samples(_ stbl: [UInt8]) -> [UInt8] {
    let boxes = stbl.boxes(in: 8..<stbl.count)
    var added: [[UInt8]] = []
    if let sampleCount {
      added = carriage.sampleTables.filter { Self.fits($0, sampleCount) }
    }
    var keys = Set(added.map(Self.tableKey))
    for box in added where box.fourCharacters(4) == "sgpd" || box.fourCharacters(4) == "sbgp" {
      // Descriptions and numbers of a group belong together.
      keys.formUnion(["sgpd" + box.fourCharacters(12), "sbgp" + box.fourCharacters(12)])
    }
    var payload: [UInt8] = []
    for box in boxes {
      let bytes = Array(stbl[box.range])
      if box.type == "stsd", isOpaque {
        payload += carriage.sampleDescription
      } else if !keys.contains(Self.tableKey(bytes)) {
        payload += bytes
      }
    }
    return .box("stbl", payload + added.flatMap { $0 })
  }

  /// What a table is about: its type, and for sample groups the kind of group.
  private static func tableKey(_ box: [UInt8]) -> String {
    let type = box.fourCharacters(4)
    return type == "sgpd" || type == "sbgp" ? type + box.fourCharacters(12) : type
  }

  /// Whether a table can be about so many samples.
  private static func fits(_ box: [UInt8], _ samples: Int64) -> Bool {
    switch box.fourCharacters(4) {
    case "sdtp": Int64(box.count) == 12 + samples
    // Encryption is refused elsewhere; a group that says so here would mislead.
    case "sgpd", "sbgp": box.count >= 20 && box.fourCharacters(12) != "seig"
    default: true
    }
  }

  // MARK: Between the containers

  /// A whole `hdlr` as the container has it: QuickTime names a component type and counts its
  /// strings, ISO ends them with zero.
  static func handler(_ hdlr: [UInt8], in format: ContainerFormat) -> [UInt8] {
    guard hdlr.count >= 32 else { return hdlr }
    var head = Array(hdlr[8..<32])
    let text = hdlr[32...]
    let isCounted = text.count > 1 && Int(text[32]) == text.count - 1
    head.replaceSubrange(4..<8, with: format == .mov ? Array("mhlr".utf8) : [0, 0, 0, 0])
    guard text.count < 257 else { return .box("hdlr", head + text) }
    var name = isCounted ? Array(text.dropFirst()) : Array(text.prefix { $0 != 0 })
    if !isCounted, name.count == text.count, format == .mov { name = Array(text) }
    if format == .mov { return .box("hdlr", head + [UInt8(clamping: name.count)] + name) }
    return .box("hdlr", head + name + [0])
  }

  /// The media information header as the container has it: a general one in QuickTime, an empty one
  /// in ISO (ISO 14496-12 8.4.5).
  private var informationHeader: [UInt8] {
    let own = carriage.informationHeader
    let isGeneral = own.fourCharacters(4) == "gmhd"
    switch format {
    case .mov where !isGeneral:
      // Graphics mode "dither copy" and grey operation colours, as QuickTime writes them.
      var general = [UInt8].box(
        "gmin", [0, 0, 0, 0, 0, 0x40, 0x80, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0])
      if carriage.handlerType == "tmcd" {
        // Plain text of 12 points, black on white, in a font that the player chooses.
        let black: [UInt8] = [0, 0, 0, 0, 0, 0]
        let white = [UInt8](repeating: 0xFF, count: 6)
        let appearance = [0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0] + black + white + [0]
        general += [UInt8].box("tmcd", .box("tcmi", appearance))
      }
      return .box("gmhd", general)
    case .mp4 where isGeneral: return .box("nmhd", [0, 0, 0, 0])
    default: return own
    }
  }
}
