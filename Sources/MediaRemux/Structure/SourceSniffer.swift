// What the first bytes of a body are: a family of media containers, or something that certainly is
// no video and can be named. In doubt it is media: libavformat decides about the rest.

package import FetchCore

/// What the first bytes of a source show.
package enum SniffedSource: Sendable, Hashable {
  /// Media of this family, or (nil) something unknown that libavformat may know.
  case media(ContainerKind?)
  /// Certainly no video; the error's code is `notMedia` and its text says what it is.
  case notMedia(FetchError)
}

/// Names a source by its first bytes, and does nothing else.
package enum SourceSniffer {
  /// Looks at the head of a source.
  ///
  /// - Parameters:
  ///   - head: the first bytes; 4 to 8 KiB are enough, fewer only if the source has fewer.
  ///   - size: the source's size in bytes, where it is known.
  package static func sniff(head: [UInt8], size: Int64?) -> SniffedSource {
    if head.isEmpty || size == 0 {
      return .notMedia(
        FetchError(
          .notMedia, "the body is empty",
          recovery: "check the address; the server sent no bytes"))
    }
    if let kind = binaryMedia(head) { return .media(kind) }
    if let name = BinaryFormat.name(of: head) {
      return .notMedia(
        FetchError(
          .notMedia, "\(name), not a video", recovery: "check the address; it isn't a media file's")
      )
    }
    if let text = TextBody(head) { return .notMedia(text.refusal) }
    return .media(looseMedia(head))
  }

  // MARK: Media

  /// Media by a signature that no other format shares.
  private static func binaryMedia(_ head: [UInt8]) -> ContainerKind? {
    func has(_ text: String, at offset: Int = 0) -> Bool { head.has(Array(text.utf8), at: offset) }
    func has(_ bytes: UInt8..., at offset: Int = 0) -> Bool { head.has(bytes, at: offset) }

    if has("ftyp", at: 4) { return BinaryFormat.isStillImage(head) ? nil : .mp4 }
    if has(0x1A, 0x45, 0xDF, 0xA3) { return .matroska }
    if has(0x00, 0x00, 0x01, 0xBA) { return .mpegPS }
    if has("FLV"), head.count > 3, head[3] < 16 { return .flv }
    if has("RIFF"), has("AVI ", at: 8) { return .avi }
    if has("RIFF") || has("RF64") || has("BW64"), has("WAVE", at: 8) { return .wav }
    if has("OggS"), head.count > 4, head[4] == 0 { return .ogg }
    if head.has(ASFObject.header, at: 0) { return .asf }
    if has("ID3"), head.count > 3, head[3] < 0x10 { return taggedAudio(head) }
    if head.has(FLACStructure.signature, at: 0) || AMRStructure.begins(head),
      TextBody(head)?.isCertain != true
    {
      return has("fLaC") ? .flac : .amr
    }
    if SyncFrame.begin(head, .ac3) { return .ac3 }
    if SyncFrame.begin(head, .dts) { return .dts }
    let others = [
      "caff\u{0}", "#!AMR", "nut/multimedia container", "YUV4MPEG2 ", "DKIF", "wvpk",
      "MAC ",
      "TTA1", ".RMF", "FORM", ".snd\u{0}", "MPCK", "FWS", "CWS", "LXF\u{0}", "BIK", "SMK2", "SMK4",
      "OFR ",
    ]
    if others.contains(where: { has($0) }), TextBody(head)?.isCertain != true { return .other }
    if has(0x06, 0x0E, 0x2B, 0x34) || has(0x00, 0x00, 0x01, 0xB3) || has(0x7F, 0xFE, 0x80, 0x01)
      || has(0x0B, 0x77) || has(0xB7, 0xD8, 0x00, 0x20) || has(0x1F, 0x07, 0x00)
    {
      return .other
    }
    return nil
  }

  /// Media by signs that text could show as well.
  private static func looseMedia(_ head: [UInt8]) -> ContainerKind? {
    let first: Set<BoxType> = [
      "moov", "mdat", "wide", "free", "skip", "pnot", "styp", "moof", "sidx", "prfl", "udta",
      "meta",
      "uuid", "junk", "emsg", "prft", "pdin",
    ]
    if head.count >= 8 {
      let code = head[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let size = head[0..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      if first.contains(BoxType(rawValue: code)), size < 2 || size >= 8 { return .mp4 }
    }
    if PacketGrid.find(in: head) != nil { return .mpegTS }
    // A source that is shorter than five packets.
    if head.count < 5 * 204, head.count >= 2 * 188, head[0] == 0x47, head[188] == 0x47 {
      return .mpegTS
    }
    if let kind = rawAudio(head, at: 0) { return kind }
    if head.has([0, 0, 0, 1], at: 0) || head.has([0, 0, 1], at: 0) { return .other }
    return nil
  }

  /// What follows an ID3v2 tag; MP3 where the tag is longer than the head.
  private static func taggedAudio(_ head: [UInt8]) -> ContainerKind {
    guard head.count >= 10 else { return .mp3 }
    let length = head[6..<10].reduce(0) { $0 << 7 | Int($1 & 0x7F) }
    let start = 10 + length + (head[5] & 0x10 != 0 ? 10 : 0)
    if head.has(Array("fLaC".utf8), at: start) { return .flac }
    return rawAudio(head, at: start) ?? .mp3
  }

  /// Frames of ADTS or MPEG audio: two in a row, or one that reaches past the head.
  private static func rawAudio(_ head: [UInt8], at start: Int) -> ContainerKind? {
    guard let frame = AudioFrame(head, at: start) else { return nil }
    let next = start + frame.length
    if next + 6 <= head.count {
      guard let second = AudioFrame(head, at: next), second.isADTS == frame.isADTS else {
        return nil
      }
    } else if start == 0, head.count >= 4096 {
      return nil
    }
    return frame.isADTS ? .adts : .mp3
  }
}

/// Binary formats that are certainly no video.
enum BinaryFormat {
  /// The format's name with its article; nil where the bytes are none of these.
  static func name(of head: [UInt8]) -> String? {
    for (signature, offset, name) in signatures where head.has(signature, at: offset) {
      return name
    }
    if head.has(Array("RIFF".utf8), at: 0), head.has(Array("WEBP".utf8), at: 8) {
      return "a WebP image"
    }
    if isStillImage(head) { return "an HEIF or AVIF image" }
    if head.has([0x42, 0x4D], at: 0), head.count >= 14, head[6..<10].allSatisfy({ $0 == 0 }) {
      return "a BMP image"
    }
    return nil
  }

  /// Whether the major brand of `ftyp` is that of a still image.
  static func isStillImage(_ head: [UInt8]) -> Bool {
    guard head.has(Array("ftyp".utf8), at: 4) else { return false }
    return ["avif", "heic", "heix", "mif1", "heim", "heis"].contains {
      head.has(Array($0.utf8), at: 8)
    }
  }

  private static let signatures: [([UInt8], Int, String)] = [
    ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], 0, "a PNG image"),
    ([0xFF, 0xD8, 0xFF], 0, "a JPEG image"),
    (Array("GIF87a".utf8), 0, "a GIF image"),
    (Array("GIF89a".utf8), 0, "a GIF image"),
    ([0x49, 0x49, 0x2A, 0x00], 0, "a TIFF image"),
    ([0x4D, 0x4D, 0x00, 0x2A], 0, "a TIFF image"),
    ([0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20], 0, "a JPEG XL image"),
    ([0x00, 0x00, 0x00, 0x0C, 0x6A, 0x50, 0x20, 0x20], 0, "a JPEG 2000 image"),
    (Array("%PDF-".utf8), 0, "a PDF document"),
    ([0x50, 0x4B, 0x03, 0x04], 0, "a zip archive"),
    ([0x50, 0x4B, 0x05, 0x06], 0, "an empty zip archive"),
    ([0x1F, 0x8B, 0x08], 0, "a gzip file"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], 0, "an xz file"),
    ([0x28, 0xB5, 0x2F, 0xFD], 0, "a zstd file"),
    (Array("BZh9".utf8), 0, "a bzip2 file"),
    ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], 0, "a 7z archive"),
    (Array("Rar!".utf8) + [0x1A, 0x07], 0, "a rar archive"),
    (Array("ustar".utf8), 257, "a tar archive"),
    ([0x7F, 0x45, 0x4C, 0x46], 0, "an ELF program"),
    ([0x4D, 0x5A, 0x90, 0x00], 0, "a Windows program"),
    (Array("SQLite format 3\u{0}".utf8), 0, "an SQLite database"),
  ]
}

extension [UInt8] {
  /// Whether `pattern` stands at `offset`.
  func has(_ pattern: [UInt8], at offset: Int) -> Bool {
    guard offset >= 0, offset <= count, count - offset >= pattern.count else { return false }
    return self[offset..<offset + pattern.count].elementsEqual(pattern)
  }
}
