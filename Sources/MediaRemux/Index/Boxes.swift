// ISO 14496-12 boxes in memory: walking them and building them. Pure; trusts no length, and leaves
// the reading of a header to `BoxHeader`.

/// One box inside a run of bytes.
struct Box: Hashable {
  /// The four characters, as text.
  var type: String
  /// The whole box, header included.
  var range: Range<Int>
  /// What follows the header.
  var payload: Range<Int>
}

extension Array where Element == UInt8 {
  /// The boxes that stand one after another in `range`.
  ///
  /// A length that doesn't fit ends the walk, so that nothing outside is ever touched.
  ///
  /// - Parameter limit: so many boxes at most.
  func boxes(in range: Range<Int>, limit: Int = .max) -> [Box] {
    var found: [Box] = []
    var at = range.lowerBound
    while found.count < limit, let header = boxHeader(at: at, end: range.upperBound) {
      let end = Int(header.end)
      found.append(
        Box(type: fourCharacters(at + 4), range: at..<end, payload: Int(header.payload)..<end))
      at = end
    }
    return found
  }

  /// The first box of a path of types below `range`.
  func box(_ path: [String], in range: Range<Int>) -> Box? {
    var range = range
    var found: Box?
    for type in path {
      guard let next = boxes(in: range).first(where: { $0.type == type }) else { return nil }
      found = next
      range = next.payload
    }
    return found
  }

  /// A big-endian number of `count` bytes; 0 where it would reach past the end.
  func integer(_ at: Int, _ count: Int) -> UInt64 {
    guard at >= 0, count > 0, at <= self.count - count else { return 0 }
    return self[at..<(at + count)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Four bytes as Latin-1 text, so that `©` in a type survives.
  func fourCharacters(_ at: Int) -> String {
    guard at >= 0, at <= count - 4 else { return "" }
    // Asked for each box of every index: no array, no views.
    return String(unsafeUninitializedCapacity: 8) { text in
      var length = 0
      for byte in self[at..<(at + 4)] {
        for unit in Unicode.UTF8.encode(Unicode.Scalar(byte)) ?? .init() {
          text[length] = unit
          length += 1
        }
      }
      return length
    }
  }

  /// Appends a big-endian number.
  mutating func append(_ value: some FixedWidthInteger, bytes count: Int) {
    for shift in (0..<count).reversed() {
      append(UInt8(truncatingIfNeeded: value >> (8 * shift)))
    }
  }

  /// Overwrites a big-endian number where there is room for it.
  mutating func set(_ value: some FixedWidthInteger, at: Int, bytes count: Int) {
    guard at >= 0, at <= self.count - count else { return }
    for index in 0..<count {
      self[at + index] = UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - index)))
    }
  }

  /// A box of `type` around `payload`.
  static func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
    var box: [UInt8] = []
    box.reserveCapacity(payload.count + 8)
    box.append(UInt32(truncatingIfNeeded: payload.count + 8), bytes: 4)
    box += type.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    box += payload
    return box
  }
}
