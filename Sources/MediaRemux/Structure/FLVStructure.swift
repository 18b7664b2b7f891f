// Flash video (Adobe Flash Video File Format 10.1, annex E): the chain of tags, followed backwards
// from the end through the sizes that stand behind each tag; forwards only where that fails.

import FetchCore

/// Examines FLV files.
struct FLVStructure {
  private let window: SourceWindow
  private let size: Int64
  /// Where the size of the tag before the first (always 0) stands.
  private let bodyStart: Int64

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let window = SourceWindow(reader, limit: size, blockSize: 256 * 1024)
    guard size >= 13, let declared = try window.big(at: 5, width: 4) else {
      return .cut("the header", needs: 13, has: size)
    }
    let structure = FLVStructure(
      window: window, size: size, bodyStart: max(9, Int64(declared)))
    return try structure.verdict()
  }

  private func verdict() throws(FetchError) -> StructureVerdict {
    guard bodyStart + 4 < size else {
      return .incomplete("cut: the header is there, no tag follows")
    }
    let declared = try declaredFileSize()
    if let declared, declared > size { return .cut("the file", needs: declared, has: size) }
    if try !chainEnds(at: size), let damage = try walkForwards() { return damage }
    return declared == size ? .proven : .noEndOfItsOwn
  }

  /// A tag's end (before the size behind it); nil where there is no tag at `offset`.
  private func tagEnd(at offset: Int64) throws(FetchError) -> Int64? {
    guard let type = try window.byte(at: offset), [8, 9, 18].contains(type & 0x1F), type < 0x40,
      let length = try window.big(at: offset + 1, width: 3),
      try window.big(at: offset + 8, width: 3) != nil
    else { return nil }
    return offset + 11 + Int64(length)
  }

  /// Whether the last tags, followed backwards, are whole and end at `end`.
  private func chainEnds(at end: Int64) throws(FetchError) -> Bool {
    let backwards = SourceWindow(window.reader, limit: size, blockSize: 64)
    var position = end
    for _ in 0..<16 {
      guard let behind = try backwards.big(at: position - 4, width: 4) else { return false }
      let start = position - 4 - Int64(behind)
      guard behind >= 11, start >= bodyStart + 4,
        let type = try backwards.byte(at: start), [8, 9, 18].contains(type & 0x1F), type < 0x40,
        let length = try backwards.big(at: start + 1, width: 3), length + 11 == behind
      else { return false }
      position = start
      if position == bodyStart + 4 { return true }
    }
    return true
  }

  /// Follows the tags from the first; nil where the last one is whole.
  private func walkForwards() throws(FetchError) -> StructureVerdict? {
    var position = bodyStart + 4
    while position < size {
      guard let end = try tagEnd(at: position) else {
        if try window.isZero(from: position) { return nil }
        if size - position < 11 {
          return .cut("the tag at byte \(position)", needs: 11, has: size - position)
        }
        return .incomplete("damaged: no FLV tag at byte \(position)")
      }
      // Some writers leave out the size behind the last tag.
      if end == size { return nil }
      if end + 4 > size {
        return .cut(
          "the tag at byte \(position)", needs: end + 4 - position, has: size - position)
      }
      position = end + 4
    }
    return nil
  }

  /// `filesize` of onMetaData: an AMF0 number behind its name.
  private func declaredFileSize() throws(FetchError) -> Int64? {
    let first = bodyStart + 4
    guard try window.byte(at: first) == 18, let end = try tagEnd(at: first), end <= size else {
      return nil
    }
    let count = Int(min(end - first, 64 * 1024))
    guard let bytes = try window.bytes(at: first, count: count) else { return nil }
    let key: [UInt8] = [0, 8] + Array("filesize".utf8) + [0]
    guard let found = bytes.firstRange(of: key), found.upperBound + 8 <= bytes.count else {
      return nil
    }
    let bits = bytes[found.upperBound..<found.upperBound + 8].reduce(UInt64(0)) {
      $0 << 8 | UInt64($1)
    }
    let value = Double(bitPattern: bits)
    guard value.isFinite, value >= 1, value < 9e15 else { return nil }
    return Int64(value)
  }
}

extension [UInt8] {
  /// Where `pattern` stands first.
  func firstRange(of pattern: [UInt8]) -> Range<Int>? {
    guard let head = pattern.first, pattern.count <= count else { return nil }
    var index = 0
    while index <= count - pattern.count {
      if self[index] == head, self[index..<index + pattern.count].elementsEqual(pattern) {
        return index..<index + pattern.count
      }
      index += 1
    }
    return nil
  }
}
