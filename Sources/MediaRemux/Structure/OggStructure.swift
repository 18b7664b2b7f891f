// Ogg (RFC 3533): pages at the head and in the last MiB. Every logical stream should end with a page
// that says so; many files lack it, and then only the last page's wholeness can be checked.

import FetchCore

/// Examines Ogg files.
enum OggStructure {
  private static let edge = 1024 * 1024

  /// A page's place and what its header says.
  private struct Page {
    var start: Int
    /// One past its last byte; past the end of the bytes where it is cut.
    var end: Int
    var flags: UInt8
    var serial: UInt32

    var begins: Bool { flags & 0x02 != 0 }
    var ends: Bool { flags & 0x04 != 0 }
  }

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let tailStart = max(0, size - Int64(edge))
    let tail = try reader.read(at: tailStart, count: Int(size - tailStart))
    guard Int64(tail.count) == size - tailStart else {
      return .cut("the stream", needs: size, has: tailStart + Int64(tail.count))
    }
    let head = tailStart == 0 ? [] : try reader.read(at: 0, count: edge)
    return judge(head: head, tail: tail)
  }

  /// Judges the first bytes (none where the tail is the whole file) and the last.
  static func judge(head: [UInt8], tail: [UInt8]) -> StructureVerdict {
    var begun: Set<UInt32> = []
    var ended: Set<UInt32> = []
    var seen: Set<UInt32> = []
    var position = 0
    while let page = nextPage(head, from: position) {
      if page.end > head.count { break }
      if page.begins { begun.insert(page.serial) }
      if page.ends { ended.insert(page.serial) }
      position = page.end
    }
    position = 0
    var lastEnd = 0
    var last: Page?
    while let page = nextPage(tail, from: position) {
      last = page
      if page.end > tail.count { break }
      if page.begins { begun.insert(page.serial) }
      if page.ends { ended.insert(page.serial) }
      seen.insert(page.serial)
      lastEnd = page.end
      position = page.end
    }
    guard let last else { return .incomplete("damaged: no page in the last MiB of the stream") }
    if last.end > tail.count {
      return .cut(
        "the last page", needs: Int64(last.end - last.start), has: Int64(tail.count - last.start))
    }
    if tail[lastEnd...].contains(where: { $0 != 0 }) {
      return .incomplete("damaged: \(tail.count - lastEnd) bytes after the last page are no page")
    }
    guard hasRightChecksum(tail, last) else {
      return .incomplete("damaged: the last page's checksum is wrong")
    }
    let isEnded = seen.isSubset(of: ended) && begun.isSubset(of: ended)
    return isEnded ? .proven : .noEndOfItsOwn
  }

  /// The first page at or after `start`, whole or cut.
  private static func nextPage(_ bytes: [UInt8], from start: Int) -> Page? {
    var position = start
    while position < bytes.count {
      guard bytes[position] == 0x4F else {
        position += 1
        continue
      }
      let left = bytes.count - position
      let capture: [UInt8] = [0x4F, 0x67, 0x67, 0x53, 0]
      guard zip(bytes[position...], capture).allSatisfy({ $0 == $1 }) else {
        position += 1
        continue
      }
      // Fewer bytes than a header: a page that begins right where the last one ended and is cut.
      guard left >= 27 else {
        return position == start || left >= 4
          ? Page(start: position, end: position + 28, flags: 0, serial: 0) : nil
      }
      let segments = Int(bytes[position + 26])
      var serial: UInt32 = 0
      for index in (14..<18).reversed() { serial = serial << 8 | UInt32(bytes[position + index]) }
      let table = bytes[(position + 27)..<min(bytes.count, position + 27 + segments)]
      let length = 27 + segments + table.reduce(0) { $0 + Int($1) }
      return Page(
        start: position, end: position + length, flags: bytes[position + 5], serial: serial)
    }
    return nil
  }

  /// CRC-32 with the polynomial 0x04C11DB7, neither reflected nor inverted (RFC 3533, 6).
  private static func hasRightChecksum(_ bytes: [UInt8], _ page: Page) -> Bool {
    var expected: UInt32 = 0
    for index in (22..<26).reversed() {
      expected = expected << 8 | UInt32(bytes[page.start + index])
    }
    var crc: UInt32 = 0
    for index in page.start..<page.end {
      let isField = (22..<26).contains(index - page.start)
      crc ^= UInt32(isField ? 0 : bytes[index]) << 24
      for _ in 0..<8 { crc = crc & 0x8000_0000 != 0 ? crc << 1 ^ 0x04C1_1DB7 : crc << 1 }
    }
    return crc == expected
  }
}
