// Stand-ins until the walks over the containers come.

package import FetchCore
import Glibc

package struct SourceReader: Sendable {
  let size: @Sendable () throws(FetchError) -> Int64?
  let read: @Sendable (_ offset: Int64, _ count: Int) throws(FetchError) -> [UInt8]
  package init(
    size: @escaping @Sendable () throws(FetchError) -> Int64?,
    read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws(FetchError) -> [UInt8]
  ) {
    self.size = size
    self.read = read
  }
}

package enum ContainerKind: String, Sendable, Hashable, Codable {
  case mp4, matroska, mpegTS, mpegPS, flv, avi, ogg, asf, adts, mp3, wav, other
}

package enum SniffedSource: Sendable {
  case media(ContainerKind?)
  case notMedia(FetchError)
}

package enum SourceSniffer {
  static func sniff(head: [UInt8], size: Int64?) -> SniffedSource {
    if head.isEmpty { return .notMedia(FetchError(.notMedia, "empty")) }
    if head.first == 0x3C { return .notMedia(FetchError(.notMedia, "web page, not a video")) }
    if head.starts(with: Array("version https".utf8)) {
      return .notMedia(FetchError(.notMedia, "text"))
    }
    if head.count > 8 {
      let type = String(decoding: head[4..<8], as: UTF8.self)
      if ["ftyp", "moov", "mdat", "free", "wide", "skip", "styp", "sidx", "moof", "pnot", "uuid"]
        .contains(type)
      {
        return .media(.mp4)
      }
      if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .media(.matroska) }
      if head.starts(with: Array("RIFF".utf8)) { return .media(.avi) }
      if head.starts(with: Array("FLV".utf8)) { return .media(.flv) }
      if head.starts(with: Array("OggS".utf8)) { return .media(.ogg) }
      if head.count > 400, head[0] == 0x47, head[188] == 0x47 { return .media(.mpegTS) }
      if head.count > 400, head[4] == 0x47, head[196] == 0x47 { return .media(.mpegTS) }
      if head.starts(with: [0, 0, 1, 0xBA]) { return .media(.mpegPS) }
    }
    return .media(nil)
  }
}

package enum ProtectionScan {
  static func check(_ reader: SourceReader, kind: ContainerKind) throws(FetchError) {}
}

package enum StructureVerdict: Sendable {
  case proven
  case noEndOfItsOwn
  case damaged(FetchError)
}

package enum ContainerStructure {
  static func examine(_ reader: SourceReader, kind: ContainerKind) throws(FetchError)
    -> StructureVerdict
  {
    switch kind {
    case .mp4, .matroska: .proven
    default: .noEndOfItsOwn
    }
  }
}

package enum IndexFirst {
  static func finish(sink: Int32, gap: ByteRange) throws(FetchError) -> Int64 {
    let size = Int64(lseek(sink, 0, SEEK_END))
    var at: Int64 = 0
    var header = [UInt8](repeating: 0, count: 16)
    while at < size {
      if at == gap.lowerBound { at = gap.upperBound }
      pread(sink, &header, 16, off_t(at))
      var length = header[0..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
      if length == 1 { length = header[8..<16].reduce(Int64(0)) { $0 << 8 | Int64($1) } }
      if String(decoding: header[4..<8], as: UTF8.self) == "moov" {
        guard length + 8 <= gap.count else {
          throw FetchError(.internal, "gap \(gap.count) too small for \(length)")
        }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        pread(sink, &bytes, bytes.count, off_t(at))
        pwrite(sink, bytes, bytes.count, off_t(gap.lowerBound))
        let rest = gap.count - length
        let free: [UInt8] =
          [
            UInt8(truncatingIfNeeded: rest >> 24), UInt8(truncatingIfNeeded: rest >> 16),
            UInt8(truncatingIfNeeded: rest >> 8), UInt8(truncatingIfNeeded: rest),
          ] + Array("free".utf8)
        pwrite(sink, free, 8, off_t(gap.lowerBound + length))
        ftruncate(sink, off_t(at))
        return at
      }
      at += max(length, 8)
    }
    throw FetchError(.internal, "no moov")
  }
}
