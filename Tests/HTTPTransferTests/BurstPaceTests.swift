// What is a burst, and what only looks like one, in made-up time.

import Testing

@testable import HTTPTransfer

@Suite struct BurstPaceTests {
  /// Looks ten times a second; each element is what came in a tenth, in bytes.
  private func pace(_ arrivals: [Int64], looks: Int64 = 1) -> BurstPace {
    var pace = BurstPace()
    var bytes: Int64 = 0
    for (tick, arrival) in arrivals.enumerated() {
      bytes += arrival
      for look in 0..<looks {
        pace.observe(
          now: Int64(tick + 1) * 100_000_000 + look * 100_000_000 / looks, bytes: bytes)
      }
    }
    return pace
  }

  private let burst: Int64 = 1_000_000

  @Test func theSecondBurstTellsThePeriod() {
    let found = pace([burst, 0, 0, 0, 0, burst, 0])
    #expect(found.cycle == BurstPace.Cycle(bytes: burst, period: 500_000_000))
    #expect(found.cycle?.rate == 2e6)
    #expect(found.isJustOver)
    #expect(!pace([burst, 0, 0, 0, 0, burst, 0, 0]).isJustOver)
    #expect(pace([burst, 0, 0, 0, 0, burst]).cycle == nil)
  }

  @Test func howOftenSomebodyLooksChangesNothing() {
    let arrivals = [2 * burst, burst, 0, 0, 0, burst, burst, 0, 0]
    #expect(pace(arrivals).cycle == BurstPace.Cycle(bytes: 2 * burst, period: 500_000_000))
    #expect(pace(arrivals, looks: 4).cycle == pace(arrivals).cycle)
  }

  @Test func aFirstBurstMayBeLarger() {
    #expect(pace([4 * burst, 0, 0, burst, 0]).cycle?.bytes == burst)
  }

  @Test func burstsThatGrowAreAConnectionThatGainsPace() {
    #expect(pace([burst, 0, 0, 2 * burst, 0, 0, 4 * burst, 0]).cycle == nil)
    #expect(pace([burst, 0, 0, 2 * burst, 0, 0, 2 * burst, 0]).cycle?.bytes == 2 * burst)
  }

  @Test func singlePacketsAreNone() {
    #expect(pace([1500, 0, 1500, 0, 1500, 0]).cycle == nil)
  }

  @Test func aRestThatWasHeldBackIsNone() {
    let arrivals: [Int64] = [burst, 0, 40_000, 0, 0, burst, 0, 1700, 0, 0, burst, 0]
    #expect(pace(arrivals).cycle == BurstPace.Cycle(bytes: burst + 1700, period: 500_000_000))
  }

  @Test func aSteadyFlowHasNone() {
    #expect(pace(Array(repeating: burst, count: 50)).cycle == nil)
    #expect(pace([]).cycle == nil)
    #expect(pace(Array(repeating: 0, count: 50)).cycle == nil)
  }

  @Test func silenceBeforeTheFirstByteIsNone() {
    #expect(pace([0, 0, 0, burst, 0]).cycle == nil)
    #expect(!pace([0, 0, 0]).isJustOver)
  }

  @Test func aRareStallIsNone() {
    #expect(pace([burst, 0] + Array(repeating: burst, count: 40) + [0]).cycle == nil)
    #expect(pace([burst, 0] + Array(repeating: 0, count: 40) + [burst, 0]).cycle == nil)
  }

  @Test func itEndsWhereTheFlowGetsSteady() {
    let lumpy = [burst, 0, 0, burst, 0, 0, burst, 0]
    #expect(pace(lumpy).cycle != nil)
    #expect(pace(lumpy + Array(repeating: burst, count: 10)).cycle == nil)
  }
}
