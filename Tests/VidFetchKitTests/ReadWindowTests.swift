import FetchCore
import Testing

@testable import VidFetchKit

@Suite struct ReadWindowTests {
  private let small = ReadWindow.smallest
  private let large = ReadWindow.largest

  private func set(_ ranges: (Int64, Int64)...) -> ByteRangeSet {
    ByteRangeSet(ranges.compactMap { ByteRange($0.0, $0.1) })
  }

  @Test func growsWhileReadingGoesOnAndNoFurther() {
    var window = ReadWindow()
    var offset: Int64 = 0
    var sizes: [Int64] = []
    for _ in 0..<5 {
      let range = window.range(from: offset, present: set((0, offset)), total: nil)
      sizes.append(range?.count ?? 0)
      offset = range?.upperBound ?? 0
    }
    #expect(sizes == [small, 2 * small, large, large, large])
  }

  @Test func beginsSmallAfterAJump() {
    var window = ReadWindow()
    _ = window.range(from: 0, present: set(), total: nil)
    _ = window.range(from: small, present: set((0, small)), total: nil)
    let jump = window.range(from: 1 << 30, present: set((0, 3 * small)), total: nil)
    #expect(jump == ByteRange(1 << 30, (1 << 30) + small))
  }

  @Test(
    arguments: [
      // Never past the end, and no crumb is left before it.
      (0, 100, 0, 100), (500, 1000, 500, 1000),
      (0, 262_144 + 65_536, 0, 262_144 + 65_536), (0, 262_144 + 65_537, 0, 262_144),
    ] as [(Int64, Int64, Int64, Int64)])
  func keepsToTheSource(offset: Int64, total: Int64, lower: Int64, upper: Int64) {
    var window = ReadWindow()
    #expect(
      window.range(from: offset, present: set(), total: total) == ByteRange(lower, upper))
  }

  @Test func whatIsThereIsNotFetchedAgain() {
    var window = ReadWindow()
    let range = window.range(from: 1000, present: set((0, 1000), (5000, 6000)), total: 1 << 20)
    #expect(range == ByteRange(1000, 5000))
  }

  @Test func thereIsNothingBehindTheEnd() {
    var window = ReadWindow()
    #expect(window.range(from: 1000, present: set(), total: 1000) == nil)
    #expect(window.range(from: .max, present: set(), total: nil) == nil)
    #expect(
      window.range(from: .max - 5, present: set(), total: nil) == ByteRange(.max - 5, .max))
  }
}
