// MPEG-1 system streams (ISO/IEC 11172-1) and MPEG-2 program streams (ISO/IEC 13818-1, 2.5): packs
// and PES packets in the last MiB. Only the program end code is an end of its own, and many writers
// leave it out.

import FetchCore

/// Examines program streams.
enum ProgramStreamStructure {
  private static let tailSize = 1024 * 1024

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let start = max(0, size - Int64(tailSize))
    let tail = try reader.read(at: start, count: Int(size - start))
    guard Int64(tail.count) == size - start else {
      return .cut("the stream", needs: size, has: start + Int64(tail.count))
    }
    return judge(tail)
  }

  /// What begins at a position.
  private enum Unit {
    case whole(length: Int)
    case endCode
    /// More bytes are needed than there are.
    case cut(length: Int)
    case none
  }

  /// Judges the last bytes of a stream.
  static func judge(_ bytes: [UInt8]) -> StructureVerdict {
    guard var position = firstPack(bytes, from: 0) else {
      return .incomplete("damaged: no pack of a program stream in its last MiB")
    }
    var isEnded = false
    while position < bytes.count {
      switch unit(bytes, at: position) {
      case .endCode:
        isEnded = true
        position += 4
      case .whole(let length):
        isEnded = false
        position += length
      case .cut(let length):
        if isEnded, !bytes[position...].contains(where: { $0 != 0 }) { return .proven }
        return .cut(
          "the last packet", needs: Int64(length), has: Int64(bytes.count - position))
      case .none:
        if !bytes[position...].contains(where: { $0 != 0 }) {
          return isEnded ? .proven : .noEndOfItsOwn
        }
        guard let next = firstPack(bytes, from: position) else {
          // Behind an end code anything may have been appended.
          if isEnded { return .noEndOfItsOwn }
          return .incomplete("damaged: what follows the last packet is no packet")
        }
        isEnded = false
        position = next
      }
    }
    return isEnded ? .proven : .noEndOfItsOwn
  }

  private static func unit(_ bytes: [UInt8], at position: Int) -> Unit {
    let left = bytes.count - position
    let head = Array(bytes[position..<position + min(left, 14)])
    guard zip(head, [0, 0, 1]).allSatisfy({ $0 == $1 }) else { return .none }
    // Up to three bytes of a start code: padding ends where a sector does, not behind a zero or two.
    guard left >= 4 else { return .cut(length: 4) }
    let id = head[3]
    if id == 0xB9 { return .endCode }
    if id == 0xBA {
      guard left >= 5 else { return .cut(length: 12) }
      if head[4] & 0xF0 == 0x20 { return left >= 12 ? .whole(length: 12) : .cut(length: 12) }
      guard head[4] & 0xC0 == 0x40 else { return .none }
      guard left >= 14 else { return .cut(length: 14) }
      let length = 14 + Int(head[13] & 7)
      return left >= length ? .whole(length: length) : .cut(length: length)
    }
    guard id >= 0xBB else { return .none }
    guard left >= 6 else { return .cut(length: 6) }
    let length = 6 + Int(head[4]) << 8 + Int(head[5])
    // A length of 0 is not allowed in a program stream; the next pack is looked for instead.
    guard length > 6 else { return .none }
    return left >= length ? .whole(length: length) : .cut(length: length)
  }

  /// The first pack header at or after `start` that something sensible follows.
  private static func firstPack(_ bytes: [UInt8], from start: Int) -> Int? {
    var position = start
    while position + 4 <= bytes.count {
      if bytes[position] == 0, bytes[position + 1] == 0, bytes[position + 2] == 1,
        bytes[position + 3] == 0xBA, case .whole(let length) = unit(bytes, at: position)
      {
        let next = position + length
        if next >= bytes.count { return position }
        if case .none = unit(bytes, at: next) {} else { return position }
      }
      position += 1
    }
    return nil
  }
}
