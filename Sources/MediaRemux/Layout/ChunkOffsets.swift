// Rewriting a `moov` box for media that has moved: every chunk offset of every track gets the same
// distance added or taken off, and a table that would not hold its offsets in 32 bits any more becomes one of 64.
// Pure; its bytes come from a muxer of ours, but nothing here traps on others.

import FetchCore

/// The chunk offset tables inside a `moov` box that is in memory.
struct ChunkOffsets {
  /// A table's place in the box.
  struct Table: Hashable {
    /// The boxes around it and itself, outermost (`moov`) first: where their headers stand.
    var path: [Int]
    /// Where its first offset stands.
    var start: Int
    var count: Int
    /// 4 (`stco`) or 8 (`co64`).
    var width: Int
    var largest: UInt64
  }

  let moov: [UInt8]
  private(set) var tables: [Table] = []

  /// Finds the tables; throws where the boxes contradict each other.
  init(moov: [UInt8]) throws(FetchError) {
    self.moov = moov
    guard let root = header(at: 0, end: moov.count), root.end == moov.count else {
      throw Self.contradiction("moov")
    }
    try find(in: root, path: [])
  }

  /// The bytes that the box takes once its offsets have grown by `delta`.
  func size(delta: Int64) -> Int { moov.count + promoted(delta).reduce(0) { $0 + $1.count * 4 } }

  /// The box with `delta` added to every offset.
  func rewritten(delta: Int64) throws(FetchError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size(delta: delta))
    var growth: [Int: Int] = [:]
    let promoted = Set(promoted(delta))
    var copied = 0
    for table in tables {
      let isPromoted = promoted.contains(table)
      bytes += moov[copied..<table.start]
      copied = table.start + table.count * table.width
      let newWidth = isPromoted ? 8 : table.width
      for index in 0..<table.count {
        let old = number(at: table.start + index * table.width, width: table.width)
        guard let new = Self.moved(old, by: delta), newWidth == 8 || new <= UInt64(UInt32.max)
        else {
          throw Self.contradiction(newWidth == 8 ? "co64" : "stco")
        }
        for shift in (0..<newWidth).reversed() {
          bytes.append(UInt8(truncatingIfNeeded: new >> UInt64(shift * 8)))
        }
      }
      if isPromoted { for box in table.path { growth[box, default: 0] += table.count * 4 } }
    }
    bytes += moov[copied...]
    try grow(&bytes, growth, promoted)
    return bytes
  }

  /// Writes the new sizes of the boxes that hold a promoted table, and the new type of these.
  private func grow(
    _ bytes: inout [UInt8], _ growth: [Int: Int], _ promoted: Set<Table>
  ) throws(FetchError) {
    for (box, extra) in growth {
      // Tables promoted before this header have moved it.
      let shift = promoted.filter { $0.start <= box }.reduce(0) { $0 + $1.count * 4 }
      let position = box + shift
      let isLong = number(at: box, width: 4) == 1
      let old = number(at: isLong ? box + 8 : box, width: isLong ? 8 : 4)
      // A size of 0, "to the end", stays true.
      if old > 0 {
        let new = old.clampedSum(UInt64(extra))
        guard isLong || new <= UInt64(UInt32.max) else { throw Self.contradiction("moov") }
        bytes.set(new, at: position + (isLong ? 8 : 0), bytes: isLong ? 8 : 4)
      }
      if promoted.contains(where: { $0.path.last == box }) {
        bytes.replaceSubrange((position + 4)..<(position + 8), with: "co64".utf8)
      }
    }
  }

  private func promoted(_ delta: Int64) -> [Table] {
    guard delta > 0 else { return [] }
    return tables.filter { table in
      table.width == 4 && table.largest.clampedSum(delta.magnitude) > UInt64(UInt32.max)
    }
  }

  // MARK: Finding the tables

  private struct Header {
    var type: BoxType
    var offset: Int
    var payload: Int
    var end: Int
  }

  private mutating func find(in parent: Header, path: [Int]) throws(FetchError) {
    let path = path + [parent.offset]
    var position = parent.payload
    while position < parent.end {
      guard let box = header(at: position, end: parent.end) else {
        // QuickTime may end a list of boxes with four zero bytes.
        if parent.end - position < 8 { return }
        throw Self.contradiction(parent.type.text)
      }
      switch box.type {
      case "trak", "mdia", "minf", "stbl":
        // The path is the nesting: each of these stands in the one before, so depth is bounded.
        if path.count < 8 { try find(in: box, path: path) }
      case "stco", "co64":
        try take(box, path: path + [box.offset])
      default:
        break
      }
      position = box.end
    }
  }

  private mutating func take(_ box: Header, path: [Int]) throws(FetchError) {
    let width = box.type == "co64" ? 8 : 4
    guard box.end - box.payload >= 8 else { throw Self.contradiction(box.type.text) }
    let count = Int(number(at: box.payload + 4, width: 4))
    let start = box.payload + 8
    guard count <= (box.end - start) / width else { throw Self.contradiction(box.type.text) }
    var largest: UInt64 = 0
    for index in 0..<count {
      largest = max(largest, number(at: start + index * width, width: width))
    }
    tables.append(
      Table(path: path, start: start, count: count, width: width, largest: largest))
  }

  private func header(at offset: Int, end: Int) -> Header? {
    guard let box = moov.boxHeader(at: offset, end: end) else { return nil }
    return Header(
      type: box.type, offset: offset, payload: Int(box.payload), end: Int(box.end))
  }

  /// Only for places that `header` found to be there.
  private func number(at offset: Int, width: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in offset..<offset + width { value = value << 8 | UInt64(moov[index]) }
    return value
  }

  /// An offset moved by `delta`; nil where it would leave the file.
  private static func moved(_ offset: UInt64, by delta: Int64) -> UInt64? {
    let (sum, overflow) =
      delta < 0
      ? offset.subtractingReportingOverflow(delta.magnitude)
      : offset.addingReportingOverflow(delta.magnitude)
    return overflow ? nil : sum
  }

  private static func contradiction(_ box: String) -> FetchError {
    FetchError(.internal, "box \(box) of the new file contradicts itself")
  }
}

extension UInt64 {
  /// The sum, or the largest number where it would overflow.
  fileprivate func clampedSum(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
