// A run of bytes of a resource, and the set of runs that are present. Pure arithmetic: nothing here
// knows of files or of HTTP. Offsets are 64-bit and never negative.

/// A half-open run of bytes, `lowerBound ..< upperBound`, that holds at least one byte.
package struct ByteRange: Hashable, Sendable, Codable, CustomStringConvertible {
  package let lowerBound: Int64
  package let upperBound: Int64

  /// Makes the range `lowerBound ..< upperBound`; nil where it would be empty, reversed or negative.
  package init?(_ lowerBound: Int64, _ upperBound: Int64) {
    guard lowerBound >= 0, upperBound > lowerBound else { return nil }
    self.lowerBound = lowerBound
    self.upperBound = upperBound
  }

  /// Makes the range that begins at `offset` and holds `count` bytes.
  package init?(offset: Int64, count: Int64) {
    guard count > 0, offset >= 0, offset <= Int64.max - count else { return nil }
    self.init(offset, offset + count)
  }

  package var count: Int64 { upperBound - lowerBound }

  package func contains(_ offset: Int64) -> Bool { offset >= lowerBound && offset < upperBound }

  package func intersection(_ other: ByteRange) -> ByteRange? {
    ByteRange(max(lowerBound, other.lowerBound), min(upperBound, other.upperBound))
  }

  /// The shortest range that holds both, and what is between them.
  package func span(with other: ByteRange) -> ByteRange {
    // Not empty, as neither of them is.
    ByteRange(min(lowerBound, other.lowerBound), max(upperBound, other.upperBound)) ?? self
  }

  /// The range cut into runs of `size` bytes, of which the last may be shorter.
  package func pieces(of size: Int64) -> [ByteRange] {
    var pieces: [ByteRange] = []
    var next = lowerBound
    while let piece = ByteRange(next, upperBound - next > size ? next + size : upperBound) {
      pieces.append(piece)
      next = piece.upperBound
    }
    return pieces
  }

  package var description: String { "\(lowerBound)..<\(upperBound)" }
}

/// A sorted set of byte ranges, merged where they touch.
package struct ByteRangeSet: Hashable, Sendable, Codable {
  /// Disjoint, ascending, with at least one byte between neighbours.
  package private(set) var ranges: [ByteRange] = []

  package init() {}

  package init(_ ranges: some Sequence<ByteRange>) {
    for range in ranges { insert(range) }
  }

  package var isEmpty: Bool { ranges.isEmpty }

  /// The number of bytes in the set.
  package var byteCount: Int64 { ranges.reduce(0) { $0 + $1.count } }

  /// The end of the last range, 0 where the set is empty.
  package var upperBound: Int64 { ranges.last?.upperBound ?? 0 }

  /// Adds a range; what is already there stays counted once.
  package mutating func insert(_ range: ByteRange) {
    // Appending to the last range is what a download does nearly always.
    if let last = ranges.last, range.lowerBound >= last.lowerBound {
      if range.lowerBound <= last.upperBound {
        if range.upperBound > last.upperBound,
          let grown = ByteRange(last.lowerBound, range.upperBound)
        {
          ranges[ranges.count - 1] = grown
        }
        return
      }
      ranges.append(range)
      return
    }
    var lower = range.lowerBound
    var upper = range.upperBound
    let first = firstIndex { $0.upperBound >= range.lowerBound }
    var end = first
    while end < ranges.count, ranges[end].lowerBound <= upper {
      lower = min(lower, ranges[end].lowerBound)
      upper = max(upper, ranges[end].upperBound)
      end += 1
    }
    guard let merged = ByteRange(lower, upper) else { return }
    ranges.replaceSubrange(first..<end, with: CollectionOfOne(merged))
  }

  /// Takes a range out; a range that it cuts through is split.
  package mutating func remove(_ range: ByteRange) {
    var kept: [ByteRange] = []
    kept.reserveCapacity(ranges.count + 1)
    for each in ranges {
      if let left = ByteRange(each.lowerBound, min(each.upperBound, range.lowerBound)) {
        kept.append(left)
      }
      if let right = ByteRange(max(each.lowerBound, range.upperBound), each.upperBound) {
        kept.append(right)
      }
    }
    ranges = kept
  }

  package func contains(_ range: ByteRange) -> Bool {
    guard let holder = holder(of: range.lowerBound) else { return false }
    return holder.upperBound >= range.upperBound
  }

  /// How many bytes are present without a gap from `offset` on.
  package func run(from offset: Int64) -> Int64 {
    guard let holder = holder(of: offset) else { return 0 }
    return holder.upperBound - offset
  }

  /// The first byte that is missing at or after `offset`.
  package func firstMissing(from offset: Int64 = 0) -> Int64 {
    holder(of: offset)?.upperBound ?? offset
  }

  /// The ranges that are missing from a resource of `total` bytes, ascending.
  package func gaps(upTo total: Int64) -> [ByteRange] {
    var gaps: [ByteRange] = []
    var next: Int64 = 0
    for range in ranges {
      if range.lowerBound >= total { break }
      if let gap = ByteRange(next, range.lowerBound) { gaps.append(gap) }
      next = range.upperBound
    }
    if let gap = ByteRange(next, total) { gaps.append(gap) }
    return gaps
  }

  /// Whether every byte of a resource of `total` bytes is present.
  package func isComplete(total: Int64) -> Bool { firstMissing() >= total }

  private func holder(of offset: Int64) -> ByteRange? {
    let index = firstIndex { $0.upperBound > offset }
    guard index < ranges.count, ranges[index].contains(offset) else { return nil }
    return ranges[index]
  }

  /// Binary search: `predicate` is false for a prefix of the ranges and true from there on.
  private func firstIndex(where predicate: (ByteRange) -> Bool) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = low + (high - low) / 2
      if predicate(ranges[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
