// Seeded servers with all kinds of misdeeds, over one, some and many connections: whatever they do,
// the result is one whole version or an error that fits. `VIDFETCH_LONG=1` runs 2,000 of them.

import FetchCore
import Foundation
import PartialStorage
import Testing

@testable import VidFetchKit

@Suite struct FaultScheduleTests {
  private static let isLong = ProcessInfo.processInfo.environment["VIDFETCH_LONG"] == "1"
  private static let seeds = Array(0..<(isLong ? 2000 : 150))

  @Test(arguments: [1, 4, 16, 0])
  func theResultIsOneWholeVersionOrTheRightError(_ connections: Int) throws {
    var completed = 0
    var parallel = 0
    for seed in Self.seeds {
      let scenario = Scenario(seed: seed)
      let job = try MadeUpJob(scenario, seed: seed, connections: connections)
      let ending = try job.run()
      let note: Comment = "seed \(seed), \(connections) connections"
      switch ending {
      case .completed(let bytes, let isFramed):
        completed += 1
        #expect(isFramed, note)
        #expect(scenario.versions.contains { $0.bytes == bytes }, note)
      case .failed(let error):
        // A server with room for fewer may be busy with the connection that was just cut.
        let busy: Set<OutcomeCode> = scenario.connections == nil ? [] : [.busy, .network]
        let allowed = job.network.met.reduce(into: busy) { $0.formUnion($1.allowed) }
        #expect(allowed.contains(error.code), "\(note): \(error), met \(job.network.met)")
        try expectOneVersion(job.part, scenario, note)
      case .none:
        Issue.record("\(note): no end after \(job.seconds) s, met \(job.network.met)")
      }
      if job.network.mostAtOnce > 1 { parallel += 1 }
      #expect(job.network.mostAtOnce <= (connections == 0 ? 16 : connections) + 1, note)
    }
    // Most servers recover, and many are worth more than one connection.
    #expect(completed >= Self.seeds.count * 8 / 10)
    if connections > 1 { #expect(parallel >= Self.seeds.count / 4) }
    if connections == 1 { #expect(parallel == 0) }
  }

  /// Servers that refuse, limit or fake ranges, without any other fault.
  @Test(arguments: [4, 16, 0])
  func lanesNeverCostMuchTime(_ connections: Int) throws {
    for seed in Self.seeds {
      let scenario = Scenario(seed: seed, isFaulty: false)
      func time(_ connections: Int) throws -> Double {
        let job = try MadeUpJob(scenario, seed: seed, connections: connections)
        guard case .completed(let bytes, _) = try job.run() else { return .infinity }
        #expect(bytes == scenario.versions[0].bytes)
        return job.seconds
      }
      let (one, several) = try (time(1), time(connections))
      // A pool whose nodes name one version differently may make it begin anew, once.
      let most = scenario.versions[0].tags.count > 1 ? 2.1 : 1.1
      #expect(
        several <= one * most + 6 * Double(scenario.latency) / 1e9 + 1.3,
        "seed \(seed), \(connections) connections: \(several) s, by one \(one) s")
    }
  }

  private func expectOneVersion(
    _ part: PartialFile, _ scenario: Scenario, _ note: Comment
  ) throws {
    let fits = try scenario.versions.contains { version in
      try part.ranges.ranges.allSatisfy { range in
        guard range.upperBound <= Int64(version.bytes.count) else { return false }
        let bytes = try part.descriptor.bytes(at: range.lowerBound, count: Int(range.count))
        return bytes == Array(version.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
      }
    }
    #expect(fits, note)
  }
}
