// FLAC (RFC 9639): the stream's head declares how many samples there are, and the last frame's header
// says which ones it holds. Only the metadata's headers and the last bytes are read.

import FetchCore

/// A frame header of FLAC (RFC 9639, 9.1), its CRC-8 checked.
struct FLACFrame: Hashable, Sendable {
  /// Samples of each channel in this frame.
  var samples: UInt64
  /// The first sample's number, or the frame's where all frames are equally long.
  var number: UInt64
  var countsSamples: Bool

  /// Reads the header at `position`; nil where there is none.
  init?(_ bytes: [UInt8], at position: Int) {
    guard position >= 0, bytes.count - position >= 6, bytes[position] == 0xFF,
      bytes[position + 1] & 0xFE == 0xF8
    else { return nil }
    let sizeCode = bytes[position + 2] >> 4
    let rateCode = bytes[position + 2] & 0xF
    guard sizeCode != 0, rateCode != 0xF, bytes[position + 3] >> 4 < 11,
      bytes[position + 3] & 1 == 0
    else { return nil }
    countsSamples = bytes[position + 1] & 1 == 1
    // The number is coded as UTF-8 codes characters, up to 36 bits.
    let first = bytes[position + 4]
    let ones = (~first).leadingZeroBitCount
    guard ones != 1, ones < 8 else { return nil }
    let more = max(0, ones - 1)
    var next = position + 5 + more
    guard bytes.count >= next + 5 else { return nil }
    var value = UInt64(ones == 0 ? first : ones == 7 ? 0 : first & (0x7F >> UInt8(ones)))
    for byte in bytes[position + 5..<next] {
      guard byte & 0xC0 == 0x80 else { return nil }
      value = value << 6 | UInt64(byte & 0x3F)
    }
    number = value
    switch sizeCode {
    case 1: samples = 192
    case 2...5: samples = 576 << UInt64(sizeCode - 2)
    case 6:
      samples = UInt64(bytes[next]) + 1
      next += 1
    case 7:
      samples = (UInt64(bytes[next]) << 8 | UInt64(bytes[next + 1])) + 1
      next += 2
    default: samples = 256 << UInt64(sizeCode - 8)
    }
    next += rateCode == 12 ? 1 : rateCode >= 13 ? 2 : 0
    guard next < bytes.count, Self.crc8(bytes[position..<next]) == bytes[next] else { return nil }
  }

  /// x⁸ + x² + x + 1, from 0.
  static func crc8(_ bytes: ArraySlice<UInt8>) -> UInt8 {
    var crc: UInt8 = 0
    for byte in bytes {
      crc ^= byte
      for _ in 0..<8 { crc = crc & 0x80 != 0 ? crc << 1 ^ 0x07 : crc << 1 }
    }
    return crc
  }

  /// x¹⁶ + x¹⁵ + x² + 1, from 0: 0 over a whole frame, which ends with its own.
  static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    var crc: UInt16 = 0
    for byte in bytes { crc = crc << 8 ^ table[Int(crc >> 8) ^ Int(byte)] }
    return crc
  }

  private static let table: [UInt16] = (0..<256).map { index in
    var crc = UInt16(index) << 8
    for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x8005 : crc << 1 }
    return crc
  }
}

/// Examines FLAC files.
enum FLACStructure {
  static let signature = Array("fLaC".utf8)

  /// No frame is longer: 65535 samples of 8 channels in 32 bits, and its head.
  private static let longestFrame = 65535 * 8 * 4 + 64
  private static let tailSize = 64 * 1024
  /// How many headers from the end are tried: bytes inside a frame may look like one.
  private static let candidates = 16

  /// Examines a stream that begins at `start`, behind any ID3v2 tags.
  static func examine(
    _ reader: SourceReader, start: Int64, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let window = SourceWindow(reader, limit: size)
    // STREAMINFO is the first block and always 34 bytes long.
    let info = start + 8
    guard try window.bytes(at: start, count: 4) == signature,
      let smallest = try window.big(at: info, width: 2),
      let largest = try window.big(at: info + 2, width: 2),
      let longest = try window.big(at: info + 7, width: 3),
      let total = try window.big(at: info + 13, width: 5).map({ $0 & 0xF_FFFF_FFFF })
    else { return .cut("the header", needs: 42, has: max(0, size - start)) }

    var position = start + 4
    while true {
      guard let head = try window.big(at: position, width: 4) else {
        return .incomplete("cut: the metadata is not all there")
      }
      position += 4 + Int64(head & 0xFF_FFFF)
      if position > size { return .cut("the metadata", needs: position, has: size) }
      if head >> 31 == 1 { break }
    }

    let end = try AudioFrameStructure.endOfFrames(reader, size: size)
    guard end > position else {
      return total == 0
        ? .incomplete("cut: no frame follows the metadata")
        : .incomplete("cut: 0 of \(total) samples are there")
    }
    guard let last = try lastFrame(reader, from: position, to: end, longest: Int(longest)) else {
      return .incomplete("cut: the last frame is not whole")
    }
    let unit = smallest == largest ? smallest : largest
    let first = last.countsSamples ? last.number : last.number * unit
    let reached = first + last.samples
    if total == 0 || reached > total { return .noEndOfItsOwn }
    if reached == total { return .proven }
    return .incomplete("cut: \(reached) of \(total) samples are there")
  }

  /// The frame that ends where the frames end; nil where none does.
  private static func lastFrame(
    _ reader: SourceReader, from start: Int64, to end: Int64, longest: Int
  ) throws(FetchError) -> FLACFrame? {
    // The head says how long the longest frame is; where it doesn't, a long one is tried in the end.
    let lengths = longest > 0 ? [tailSize + 2 * longest] : [tailSize, longestFrame]
    for length in lengths {
      let tailStart = max(start, end - Int64(length))
      let bytes = try reader.read(at: tailStart, count: Int(end - tailStart))
      if let frame = lastFrame(bytes) { return frame }
      if tailStart == start { break }
    }
    return nil
  }

  private static func lastFrame(_ bytes: [UInt8]) -> FLACFrame? {
    // Zeros behind the frames are padding; a frame's own CRC may end with one or two.
    let padding = bytes.reversed().prefix { $0 == 0 }.count
    let ends = Set([0, max(0, padding - 2), max(0, padding - 1), padding]).map { bytes.count - $0 }
    var tried = 0
    var position = bytes.count - 2
    while position >= 0, tried < candidates {
      if bytes[position] == 0xFF, let frame = FLACFrame(bytes, at: position) {
        for end in ends where end > position && FLACFrame.crc16(bytes[position..<end]) == 0 {
          return frame
        }
        tried += 1
      }
      position -= 1
    }
    return nil
  }
}
