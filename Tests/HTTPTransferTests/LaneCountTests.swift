// How many lanes there are, for links of several kinds, in made-up time.

import Testing

@testable import HTTPTransfer

@Suite struct LaneCountTests {
  /// Runs a count against a link for so many seconds, ten looks a second.
  ///
  /// - Parameters:
  ///   - extra: lanes beyond the target that the export waits for, at each second.
  ///   - rate: bytes a second that so many lanes bring together, so many seconds after the
  ///     beginning.
  private func run(
    _ count: inout LaneCount, seconds: Double, total: Int64 = 1 << 40, isMultiplexed: Bool = false,
    extra: (Double) -> Int = { _ in 0 },
    rate: (_ lanes: Int, _ second: Double) -> Double
  ) -> [Int] {
    var bytes = 0.0
    var targets: [Int] = []
    // Lanes are accepted as soon as there are to be more.
    var most = 0
    var accepted = 0
    for step in 0..<Int(seconds * 10) {
      let second = Double(step) / 10
      let running = max(count.target, 1 + extra(second))
      bytes += rate(running, second) / 10
      accepted += max(0, count.target - most)
      most = count.target
      count.observe(
        now: Int64(step + 1) * 100_000_000, bytes: Int64(bytes), running: running,
        accepted: accepted, missing: max(0, total - Int64(bytes)), isMultiplexed: isMultiplexed)
      if targets.last != count.target { targets.append(count.target) }
    }
    return targets
  }

  @Test func aServerThatLimitsEachConnectionGetsMany() {
    var count = LaneCount(wanted: 0, perHost: nil)
    #expect(run(&count, seconds: 3) { lanes, _ in 4e6 * Double(lanes) } == [1, 2, 16])
    #expect(count.order == .forwards)
  }

