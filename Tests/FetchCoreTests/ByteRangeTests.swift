import FetchCore
import Testing

@Suite struct ByteRangeTests {
  @Test func refusesEmptyReversedAndNegativeRanges() {
    #expect(ByteRange(5, 5) == nil)
    #expect(ByteRange(6, 5) == nil)
    #expect(ByteRange(-1, 5) == nil)
    #expect(ByteRange(offset: .max, count: 1) == nil)
    #expect(ByteRange(offset: 3, count: 0) == nil)
    #expect(ByteRange(offset: 3, count: 4) == ByteRange(3, 7))
  }

  @Test func intersectsOnlyWhereBytesAreShared() throws {
    let range = try #require(ByteRange(10, 20))
    #expect(range.intersection(try #require(ByteRange(15, 30))) == ByteRange(15, 20))
    #expect(range.intersection(try #require(ByteRange(20, 30))) == nil)
  }

  @Test func spansWhatLiesBetween() throws {
    let range = try #require(ByteRange(10, 20))
    #expect(range.span(with: try #require(ByteRange(40, 50))) == ByteRange(10, 50))
    #expect(try #require(ByteRange(40, 50)).span(with: range) == ByteRange(10, 50))
    #expect(range.span(with: try #require(ByteRange(12, 13))) == range)
  }

  @Test func isCutIntoPieces() throws {
    let range = try #require(ByteRange(10, 20))
    #expect(range.pieces(of: 4).map(\.description) == ["10..<14", "14..<18", "18..<20"])
    #expect(range.pieces(of: 5).map(\.count) == [5, 5])
    #expect(range.pieces(of: .max) == [range])
    let last = try #require(ByteRange(.max - 5, .max))
    #expect(last.pieces(of: 3).map(\.count) == [3, 2])
  }
}

@Suite struct ByteRangeSetTests {
  private func set(_ pairs: [(Int64, Int64)]) -> ByteRangeSet {
    ByteRangeSet(pairs.compactMap { ByteRange($0.0, $0.1) })
  }

  @Test func mergesWhatTouchesOrOverlaps() {
    #expect(set([(0, 5), (5, 9)]).ranges.map(\.description) == ["0..<9"])
    #expect(set([(10, 20), (0, 5), (4, 11)]).ranges.map(\.description) == ["0..<20"])
    #expect(set([(10, 20), (0, 5)]).ranges.map(\.description) == ["0..<5", "10..<20"])
    #expect(set([(0, 30), (5, 6)]).ranges.map(\.description) == ["0..<30"])
  }

  @Test func countsBytesThatCameTwiceOnce() {
    #expect(set([(0, 10), (5, 15), (20, 21)]).byteCount == 16)
  }

  @Test func namesTheGapsOfAResource() {
    let gaps = set([(5, 10), (20, 30)]).gaps(upTo: 25).map(\.description)
    #expect(gaps == ["0..<5", "10..<20"])
    #expect(set([]).gaps(upTo: 3).map(\.description) == ["0..<3"])
    #expect(set([(0, 3)]).gaps(upTo: 3).isEmpty)
    #expect(set([]).gaps(upTo: 0).isEmpty)
  }

  @Test func isCompleteOnlyWithoutAHole() {
    #expect(set([(0, 10)]).isComplete(total: 10))
    #expect(!set([(0, 4), (5, 10)]).isComplete(total: 10))
    #expect(set([]).isComplete(total: 0))
  }

  @Test func tellsTheRunAndTheFirstMissingByte() {
    let set = set([(0, 4), (6, 10)])
    #expect(set.run(from: 1) == 3)
    #expect(set.run(from: 4) == 0)
    #expect(set.run(from: 7) == 3)
    #expect(set.firstMissing() == 4)
    #expect(set.firstMissing(from: 6) == 10)
    #expect(set.firstMissing(from: 5) == 5)
  }

  @Test func removalSplitsARange() throws {
    var set = set([(0, 10)])
    set.remove(try #require(ByteRange(3, 5)))
    #expect(set.ranges.map(\.description) == ["0..<3", "5..<10"])
  }

  @Test func agreesWithASetOfIntegers() {
    var random = SplitMix(state: 7)
    for _ in 0..<200 {
      var set = ByteRangeSet()
      var integers = Set<Int64>()
      for _ in 0..<40 {
        let lower = Int64(random.next() % 60)
        let count = Int64(random.next() % 12)
        guard let range = ByteRange(offset: lower, count: count) else { continue }
        if random.next() % 3 == 0 {
          set.remove(range)
          integers.subtract(range.lowerBound..<range.upperBound)
        } else {
          set.insert(range)
          integers.formUnion(range.lowerBound..<range.upperBound)
        }
      }
      #expect(set.byteCount == Int64(integers.count))
      for offset in Int64(0)..<80 {
        #expect((set.run(from: offset) > 0) == integers.contains(offset))
      }
      for (left, right) in zip(set.ranges, set.ranges.dropFirst()) {
        #expect(left.upperBound < right.lowerBound)
      }
    }
  }
}

/// A seeded generator, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
