// ADTS (ISO/IEC 14496-3, 1.A.3) and MPEG audio (ISO/IEC 11172-3, 13818-3): frames in the last bytes.
// Neither has an end of its own; a last frame that is cut is found.

import FetchCore

/// A frame header of ADTS or MPEG audio.
struct AudioFrame: Hashable, Sendable {
  /// Bytes from this header to the next.
  var length: Int
  var isADTS: Bool

  /// Reads the header at `position`; nil where there is none.
  init?(_ bytes: [UInt8], at position: Int) {
    guard position >= 0, bytes.count - position >= 4, bytes[position] == 0xFF,
      bytes[position + 1] & 0xE0 == 0xE0
    else { return nil }
    let second = bytes[position + 1]
    let third = bytes[position + 2]
    if second & 0xF6 == 0xF0 {
      guard bytes.count - position >= 6, third >> 2 & 0xF < 13 else { return nil }
      isADTS = true
      length =
        Int(bytes[position + 3] & 3) << 11 | Int(bytes[position + 4]) << 3
        | Int(bytes[position + 5] >> 5)
      if length < 7 { return nil }
      return
    }
    isADTS = false
    let version = Int(second >> 3 & 3)
    let layer = Int(second >> 1 & 3)
    let rateIndex = Int(third >> 4)
    let frequencyIndex = Int(third >> 2 & 3)
    guard version != 1, layer != 0, (1...14).contains(rateIndex), frequencyIndex < 3 else {
      return nil
    }
    let isOne = version == 3
    let table =
      switch (isOne, layer) {
      case (true, 3): Self.rates1Layer1
      case (true, 2): Self.rates1Layer2
      case (true, _): Self.rates1Layer3
      case (false, 3): Self.rates2Layer1
      case (false, _): Self.rates2Layer2
      }
    let rate = table[rateIndex - 1] * 1000
    let frequency = [44100, 48000, 32000][frequencyIndex] >> (isOne ? 0 : version == 2 ? 1 : 2)
    let padding = Int(third >> 1 & 1)
    switch layer {
    case 3: length = (12 * rate / frequency + padding) * 4
    case 1 where !isOne: length = 72 * rate / frequency + padding
    default: length = 144 * rate / frequency + padding
    }
    if length < 8 { return nil }
  }

  private static let rates1Layer1 = [
    32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
  ]
  private static let rates1Layer2 = [
    32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
  ]
  private static let rates1Layer3 = [
    32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
  ]
  private static let rates2Layer1 = [
    32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
  ]
  private static let rates2Layer2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
}

/// Examines ADTS and MP3 files.
enum AudioFrameStructure {
  private static let tailSize = 128 * 1024

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let first = try startOfFrames(reader)
    guard first < size else { return .cut("the ID3 tag", needs: first, has: size) }
    // A tag longer than the head hides what follows it from whoever named the source.
    if try reader.read(at: first, count: 4) == FLACStructure.signature {
      return try FLACStructure.examine(reader, start: first, size: size)
    }
    let end = try endOfFrames(reader, size: size)
    let start = max(min(first, end), end - Int64(tailSize))
    let tail = try reader.read(at: start, count: Int(end - start))
    return judge(tail, startsWithFrame: start == first)
  }

  /// Where the frames begin: behind ID3v2 tags (id3v2.4.0-structure, 3.1).
  static func startOfFrames(_ reader: SourceReader) throws(FetchError) -> Int64 {
    var start: Int64 = 0
    for _ in 0..<4 {
      let head = try reader.read(at: start, count: 10)
      guard head.count == 10, head.has(Array("ID3".utf8), at: 0) else { break }
      // Four times seven bits; a footer repeats the header.
      let length = head[6..<10].reduce(Int64(0)) { $0 << 7 | Int64($1 & 0x7F) }
      start += 10 + length + (head[5] & 0x10 != 0 ? 10 : 0)
    }
    return start
  }

  /// Where the frames end and tags (ID3v1, APEv2) begin.
  static func endOfFrames(_ reader: SourceReader, size: Int64) throws(FetchError) -> Int64 {
    var end = size
    for _ in 0..<4 {
      if end >= 128, try reader.read(at: end - 128, count: 3) == Array("TAG".utf8) {
        end -= 128
        continue
      }
      let window = SourceWindow(reader, limit: size, blockSize: 64)
      if end >= 32, try window.bytes(at: end - 32, count: 8) == Array("APETAGEX".utf8),
        let length = try window.little(at: end - 20, width: 4),
        let flags = try window.little(at: end - 12, width: 4)
      {
        // The size covers items and footer; a header of 32 bytes is there if bit 31 says so.
        let tag = Int64(length) + (flags >> 31 == 1 ? 32 : 0)
        guard tag >= 32, tag <= end else { return end }
        end -= tag
        continue
      }
      return end
    }
    return end
  }

  /// Judges the last bytes of the frames; `startsWithFrame` where they are all of them.
  static func judge(_ bytes: [UInt8], startsWithFrame: Bool) -> StructureVerdict {
    var position = 0
    /// Whether the frames in step are ADTS; nil while none are.
    var kind: Bool?
    while position < bytes.count {
      guard let frame = AudioFrame(bytes, at: position), kind == nil || kind == frame.isADTS else {
        if let kind, let verdict = cutHeader(bytes, at: position, isADTS: kind) { return verdict }
        kind = nil
        position += 1
        while position < bytes.count, bytes[position] != 0xFF { position += 1 }
        continue
      }
      let next = position + frame.length
      if position == 0, startsWithFrame, next >= bytes.count {
        kind = frame.isADTS
      } else if kind == nil {
        // Bytes that look like a header are met anywhere: two more in step make it one.
        guard let second = AudioFrame(bytes, at: next), second.isADTS == frame.isADTS,
          next + second.length + 6 > bytes.count
            || AudioFrame(bytes, at: next + second.length)?.isADTS == frame.isADTS
        else {
          position += 1
          continue
        }
        kind = frame.isADTS
      }
      if next > bytes.count {
        return .cut(
          "the last frame", needs: Int64(frame.length), has: Int64(bytes.count - position))
      }
      position = next
    }
    return .noEndOfItsOwn
  }

  /// Fewer bytes than a header, right behind a whole frame, that begin like one.
  private static func cutHeader(
    _ bytes: [UInt8], at position: Int, isADTS: Bool
  ) -> StructureVerdict? {
    let left = bytes.count - position
    let needed = isADTS ? 7 : 4
    guard left < needed, bytes[position] == 0xFF else { return nil }
    return .cut("the last frame", needs: Int64(needed), has: Int64(left))
  }
}