  @Test func afterABurstTheLimitIsSeen() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 3) { lanes, second in
      4e6 * Double(lanes) + (second < 0.2 ? 40e6 : 0)
    }
    #expect(targets == [1, 2, 16])
  }

  @Test(arguments: [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.5, 2, 4, 7])
  func aLimitThatBeginsLaterIsSeenWithinSeconds(begin: Double) {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: begin + 6) { lanes, second in
      second < begin ? 25e6 : min(25e6, 4e6 * Double(lanes))
    }
    // While the link is full a second brings nothing.
    #expect(targets == [1, 2, 16] || (begin > 0.6 && targets == [1, 2, 1, 2, 16]), "\(targets)")
  }

  @Test func aLimitThatBeginsAfterARefusalIsNoReasonToAskAgainBefore() {
    var count = LaneCount(wanted: 0, perHost: nil)
    _ = run(&count, seconds: 2) { _, _ in 25e6 }
    count.laneFailed(running: 1, wait: 100_000_000_000, now: 2_000_000_000)
    let targets = run(&count, seconds: 90) { lanes, second in
      second < 5 ? 25e6 : 4e6 * Double(lanes)
    }
    #expect(targets == [1])
    count.beginAnew()
    #expect(run(&count, seconds: 90) { lanes, _ in 4e6 * Double(lanes) } == [1])
    #expect(run(&count, seconds: 120) { lanes, _ in 4e6 * Double(lanes) }.last == 16)
  }

  @Test func lanesThatWereGivenUpAreTriedAgainOnceTheServerIsQuickAgain() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 60) { lanes, second in
      second < 4 || second > 12 ? 4e6 * Double(lanes) : 4e6
    }
    #expect(targets.starts(with: [1, 2, 16, 8]))
    #expect(targets.last == 16)
  }

  @Test func aLaneForTheExportIsNotTakenForTheFirstOnesPace() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 4, extra: { $0 < 0.7 ? 1 : 0 }) { lanes, _ in
      4e6 * Double(lanes)
    }
    #expect(targets == [1, 2, 16])
  }

  @Test func aLaneForTheExportThatStaysCounts() {
    var count = LaneCount(wanted: 0, perHost: nil)
    var targets = run(&count, seconds: 5, extra: { _ in 1 }) { lanes, _ in 4e6 * Double(lanes) }
    #expect(targets == [1, 2, 4, 16])
    var full = LaneCount(wanted: 0, perHost: nil)
    targets = run(&full, seconds: 5, extra: { _ in 1 }) { lanes, _ in
      min(8e6, 4e6 * Double(lanes))
    }
    #expect(targets == [1, 2, 4, 2])
  }

  @Test func lanesForTheExportThatComeAgainAndAgainCountTogether() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 6, extra: { Int($0 * 10) % 4 == 3 ? 0 : 1 }) { lanes, _ in
      4e6 * Double(lanes)
    }
    #expect(targets == [1, 2, 4, 16])
  }

  /// Lanes for the export one after another are not taken for more and more.
  @Test func atMostTwoAreTakenWithoutATrial() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 20, extra: { Int($0 * 10) % 3 == 0 ? 1 : 0 }) { _, _ in 25e6
    }
    #expect(targets == [1, 2, 4, 2, 4, 2], "\(targets)")
    var short = LaneCount(wanted: 0, perHost: nil)
    let few = run(
      &short, seconds: 8, total: 200_000_000, extra: { [4, 5, 6].contains($0) ? 1 : 0 }
    ) {
      _, _ in 25e6
    }
    #expect(few == [1])
  }

  @Test(arguments: [0.0, 0.3, 0.6, 0.9])
  func afterAStallOneLaneIsLeftAlone(phase: Double) {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 20) { _, second in
      second > 10 + phase && second < 14.2 + phase ? 0 : 25e6
    }
    // The first trial, and the second in its turn.
    #expect(targets == [1, 2, 1, 2, 1], "\(targets)")
    #expect(count.order == .backwards)
  }

  @Test func aLinkThatKeepsFallingIsNotTriedEachTime() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 120) { _, second in
      second.truncatingRemainder(dividingBy: 10) < 6 ? 25e6 : 5e6
    }
    #expect(targets.count { $0 > 1 } <= 8, "\(targets)")
    #expect(targets.max() == 2)
  }

  @Test func aServersWaitIsNotShortenedByALaterFailure() {
    var count = LaneCount(wanted: 0, perHost: nil)
    _ = run(&count, seconds: 2) { lanes, _ in 4e6 * Double(lanes) }
    count.laneFailed(running: 4, wait: 120_000_000_000, now: 2_000_000_000)
    count.laneFailed(running: 3, wait: nil, now: 2_100_000_000)
    #expect(run(&count, seconds: 110) { lanes, _ in 4e6 * Double(lanes) } == [3])
    #expect(run(&count, seconds: 140) { lanes, _ in 4e6 * Double(lanes) }.last == 16)
  }

  @Test func aSingleLaneThatIsLeftKeepsItsWay() {
    var count = LaneCount(wanted: 0, perHost: nil)
    _ = run(&count, seconds: 2) { lanes, _ in 4e6 * Double(lanes) }
    #expect(count.order == .forwards)
    count.laneFailed(running: 1, wait: nil, now: 2_000_000_000)
    #expect(count.order == .backwards)
  }

  @Test func aFullLinkKeepsOne() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 2) { _, _ in 125e6 }
    #expect(targets == [1, 2, 1])
    #expect(count.order == .backwards)
  }

  @Test func trialsThatBringNothingBecomeRarer() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 60) { _, _ in 125e6 }
    #expect(targets.count { $0 > 1 } == 4)
  }

  @Test func aConnectionThatIsStillGainingPaceIsLeftAlone() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 1) { _, second in 1e5 * (1 + second * 10) * (1 + second * 10)
    }
    #expect(targets.first == 1)
    var young = LaneCount(wanted: 0, perHost: nil)
    #expect(run(&young, seconds: 0.5) { _, second in 1e6 * (1 + 40 * second) } == [1])
  }

  @Test func whatIsNearlyOverIsLeftAlone() {
    var count = LaneCount(wanted: 0, perHost: nil)
    #expect(run(&count, seconds: 2, total: 50_000_000) { _, _ in 25e6 } == [1])
  }

  @Test func whereTheLinkIsFullAtTwoMoreAreGivenBack() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 3) { lanes, _ in min(8e6, 4e6 * Double(lanes)) }
    #expect(targets == [1, 2, 16, 2])
  }

  @Test func aNumberOfThePersonsOwnIsTaken() {
    var count = LaneCount(wanted: 7, perHost: nil)
    #expect(count.target == 7)
    #expect(run(&count, seconds: 5) { _, _ in 1e6 } == [7])
    #expect(LaneCount(wanted: 7, perHost: 3).target == 3)
    var one = LaneCount(wanted: 1, perHost: nil)
    #expect(run(&one, seconds: 5) { lanes, _ in 4e6 * Double(lanes) } == [1])
  }

  @Test func nobodyGoesOverWhatAHostIsToHave() {
    var count = LaneCount(wanted: 0, perHost: 6)
    #expect(run(&count, seconds: 3) { lanes, _ in 4e6 * Double(lanes) } == [1, 2, 6])
  }

  @Test func aRefusalIsObeyedForAWhile() {
    var count = LaneCount(wanted: 8, perHost: nil)
    count.laneFailed(running: 2, wait: 5_000_000_000, now: 0)
    let targets = run(&count, seconds: 9) { _, _ in 1e6 }
    #expect(targets == [2, 8])
  }

  @Test func overOneConnectionOwnOnesAreTriedNext() {
    var count = LaneCount(wanted: 0, perHost: nil)
    // Streams of one connection share its limit; connections of their own don't.
    var own = false
    let targets = run(&count, seconds: 12, isMultiplexed: true) { lanes, second in
      own = own || second > 1.5
      return own ? 4e6 * Double(lanes) : 4e6
    }
    #expect(count.needsConnections)
    #expect(targets.last == 16)
  }

  @Test func whatBringsFarLessThanItDidIsReduced() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 9) { lanes, second in
      second < 4 ? 4e6 * Double(lanes) : 4e6
    }
    #expect(targets.prefix(4) == [1, 2, 16, 8])
  }

  @Test func piecesGrowWithThePaceAndShrinkNearTheEnd() {
    var count = LaneCount(wanted: 4, perHost: nil)
    #expect(count.demand(missing: 32 << 10).piece == 8 << 10)
    #expect(count.demand(missing: 4 << 20).piece == 1 << 20)
    _ = run(&count, seconds: 2) { _, _ in 32e6 }
    #expect(count.demand(missing: 1 << 40).piece == 16_000_000)
    #expect(count.demand(missing: 8 << 20).piece == 1 << 20)
    #expect(count.demand(missing: 100).piece == 256 << 10)
  }

  // MARK: - Bursts

  /// Runs a count against a server that sends each lane a burst, waits, and sends the next.
  ///
  /// - Parameters:
  ///   - period: tenths of a second from burst to burst.
  ///   - first: bytes of a lane's first burst.
  ///   - burst: bytes of each further one.
  /// - Returns: the counts, each with the second from which it held.
  private func runBursts(
    _ count: inout LaneCount, seconds: Double, period: Int, first: Int64,
    isMultiplexed: Bool = false, burst: (LaneCount) -> Int64
  ) -> [(target: Int, from: Double)] {
    var bytes: Int64 = 0
    var began: [Int] = []
    var targets: [(target: Int, from: Double)] = []
    var accepted = 0
    for step in 0..<Int(seconds * 10) {
      while began.count < count.target {
        began.append(step)
        accepted += 1
      }
      began = Array(began.prefix(count.target))
      for start in began where (step - start) % period == 0 {
        bytes += step == start ? first : burst(count)
      }
      count.observe(
        now: Int64(step + 1) * 100_000_000, bytes: bytes, running: count.target,
        accepted: accepted, missing: 1 << 40, isMultiplexed: isMultiplexed)
      if targets.last?.target != count.target {
        targets.append((count.target, Double(step + 1) / 10))
      }
    }
    return targets
  }

  @Test(arguments: [2, 3, 4, 5, 7, 10, 20])
  func aLimitThatComesInBurstsIsSeenAfterTheSecond(period: Int) {
    for first in [1, 2] {
      var count = LaneCount(wanted: 0, perHost: nil)
      let bytes = Int64(period) * 400_000
      let targets = runBursts(
        &count, seconds: 12, period: period, first: Int64(first) * bytes
      ) { _ in bytes }
      #expect(targets.map(\.target) == [1, 2, 16], "first \(first)")
      // The second burst, the look that finds it over, and what the trial takes.
      #expect(targets.last.map { $0.from < Double(period) * 0.225 + 0.5 } == true, "first \(first)")
    }
  }

  @Test(arguments: [2, 3, 4, 5, 7, 10, 20])
  func aFullLinkWithBurstsKeepsOne(period: Int) {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 7) { _, second in
      Int(second * 10 + 0.5) % period == 0 ? 4e6 * Double(period) : 0
    }
    #expect(targets == [1, 2, 1])
  }

  @Test(arguments: [3, 4, 5, 7, 10])
  func whereALinkWithBurstsIsFullAtTwoMoreAreGivenBack(period: Int) {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 7) { lanes, second in
      Int(second * 10 + 0.5) % period == 0 ? 4e6 * Double(period * min(lanes, 2)) : 0
    }
    #expect(targets == [1, 2, 16, 2])
  }

  @Test func aPauseOfASteadyLinkIsNoBurst() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 7) { _, second in
      (2.0..<2.4).contains(second) || (5.0..<5.4).contains(second) ? 0 : 125e6
    }
    #expect(targets == [1, 2, 1])
  }

  @Test func whatIsNearlyOverIsLeftAloneInBursts() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = run(&count, seconds: 2, total: 45_000_000) { _, second in
      Int(second * 10 + 0.5) % 5 == 0 ? 20e6 : 0
    }
    #expect(targets == [1])
  }

  @Test func aNumberOfThePersonsOwnIsTakenInBursts() {
    var count = LaneCount(wanted: 3, perHost: nil)
    let targets = runBursts(&count, seconds: 9, period: 5, first: 2_000_000) { _ in 2_000_000 }
    #expect(targets.map(\.target) == [3])
  }

  @Test func burstsOfOneConnectionThatIsSharedLeadToOwnOnes() {
    var count = LaneCount(wanted: 0, perHost: nil)
    let targets = runBursts(&count, seconds: 6, period: 5, first: 0, isMultiplexed: true) {
      $0.needsConnections ? 2_000_000 : 2_000_000 / Int64($0.target)
    }
    #expect(count.needsConnections)
    #expect(targets.map(\.target) == [1, 2, 16])
  }
}
