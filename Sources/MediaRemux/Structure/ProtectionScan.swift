// Whether a source's tracks are encrypted, said before libavformat opens it: for some of these files
// it fails with a generic error, others it copies as ciphertext without a word.

package import FetchCore

/// Finds encrypted tracks.
package enum ProtectionScan {
  /// Reads what is needed to see whether tracks are protected, and no more.
  ///
  /// It reads box headers up to `moov` and `moov` itself (Matroska: up to and including Tracks), so
  /// that with a source that is still arriving it waits for no media; an index at the end is
  /// waited for.
  ///
  /// - Throws: `encrypted` where a track is protected (protection data beside clear tracks is no
  ///   reason); else what `reader` throws. A source that makes no sense passes.
  package static func check(
    _ reader: SourceReader, kind: ContainerKind
  ) throws(FetchError) {
    // A quarter of the range leaves room for offsets to be added without overflow.
    let limit = min(try reader.size() ?? .max, .max / 4)
    switch kind {
    case .mp4: try checkMovie(reader, limit: limit)
    case .matroska: try checkMatroska(reader, limit: limit)
    case .asf: try checkASF(reader, limit: limit)
    case .mpegTS: try checkTransportStream(reader, limit: limit)
    case .mpegPS, .flv, .avi, .ogg, .adts, .mp3, .wav, .ac3, .dts, .amr, .flac, .other: break
    }
  }

  private static let indexLimit: Int64 = 64 * 1024 * 1024

  private static func encrypted(_ scheme: String, reason: String? = nil) -> FetchError {
    FetchError(
      .encrypted, "encrypted (DRM: \(scheme)); the keys can't be had", reason: reason,
      recovery: "get it from a source that offers it without DRM")
  }

  // MARK: ISO base media and QuickTime

  private static func checkMovie(_ reader: SourceReader, limit: Int64) throws(FetchError) {
    let headers = SourceWindow(reader, limit: limit, blockSize: 16)
    var position: Int64 = 0
    var steps = 0
    while position < limit, steps < 1 << 20,
      let box = try headers.box(at: position, parentEnd: limit), box.type.rawValue != 0
    {
      if box.type == "moov" {
        let end = min(box.end, limit, box.payload.clampedSum(indexLimit))
        try checkTracks(of: box, SourceWindow(reader, limit: end))
        return
      }
      // A fragment before any header: nothing more to learn.
      if box.type == "moof" || box.runsToEnd { return }
      position = box.end
      steps += 1
    }
  }

  private static func checkTracks(
    of moov: BoxHeader, _ window: SourceWindow
  ) throws(FetchError) {
    let boxes = try window.children(of: moov)
    for trak in boxes where trak.type == "trak" {
      guard let stsd = try window.descendant(of: trak, "mdia", "minf", "stbl", "stsd") else {
        continue
      }
      for entry in try window.children(of: stsd, skipping: 8) {
        guard protectedEntries.contains(entry.type) else { continue }
        let scheme = try scheme(of: entry, window)
        let systems = try systems(in: boxes, window)
        throw encrypted(
          scheme, reason: systems.isEmpty ? nil : "protected by " + systems.joined(separator: ", "))
      }
    }
  }

  /// Sample entries of protected tracks (ISO/IEC 14496-12, 8.12; iTunes: drms, drmi).
  private static let protectedEntries: Set<BoxType> = [
    "encv", "enca", "enct", "encs", "encm", "encf", "enc3", "drms", "drmi", "drmt",
  ]

  /// The scheme type (`schm`) of a protected sample entry.
  private static func scheme(
    of entry: BoxHeader, _ window: SourceWindow
  ) throws(FetchError) -> String {
    if ["drms", "drmi", "drmt"].contains(entry.type) { return "FairPlay" }
    let count = Int(min(entry.end, window.limit) - entry.offset)
    guard count > 0, let bytes = try window.bytes(at: entry.offset, count: min(count, 65536)),
      let found = bytes.firstRange(of: Array("schm".utf8)), found.upperBound + 8 <= bytes.count
    else { return "protected sample entry \(entry.type.text)" }
    let code = bytes[(found.upperBound + 4)..<(found.upperBound + 8)].reduce(UInt32(0)) {
      $0 << 8 | UInt32($1)
    }
    return BoxType(rawValue: code).text
  }

  /// The names of the key systems that `pssh` boxes (ISO/IEC 23001-7, 8.1) are for.
  private static func systems(
    in boxes: [BoxHeader], _ window: SourceWindow
  ) throws(FetchError) -> [String] {
    var names: [String] = []
    for box in boxes where box.type == "pssh" {
      guard let first = try window.big(at: box.payload + 4, width: 4),
        let name = systemNames[UInt32(truncatingIfNeeded: first)], !names.contains(name)
      else { continue }
      names.append(name)
    }
    return names
  }

  /// By the first four bytes of the system identifier.
  private static let systemNames: [UInt32: String] = [
    0xEDEF_8BA9: "Widevine", 0x9A04_F079: "PlayReady", 0x94CE_86FB: "FairPlay",
    0x1077_EFEC: "Common PSSH", 0xE271_9D58: "ClearKey", 0x5E62_9AF5: "Marlin",
    0xF239_E769: "Adobe Primetime", 0x3D5E_6D35: "WisePlay",
  ]

  // MARK: Matroska

  private enum ID {
    static let trackEntry: UInt32 = 0xAE
    static let encodings: UInt32 = 0x6D80
    static let encoding: UInt32 = 0x6240
    static let encodingType: UInt32 = 0x5033
    static let encryption: UInt32 = 0x5035
  }

  private static func checkMatroska(_ reader: SourceReader, limit: Int64) throws(FetchError) {
    let headers = SourceWindow(reader, limit: limit, blockSize: 16)
    var position: Int64 = 0
    var steps = 0
    while position < limit, steps < 4096, let element = try headers.element(at: position) {
      steps += 1
      switch element.id {
      case MatroskaID.segment:
        position = element.payload
        continue
      case MatroskaID.cluster:
        return
      case MatroskaID.tracks:
        let end = min(element.end ?? limit, limit, element.payload.clampedSum(indexLimit))
        try checkTracks(from: element.payload, SourceWindow(reader, limit: end))
        return
      default:
        guard let end = element.end else { return }
        position = end
      }
    }
  }

  /// Follows TrackEntry, ContentEncodings and ContentEncoding down to an encryption.
  private static func checkTracks(
    from start: Int64, _ window: SourceWindow
  ) throws(FetchError) {
    var position = start
    // The masters on the way are entered by going on with their first child, so that one loop sees
    // all descendants in order.
    while position < window.limit, let element = try window.element(at: position) {
      switch element.id {
      case ID.trackEntry, ID.encodings, ID.encoding:
        position = element.payload
        continue
      case ID.encryption:
        throw encrypted("Matroska ContentEncryption")
      case ID.encodingType:
        if let end = element.end, (1...8).contains(end - element.payload),
          try window.big(at: element.payload, width: Int(end - element.payload)) == 1
        {
          throw encrypted("Matroska ContentEncryption")
        }
      default:
        break
      }
      guard let end = element.end else { return }
      position = end
    }
  }

  // MARK: ASF and transport streams

  private static func checkASF(_ reader: SourceReader, limit: Int64) throws(FetchError) {
    let header = SourceWindow(reader, limit: limit, blockSize: 32)
    guard let length = try header.little(at: 16, width: 8) else { return }
    let end = min(Int64(clamping: length), limit, indexLimit)
    for object in try ASFObject.insideHeader(SourceWindow(reader, limit: end, blockSize: 4096))
    where object.id == ASFObject.contentEncryption
      || object.id == ASFObject.extendedContentEncryption
    {
      throw encrypted("Windows Media")
    }
  }

  private static func checkTransportStream(
    _ reader: SourceReader, limit: Int64
  ) throws(FetchError) {
    let head = try reader.read(at: 0, count: Int(min(limit, 16 * 1024)))
    guard let grid = PacketGrid.find(in: head) else { return }
    var scrambled = 0
    var payloads = 0
    var position = grid.start + grid.prefix
    while position + 4 <= head.count, head[position] == 0x47 {
      let pid = Int(head[position + 1] & 0x1F) << 8 | Int(head[position + 2])
      if pid != 0x1FFF, head[position + 3] & 0x10 != 0, head[position + 1] & 0x80 == 0 {
        payloads += 1
        if head[position + 3] & 0x80 != 0 { scrambled += 1 }
      }
      position += grid.size
    }
    // A few set bits may be damage; half the packets are a decision.
    guard scrambled >= 8, scrambled * 2 >= payloads else { return }
    throw encrypted("scrambled transport stream")
  }
}
