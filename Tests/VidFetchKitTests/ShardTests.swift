import FetchCore
import Testing

@testable import VidFetchKit

@Suite struct ShardTests {
  @Test(arguments: [("1/1", 1, 1), ("2/3", 2, 3), ("1000000/1000000", 1_000_000, 1_000_000)])
  func readsAPlaceAndACount(text: String, index: Int, count: Int) throws {
    let shard = try Shard(text)
    #expect(shard.index == index && shard.count == count && shard.description == text)
  }

  @Test(arguments: [
    "", "1", "0/1", "2/1", "1/0", "1/1000001", "-1/2", "+1/2", "1 /2", "1/2/3", "a/b", "1/2x", "/2",
    "1/", "99999999999999999999/99999999999999999999",
  ])
  func refusesWhatIsNoShard(text: String) {
    #expect(throws: FetchError.self) { try Shard(text) }
  }

  @Test func everySourceBelongsToExactlyOneShard() throws {
    for count in [1, 2, 3, 7, 16] {
      var sizes = [Int](repeating: 0, count: count)
      for number in 0..<2000 {
        let source = SourceIdentity("https://example.com/\(number).mp4")
        let owners = (1...count).filter { Shard(index: $0, count: count)?.contains(source) == true }
        #expect(owners.count == 1)
        sizes[owners[0] - 1] += 1
      }
      #expect(sizes.allSatisfy { abs($0 - 2000 / count) < 2000 / count / 2 + 1 }, "\(sizes)")
    }
  }

  @Test func spellingOfASourceDoesNotChangeItsShard() {
    let hash = SourceIdentity("https://example.com/a.mp4").hash
    for text in [
      "HTTPS://EXAMPLE.com:443/a.mp4", "https://me:pw@example.com/./%61.mp4#t=3",
    ] {
      #expect(SourceIdentity(text).hash == hash)
    }
    #expect(SourceIdentity("/srv/a.mp4").hash == SourceIdentity("file:///srv/a.mp4").hash)
    // The same on every machine, and in every version.
    #expect(hash == 0x0e06_dca0_234d_a293)
  }

  // MARK: - Engines

  private func auto(_ environment: [String: String]) throws -> String {
    try Shard.auto(environment: environment).description
  }

  private func complaint(_ environment: [String: String]) -> String? {
    do {
      _ = try Shard.auto(environment: environment)
      return nil
    } catch {
      return error.code == .usage ? error.message : "not a usage error"
    }
  }

  private func slurm(
    _ id: String, _ min: String?, _ max: String?, step: String? = nil, count: String? = nil
  ) -> [String: String] {
    [
      "SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": min, "SLURM_ARRAY_TASK_MAX": max,
      "SLURM_ARRAY_TASK_STEP": step, "SLURM_ARRAY_TASK_COUNT": count,
    ].compactMapValues { $0 }
  }

  @Test func slurmArraysCountFromWhereTheyBegin() throws {
    #expect(try auto(slurm("0", "0", "3", step: "1", count: "4")) == "1/4")
    #expect(try auto(slurm("3", "0", "3", step: "1", count: "4")) == "4/4")
    #expect(try auto(slurm("7", "1", "10", step: "3", count: "4")) == "3/4")
    #expect(try auto(slurm("5", "5", "5")) == "1/1")
    for (variables, why) in [
      (slurm("3", "1", "7", count: "3"), "gaps"), (slurm("8", "1", "7"), "isn't among"),
      (slurm("2", "1", "7", step: "3"), "isn't among"), (slurm("2", "1", nil), "TASK_MAX"),
      (slurm("2", nil, "3"), "TASK_MIN"), (slurm("x", "1", "3"), "TASK_ID='x'"),
      (slurm("", "1", "3"), "TASK_ID=''"), (slurm("1", "1", "3", step: "0"), "isn't among"),
      (slurm("1", "1", "3", step: "-1"), "STEP='-1'"), (slurm("1", "0", "1000000"), "isn't one"),
      (slurm("1", "0", "2147483647"), "isn't one"),
      (slurm("1", "0", "9223372036854775807"), "TASK_MAX='9223372036854775807'"),
    ] {
      #expect(complaint(variables)?.contains(why) == true, "\(complaint(variables) ?? "a shard")")
    }
  }

  @Test func kubernetesJobsNeedTheirCountRepeated() throws {
    #expect(try auto(["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "3"]) == "1/3")
    #expect(try auto(["JOB_COMPLETION_INDEX": "2", "VIDFETCH_SHARDS": "3"]) == "3/3")
    #expect(complaint(["JOB_COMPLETION_INDEX": "2"])?.contains("VIDFETCH_SHARDS") == true)
    #expect(
      complaint([
        "JOB_COMPLETION_INDEX": "2", "JOB_COMPLETIONS": "3", "VIDFETCH_SHARDS": "4",
      ])?.contains("differ") == true)
    #expect(
      complaint(["JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "3"])?.contains("isn't one of 3")
        == true)
  }

  @Test func awsBatchArraysCountFromZero() throws {
    #expect(
      try auto(["AWS_BATCH_JOB_ARRAY_INDEX": "9999", "AWS_BATCH_JOB_ARRAY_SIZE": "10000"])
        == "10000/10000")
    #expect(
      complaint(["AWS_BATCH_JOB_ARRAY_INDEX": "0"])?.contains("AWS_BATCH_JOB_ARRAY_SIZE") == true)
  }

  @Test func gridEngineArraysCountInSteps() throws {
    var variables = [
      "SGE_TASK_ID": "4", "SGE_TASK_FIRST": "2", "SGE_TASK_LAST": "7", "SGE_TASK_STEPSIZE": "2",
    ]
    #expect(try auto(variables) == "2/3")
    variables["SGE_TASK_ID"] = "undefined"
    #expect(complaint(variables)?.contains("finds none of") == true)
    variables["SGE_TASK_ID"] = "5"
    #expect(complaint(variables)?.contains("isn't among") == true)
  }

  @Test func parallelsSequenceNeedsACountAndItsSlotIsNoShard() throws {
    #expect(try auto(["PARALLEL_SEQ": "3", "VIDFETCH_SHARDS": "8"]) == "3/8")
    #expect(complaint(["PARALLEL_SEQ": "3"])?.contains("VIDFETCH_SHARDS") == true)
    #expect(
      complaint(["PARALLEL_SEQ": "9", "VIDFETCH_SHARDS": "8"])?.contains("isn't one") == true)
    #expect(
      complaint(["PARALLEL_JOBSLOT": "1", "VIDFETCH_SHARDS": "8"])?.contains("finds none") == true)
  }

  @Test func ciJobsCountFromOne() throws {
    #expect(try auto(["CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "2"]) == "2/2")
    #expect(complaint(["CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "2"])?.contains("isn't one") == true)
    // It is set in jobs that are not parallel, too.
    #expect(complaint(["CI_NODE_TOTAL": "1"])?.contains("finds none") == true)
  }

  @Test func withoutAnEngineAllThatWasLookedForIsNamed() {
    let message = complaint([:]) ?? ""
    for name in [
      "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "SGE_TASK_ID",
      "PARALLEL_SEQ", "CI_NODE_INDEX",
    ] {
      #expect(message.contains(name))
      #expect(Shard.variables.contains(name))
    }
  }

  @Test func enginesThatDisagreeAreNotChosenFrom() throws {
    let ci = ["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"]
    let inside = ci.merging(slurm("2", "1", "4")) { $1 }
    #expect(complaint(inside)?.contains("a Slurm array") == true)
    #expect(try auto(ci.merging(slurm("1", "1", "4")) { $1 }) == "1/4")
  }
}
