// What a fetch starts and ends next, by hand: refusals, detours, limits.

import FetchCore
import HTTPTransfer
import Testing

@testable import VidFetchKit

@Suite struct FetchLanesTests {
  private static let second: Int64 = 1_000_000_000
  private let total: Int64 = 1 << 30

  /// Lanes with a lead whose response has been accepted.
  private func led(
    _ connections: Int = 0, rateLimit: Int64? = nil
  ) -> (FetchLanes, lead: Int) {
    var settings = TransferSettings()
    settings.connections = connections
    settings.rateLimit = rateLimit
    var lanes = FetchLanes(settings)
    let lead = lanes.begin(from: 0, to: total, isElastic: true, now: 0)
    _ = lanes.started(lead, ExchangeID(number: 1))
    lanes.canSplit = true
    _ = lanes.accept(lead, present: ByteRangeSet(), now: 0)
    return (lanes, lead)
  }

  private func opened(_ steps: [FetchLanes.Step]) -> [(Int, ByteRange)] {
    steps.compactMap { if case .open(let lane, let range) = $0 { (lane, range) } else { nil } }
  }

  private func plan(
    _ lanes: inout FetchLanes, _ present: ByteRangeSet, now: Int64
  ) -> [FetchLanes.Step] {
    lanes.plan(
      present: present, total: total, received: present.byteCount, isMultiplexed: false, now: now)
  }

  private let head = ByteRangeSet([ByteRange(0, 1000)].compactMap { $0 })

  @Test func whatIsWaitedForIsNotAskedForInALoop() throws {
    var (lanes, _) = led()
    lanes.wanted = total - 5000
    var asked = 0
    var now: Int64 = 0
    for _ in 0..<600 {
      now += Self.second / 10
      // The lead goes on meanwhile.
      let present = ByteRangeSet([ByteRange(0, 1000 + now / 1_000_000)].compactMap { $0 })
      for (lane, _) in opened(plan(&lanes, present, now: now)) {
        asked += 1
        lanes.ended(lane)
        lanes.failed(wait: nil, now: now)
      }
    }
    #expect(asked >= 3 && asked <= 8, "\(asked) requests in a minute")
  }

  @Test func anotherServersWaitIsObeyed() throws {
    var (lanes, _) = led()
    lanes.wanted = total - 5000
    let first = try #require(opened(plan(&lanes, head, now: 1)).first)
    lanes.ended(first.0)
    lanes.failed(wait: 20 * Self.second, now: 1)
    #expect(opened(plan(&lanes, head, now: 19 * Self.second)).isEmpty)
    #expect(opened(plan(&lanes, head, now: 21 * Self.second)).count == 1)
  }

  @Test func aSingleConnectionIsLedBackAfterItsDetour() throws {
    var (lanes, lead) = led(1)
    lanes.wanted = total - 5000
    let steps = plan(&lanes, head, now: 1)
    guard case .cancel? = steps.first else {
      Issue.record("the lead isn't ended: \(steps)")
      return
    }
    lanes.ended(lead)
    let detour = try #require(opened(plan(&lanes, head, now: 2)).first)
    #expect(detour.1 == ByteRange(total - 5000, total))
    _ = lanes.accept(detour.0, present: head, now: 2)
    lanes.ended(detour.0)
    let present = ByteRangeSet([ByteRange(0, 1000), detour.1].compactMap { $0 })
    #expect(plan(&lanes, present, now: 3).isEmpty, "an exchange for all that is missing follows")
  }

  @Test func nobodyIsStarvedByALimitOnTheRate() {
    var (few, _) = led(16, rateLimit: 40_000)
    #expect(opened(plan(&few, head, now: 1)).count == 1)
    var (many, _) = led(16, rateLimit: 4_000_000)
    #expect(opened(plan(&many, head, now: 1)).count == 15)
  }

  @Test func aLaneThatIsRetiredTellsItsExchange() throws {
    var (lanes, lead) = led(4)
    let further = opened(plan(&lanes, head, now: 1))
    #expect(further.count == 3)
    for (index, (lane, _)) in further.enumerated() {
      #expect(lanes.started(lane, ExchangeID(number: UInt64(index + 2))) == nil)
    }
    #expect(lanes.retireAll().count == 4)
    #expect(lanes.retireAll().isEmpty)
    lanes.ended(lead)
    for (lane, _) in further { lanes.ended(lane) }
    #expect(lanes.areSilent)
  }
}
