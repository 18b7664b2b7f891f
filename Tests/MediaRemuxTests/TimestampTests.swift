// Timestamps made legal, and jumps of the clock closed: tables without media.

import Testing

@testable import MediaRemux

@Suite("Timestamps")
struct TimestampTests {
  typealias Stamps = TimestampRepair.Stamps

  private func run(
    _ repair: inout TimestampRepair, _ packets: [(pts: Int64?, dts: Int64?)], duration: Int64 = 10
  ) -> [Stamps] {
    packets.map { repair.next(pts: $0.pts, dts: $0.dts, duration: duration) }
  }

  @Test func leavesLegalStampsAlone() {
    var repair = TimestampRepair()
    let out = run(&repair, [(20, -10), (60, 0), (40, 10), (30, 20)])
    #expect(
      out == [
        .init(pts: 20, dts: -10), .init(pts: 60, dts: 0), .init(pts: 40, dts: 10),
        .init(pts: 30, dts: 20),
      ])
    #expect(repair.movedPresentations == 0)
    #expect(repair.inventedTimestamps == 0)
  }

  @Test func nudgesEqualDTSAndKeepsThePresentation() {
    var repair = TimestampRepair()
    let out = run(&repair, [(0, 0), (40, 10), (20, 10), (30, 10)])
    #expect(out.map(\.dts) == [0, 10, 11, 12])
    #expect(out.map(\.pts) == [0, 40, 20, 30])
    #expect(repair.movedPresentations == 0)
  }

  @Test func neverLetsDTSPassPTS() {
    var repair = TimestampRepair()
    let out = run(&repair, [(0, 0), (5, 10), (20, 20)])
    #expect(out.map(\.dts) == [0, 5, 20])
    #expect(out.map(\.pts) == [0, 5, 20])
  }

  @Test func movesAPresentationOnlyWhereNothingElseHelps() {
    var repair = TimestampRepair()
    let out = run(&repair, [(100, 100), (50, 50), (200, 200)])
    #expect(out.map(\.dts) == [100, 101, 200])
    #expect(out.map(\.pts) == [100, 101, 200])
    #expect(repair.movedPresentations == 1)
  }

  @Test func fillsMissingStampsFromDurations() {
    var repair = TimestampRepair()
    let out = run(&repair, [(0, 0), (nil, nil), (nil, nil), (30, nil)])
    #expect(out.map(\.dts) == [0, 10, 20, 30])
    #expect(out.map(\.pts) == [0, 10, 20, 30])
    #expect(repair.inventedTimestamps == 2)
  }

  @Test func believesALongPauseWhereAnotherPictureStandsBehindIt() {
    // A slide that stands for half a minute; the picture decoded next belongs behind it.
    var joined = TimestampRepair(furthest: 1000)
    _ = joined.next(pts: 2, dts: 0, duration: 1)
    #expect(joined.isFarAhead(pts: 3002, dts: 1) && joined.areNear(3002, 3000))
    #expect(joined.next(pts: 3002, dts: 1, duration: 1, isJoined: true).pts == 3002)
    var alone = TimestampRepair(furthest: 1000)
    _ = alone.next(pts: 2, dts: 0, duration: 1)
    #expect(!alone.areNear(3002, 4))
    #expect(alone.next(pts: 3002, dts: 1, duration: 1).pts == 1)
    #expect(!alone.isFarAhead(pts: 4, dts: 2) && !alone.isFarAhead(pts: nil, dts: 2))
  }

  @Test func makesRoomBeforeTheFirstKnownDecodingTime() {
    // Matroska with two B-frames: the first two pictures have no decoding time.
    var repair = TimestampRepair(reordering: 2)
    let out = run(&repair, [(0, nil), (30, nil), (10, 0), (20, 10), (60, 20)])
    #expect(out.map(\.dts) == [-20, -10, 0, 10, 20])
    #expect(out.map(\.pts) == [0, 30, 10, 20, 60])
    #expect(repair.movedPresentations + repair.inventedTimestamps == 0)
    var unknown = TimestampRepair(reordering: 2)
    #expect(
      run(&unknown, [(0, nil), (30, nil), (10, 0), (20, 10)], duration: 0).map(\.dts)
        == [-2, -1, 0, 10])
  }

  @Test func survivesExtremeStamps() {
    var repair = TimestampRepair()
    let far = Int64.max / 4
    let out = run(&repair, [(-far, -far), (far, far), (0, 0)])
    #expect(out.map(\.dts) == [-far, far, far + 1])
  }

  @Test func takesBackTheRoundingOfMilliseconds() {
    // 1024 samples at 48 kHz are 21.33 ms, which Matroska stores as 0, 21, 43, 64.
    var repair = TimestampRepair(slack: 48)
    let out = run(
      &repair, [(0, 0), (1008, 1008), (2064, 2064), (3072, 3072)], duration: 1024)
    #expect(out.map(\.dts) == [0, 1024, 2048, 3072])
  }

  @Test func keepsARealPauseInSound() {
    var repair = TimestampRepair(slack: 48)
    let out = run(&repair, [(0, 0), (4096, 4096), (5104, 5104)], duration: 1024)
    #expect(out.map(\.dts) == [0, 4096, 5120])
  }

  @Test func aMadPresentationIsNotBelieved() {
    var repair = TimestampRepair(furthest: 1000)
    let out = run(&repair, [(0, 0), (9000, 10), (20, 20)])
    #expect(out.map(\.pts) == [0, 10, 20])
    #expect(out.map(\.dts) == [0, 10, 20])
    #expect(repair.movedPresentations == 1 && !repair.isContradictory)
  }

  @Test func slowPicturesMayBeReorderedForLong() {
    var repair = TimestampRepair(furthest: 1000)
    let out = run(&repair, [(0, 0), (3000, 1000), (2000, 2000)], duration: 1000)
    #expect(out.map(\.pts) == [0, 3000, 2000])
    #expect(repair.movedPresentations == 0)
  }

  @Test func stampsThatGoBackForLongContradictEachOther() {
    var repair = TimestampRepair(furthest: 1000)
    _ = run(&repair, [(0, 0), (9000, 9000)])
    #expect(!repair.isContradictory)
    _ = run(&repair, [(20, 20)])
    #expect(repair.isContradictory)
  }

  // MARK: Jumps

  @Test func believesAPauseAndAWobble() {
    var jumps = JumpRepair(streams: 1)
    for dts: Int64 in [0, 40_000, 5_000_000, 4_960_000, 5_000_000] {
      #expect(jumps.offset(stream: 0, dts: dts, duration: 40_000) == 0)
    }
    #expect(jumps.jumps == 0)
  }

  @Test func closesAJumpForAllStreamsByTheSameAmount() {
    var jumps = JumpRepair(streams: 2)
    #expect(jumps.offset(stream: 0, dts: 1_000_000, duration: 40_000) == 0)
    #expect(jumps.offset(stream: 1, dts: 1_000_000, duration: 20_000) == 0)
    // The first stream jumps to 95,000 s.
    let far: Int64 = 95_000_000_000
    let offset = jumps.offset(stream: 0, dts: far, duration: 40_000)
    #expect(far + offset == 1_040_000)
    // The second still has a packet from before.
    #expect(jumps.offset(stream: 1, dts: 1_020_000, duration: 20_000) == 0)
    #expect(jumps.offset(stream: 1, dts: far + 5_000, duration: 20_000) == offset)
    #expect(jumps.jumps == 1)
  }

  @Test func closesAJumpBack() {
    var jumps = JumpRepair(streams: 1)
    #expect(jumps.offset(stream: 0, dts: 3_000_000, duration: 40_000) == 0)
    #expect(jumps.offset(stream: 0, dts: 0, duration: 40_000) == 3_040_000)
    #expect(jumps.offset(stream: 0, dts: 40_000, duration: 40_000) == 3_040_000)
  }

  @Test func aLongPauseOfOneStreamIsNoJump() {
    // A picture every 15 s, sound all the time.
    var jumps = JumpRepair(streams: 2)
    for second: Int64 in 0...45 {
      if second % 15 == 0 {
        let picture = jumps.offset(stream: 0, dts: second * 1_000_000, duration: 40_000)
        #expect(picture == 0)
      }
      #expect(jumps.offset(stream: 1, dts: second * 1_000_000, duration: 1_000_000) == 0)
    }
    #expect(jumps.jumps == 0)
  }

  @Test func aSingleMadStampDoesNotStretchTheRest() {
    var jumps = JumpRepair(streams: 1)
    var end: Int64 = 0
    for dts: Int64 in [0, 40_000, 9_000_000_000, 120_000, 160_000] {
      end = dts + jumps.offset(stream: 0, dts: dts, duration: 40_000)
    }
    #expect(end == 160_000)
  }
}
