// A packet's payload without the framing that depends on the container, so that what came from the
// source can be compared with what is read back from the output. Pure; trusts no length.

import FetchCore

/// How a stream's payload is framed.
enum PayloadForm: Hashable {
  /// The payload is the same in every container.
  case plain
  /// NAL units behind start codes (ITU-T H.264 Annex B, H.265 Annex B).
  case startCodes
  /// NAL units behind lengths of so many bytes (ISO 14496-15).
  case lengths(Int)
  /// AAC frames behind ADTS headers (ISO 14496-3 1.A.2).
  case adts
  /// AV1 open bitstream units; the muxer leaves out those that ISO files don't have (AV1 in
  /// ISOBMFF 2.4).
  case units

  /// Gives the pieces of `payload` that are the same in every container, in order.
  ///
  /// Each NAL unit is preceded by its length in four bytes, so that its borders count too.
  func pieces(of payload: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void) {
    switch self {
    case .plain: take(payload)
    case .startCodes: Self.unitsBehindStartCodes(payload) { Self.give($0, take) }
    case .lengths(let size): Self.unitsBehindLengths(payload, size) { Self.give($0, take) }
    case .adts: take(Self.withoutHeader(payload))
    case .units: Self.carriedUnits(payload, take)
    }
  }

  private static func give(
    _ unit: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void
  ) {
    // Zero bytes behind a unit belong to the byte stream (H.264 B.1), whoever kept them.
    var count = unit.count
    while count > 0, unit[count - 1] == 0 { count -= 1 }
    guard count > 0 else { return }
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: count).bigEndian, take)
    take(UnsafeRawBufferPointer(rebasing: unit[..<count]))
  }

  private static func unitsBehindStartCodes(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void
  ) {
    var begin: Int?
    var at = 0
    while at + 2 < bytes.count {
      // A start code's third byte is 1: looking at every third byte is enough to skip most.
      if bytes[at + 2] > 1 {
        at += 3
      } else if bytes[at] == 0, bytes[at + 1] == 0, bytes[at + 2] == 1 {
        if let begin { take(UnsafeRawBufferPointer(rebasing: bytes[begin..<at])) }
        at += 3
        begin = at
      } else {
        at += 1
      }
    }
    // Without a start code it is no byte stream, and nothing is known of its units.
    take(UnsafeRawBufferPointer(rebasing: bytes[(begin ?? 0)...]))
  }

  private static func unitsBehindLengths(
    _ bytes: UnsafeRawBufferPointer, _ size: Int, _ take: (UnsafeRawBufferPointer) -> Void
  ) {
    var at = 0
    while size > 0, at < bytes.count {
      var length = 0
      for index in at..<min(at + size, bytes.count) { length = length << 8 | Int(bytes[index]) }
      at += size
      guard length <= bytes.count - at else {
        // A length that reaches outside: the rest counts as it stands.
        if at < bytes.count { take(UnsafeRawBufferPointer(rebasing: bytes[at...])) }
        return
      }
      take(UnsafeRawBufferPointer(rebasing: bytes[at..<(at + length)]))
      at += length
    }
  }

  private static func withoutHeader(_ frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard frame.count >= 7, frame[0] == 0xFF, frame[1] & 0xF6 == 0xF0 else { return frame }
    let isUnprotected = frame[1] & 1 == 1
    let header = isUnprotected ? 7 : 9
    guard frame.count >= header else { return frame }
    return UnsafeRawBufferPointer(rebasing: frame[header...])
  }

  /// Temporal delimiters, redundant frame headers, tile lists and padding (AV1 6.2.2).
  private static let uncarriedUnits: Set<UInt8> = [2, 7, 8, 15]

  private static func carriedUnits(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void
  ) {
    var at = 0
    while at < bytes.count {
      let header = bytes[at]
      var next = at + (header & 4 != 0 ? 2 : 1)
      var length = bytes.count - next
      if header & 2 != 0 {
        // leb128, at most eight bytes (AV1 4.10.5).
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while next < bytes.count, shift < 56 {
          let byte = bytes[next]
          value |= UInt64(byte & 0x7F) << shift
          next += 1
          shift += 7
          if byte & 0x80 == 0 { break }
        }
        length = Int(clamping: value)
      }
      guard next <= bytes.count, length >= 0, length <= bytes.count - next else {
        take(UnsafeRawBufferPointer(rebasing: bytes[at...]))
        return
      }
      let end = next + length
      if !uncarriedUnits.contains(header >> 3 & 0xF) {
        take(UnsafeRawBufferPointer(rebasing: bytes[at..<end]))
      }
      at = end
    }
  }
}
