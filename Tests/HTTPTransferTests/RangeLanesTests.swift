// Which range a further exchange is given, and what becomes of those that run.

import FetchCore
import TestSupport
import Testing

@testable import HTTPTransfer

@Suite struct RangeLanesTests {
  private static let second: Int64 = 1_000_000_000

  private func set(_ pairs: (Int64, Int64)...) -> ByteRangeSet {
    ByteRangeSet(pairs.compactMap { ByteRange($0.0, $0.1) })
  }

  private func demand(
    _ order: RangeLanes.Order = .forwards, piece: Int64 = 100, smallest: Int64 = 10
  ) -> RangeLanes.Demand {
    RangeLanes.Demand(order: order, piece: piece, smallest: smallest)
  }

  private func next(
    _ lanes: RangeLanes, _ demand: RangeLanes.Demand, present: ByteRangeSet = ByteRangeSet(),
    total: Int64 = 1000, now: Int64 = 0
  ) -> ByteRange? {
    lanes.next(demand, present: present, total: total, now: now)
  }

  @Test func aLeadThatWasAskedForAllKeepsOnePieceAheadOfItself() {
    var lanes = RangeLanes()
    _ = lanes.begin(from: 0, to: 1000, isElastic: true, now: 0)
    #expect(next(lanes, demand()) == ByteRange(100, 200))
    #expect(next(lanes, demand(.backwards)) == ByteRange(900, 1000))
  }

  @Test func eachFurtherLaneBeginsWhereTheOneBeforeStops() {
    var lanes = RangeLanes()
    _ = lanes.begin(from: 0, to: 1000, isElastic: true, now: 0)
    var found: [ByteRange?] = []
    for _ in 0..<3 {
      let range = next(lanes, demand())
      found.append(range)
      if let range {
        _ = lanes.begin(from: range.lowerBound, to: range.upperBound, isElastic: false, now: 0)
      }
    }
    #expect(found == [ByteRange(100, 200), ByteRange(200, 300), ByteRange(300, 400)])
  }

  @Test func aRestThatIsNotWorthAnotherLaneGoesWithTheLastOne() {
    #expect(next(RangeLanes(), demand(), total: 105) == ByteRange(0, 105))
    #expect(next(RangeLanes(), demand(), total: 110) == ByteRange(0, 100))
  }

  @Test func holesAreFilledFromTheFront() {
    let present = set((0, 50), (60, 300), (320, 1000))
    #expect(next(RangeLanes(), demand(), present: present) == ByteRange(50, 60))
    #expect(next(RangeLanes(), demand(.backwards), present: present) == ByteRange(300, 320))
  }

  @Test func untilItIsAcceptedALaneTakesNothingFromAnother() {
    var lanes = RangeLanes()
    let lead = lanes.begin(from: 0, to: 1000, isElastic: true, now: 0)
    _ = lanes.accept(lead, now: 0)
    let other = lanes.begin(from: 500, to: 600, isElastic: false, now: 0)
    #expect(lanes[lead]?.end == 1000)
    #expect(lanes.accept(other, now: 0).map(\.id) == [lead])
    #expect(lanes[lead]?.end == 500)
  }

  @Test func aLaneThatOthersHavePassedIsUseless() {
    var lanes = RangeLanes()
    let lead = lanes.begin(from: 0, to: 1000, isElastic: true, now: 0)
    _ = lanes.accept(lead, now: 0)
    let late = lanes.begin(from: 500, to: 600, isElastic: false, now: 0)
    #expect(lanes.advance(present: set((0, 500)), now: 1) == [])
    #expect(lanes.advance(present: set((0, 501)), now: 2) == [late])
  }

  @Test func positionsNeverPassTheEnd() {
    var lanes = RangeLanes()
    let lane = lanes.begin(from: 100, to: 200, isElastic: false, now: 0)
    _ = lanes.accept(lane, now: 0)
    _ = lanes.advance(present: set((100, 500)), now: 1)
    #expect(lanes[lane]?.remaining == 0)
  }

  @Test func whereAllIsTakenTheLargestRestIsShared() {
    var lanes = RangeLanes()
    let short = lanes.begin(from: 0, to: 300, isElastic: false, now: 0)
    let long = lanes.begin(from: 300, to: 1000, isElastic: false, now: 0)
    _ = lanes.accept(short, now: 0)
    _ = lanes.accept(long, now: 0)
    _ = lanes.advance(present: set((0, 200), (300, 400)), now: 0)
    #expect(next(lanes, demand(), present: set((0, 200), (300, 400))) == ByteRange(700, 1000))
    // Less than two of the smallest stays with whoever has it.
    #expect(next(lanes, demand(smallest: 301), present: set((0, 200), (300, 400))) == nil)
  }

  @Test func aSilentLaneLosesItsRangeToOneOther() {
    var lanes = RangeLanes()
    let silent = lanes.begin(from: 0, to: 1000, isElastic: false, now: 0)
    _ = lanes.accept(silent, now: 0)
    _ = lanes.advance(present: set((0, 990)), now: 0)
    let present = set((0, 990))
    #expect(next(lanes, demand(), present: present, now: Self.second) == nil)
    #expect(next(lanes, demand(), present: present, now: 2 * Self.second) == ByteRange(990, 1000))
    let standIn = lanes.begin(from: 990, to: 1000, isElastic: false, now: 2 * Self.second)
    #expect(next(lanes, demand(), present: present, now: 2 * Self.second) == nil)
    let changed = lanes.accept(standIn, now: 2 * Self.second)
    #expect(changed.map(\.id) == [silent])
    #expect(changed.first?.remaining == 0)
  }

  @Test(
    arguments: [
      (900, 100, ByteRange(900, 1000)),  // nobody comes near
      (150, 100, nil),  // the lead will be there soon
      (250, 100, ByteRange(250, 500)),  // up to the lane that begins there
      (550, 100, nil),  // that lane's own
      (1000, 100, nil),  // beyond the end
    ] as [(Int64, Int64, ByteRange?)])
  func whatIsWaitedForIsFetchedUnlessItComesAnyway(
    _ offset: Int64, _ reach: Int64, _ expected: ByteRange?
  ) {
    var lanes = RangeLanes()
    _ = lanes.begin(from: 100, to: 1000, isElastic: true, now: 0)
    _ = lanes.begin(from: 500, to: 600, isElastic: false, now: 0)
    let found = lanes.next(wanted: offset, reach: reach, present: set((0, 100)), total: 1000)
    #expect(found == expected)
  }

  @Test func hostileSizesOverflowNothing() {
    var lanes = RangeLanes()
    _ = lanes.begin(from: 0, to: .max, isElastic: true, now: 0)
    let huge = demand(piece: .max, smallest: .max)
    #expect(next(lanes, huge, total: .max) == nil)
    #expect(next(lanes, demand(), total: .max) == ByteRange(100, 200))
    #expect(next(RangeLanes(), huge, total: .max) == ByteRange(0, .max))
  }

  /// Whatever ranges are asked for, granted, filled or lost: in the end each byte has come, and no
  /// lane was ever given one that is there.
  @Test(arguments: 0..<200) func allLanesTogetherFillTheResource(_ seed: Int) {
    var random = SeededNumbers(seed: UInt64(seed))
    let total = Int64.random(in: 1...5000, using: &random)
    let most = Int.random(in: 1...8, using: &random)
    let demand = demand(
      Bool.random(using: &random) ? .forwards : .backwards,
      piece: Int64.random(in: 1...700, using: &random),
      smallest: Int64.random(in: 1...200, using: &random))
    var lanes = RangeLanes()
    var present = ByteRangeSet()
    var now: Int64 = 0
    for _ in 0..<20_000 where !present.isComplete(total: total) {
      now += Self.second / 4
      for useless in lanes.advance(present: present, now: now) { lanes.end(useless) }
      for lane in lanes.lanes where lane.remaining <= 0 { lanes.end(lane.id) }
      if lanes.lanes.count < most,
        let range = lanes.next(demand, present: present, total: total, now: now)
      {
        #expect(present.run(from: range.lowerBound) == 0)
        #expect(range.upperBound <= total)
        _ = lanes.begin(
          from: range.lowerBound, to: range.upperBound, isElastic: lanes.isEmpty, now: now)
      }
      guard let lane = lanes.lanes.randomElement(using: &random) else { continue }
      switch Int.random(in: 0..<10, using: &random) {
      case 0: lanes.end(lane.id)
      case 1...3: if !lane.isAccepted { _ = lanes.accept(lane.id, now: now) }
      default:
        guard lane.isAccepted else { continue }
        let count = min(lane.remaining, Int64.random(in: 1...300, using: &random))
        if let came = ByteRange(offset: lane.position, count: count) { present.insert(came) }
      }
    }
    #expect(present.isComplete(total: total))
  }
}
