// Nothing is fetched twice, and never a mixture: resume inside a run and across runs, also after
// kill -9 at any moment.

import FetchCore
import Foundation
import TestSupport
import Testing

@Suite("Resume")
struct ResumeTests {
  /// Kills a run once its part holds some data and its record says so.
  private func killedRun(_ run: VidfetchRun, _ arguments: [String]) throws {
    let process = try run.start(arguments)
    try waitUntil("the part to grow") {
      VidfetchRun.parts(in: run.work).contains { part in
        let record = String(decoding: fileBytes(run.file("\(part).json")), as: UTF8.self)
        return allocated(run.file(part)) >= 16384 && record.contains("\"ranges\":[[0,")
      }
    }
    process.signal(SIGKILL)
    #expect(try process.wait().status == .signalled(SIGKILL))
    #expect(run.leftovers().allSatisfy { VidfetchRun.isPartOrRecord(String($0.dropFirst(5))) })
  }

  /// Bytes of a file that have been written; a part may be as long as its source from the start.
  private func allocated(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }

  @Test func aNewRunContinuesAtTheFirstMissingByte() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["-o", "a.mp4", server.url("~rate=60000&times=1&gets=1/resume_a.mp4")]
    try killedRun(run, arguments)
    let before = try server.gets()
    let outcome = try run.run(arguments)
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
    let later = try server.gets().dropFirst(before.count)
    #expect(later.count == 1)
    let range = try #require(later.first?.range)
    let start = try #require(Int(range.dropFirst(6).prefix { $0.isNumber }))
    #expect(start >= 16384, "\(range)")
    #expect(later.first?.header("If-Range") != nil)
    #expect(later.first?.status == 206)
  }

  @Test func aNewRunContinuesWithNginxOverTLS() throws {
    let server = try NginxServer(slowRate: 200_000)
    let authority = try TestAuthority.shared.get()
    let run = try VidfetchRun()
    let arguments = [
      "--cacert", authority.caPath, "-o", "a.mp4", server.secureURL("slow/demo.mp4"),
    ]
    try killedRun(run, arguments)
    try expectSuccess(try run.run(arguments), at: run.file("a.mp4"), equalTo: "demo.mp4")
    try waitUntil("the access log") { server.log().contains { $0.status == 206 } }
    let resumed = try #require(server.log().last { $0.status == 206 })
    #expect(resumed.ifRange.hasPrefix("\""), "a strong ETag")
    #expect(resumed.httpVersion == "HTTP/2.0")
  }

  @Test func aChangedRemoteIsFetchedAnewAndSaid() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=60000&times=1&gets=1/~change=1&alt=resume_b.mp4/resume_a.mp4")
    try killedRun(run, ["-o", "a.mp4", url])
    let outcome = try run.run(["--json", "-o", "a.mp4", url])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_b.mp4")
    #expect(outcome.stderr.contains("changed"), "\(outcome.stderr)")
    let warnings = try outcome.result().warnings ?? []
    #expect(warnings.contains { $0.warning == "remote_changed" })
  }

  @Test(arguments: [
    "~drop=40000&times=3/resume_a.mp4", "~drop=40000/resume_a.mp4",
    "~rst=40000&times=3/resume_a.mp4", "~drop=0&times=2/resume_a.mp4",
    "~drop=60000&times=1/~norange=1/resume_a.mp4", "~drop=60000&times=1/~norange=lie/resume_a.mp4",
    "~drop=60000&times=1/~slice200=1/resume_a.mp4",
    "~drop=60000&times=1/~etag=none/resume_a.mp4",
    "~drop=60000&times=1/~etag=none&lm=none/resume_a.mp4",
    "~drop=60000&times=1/~etag=weak/resume_a.mp4",
    "~drop=60000&times=1/~etag=rotate/resume_a.mp4",
    "~drop=60000&times=1/~cr=early:100/resume_a.mp4",
    "~drop=60000&times=1/~cr=star/resume_a.mp4",
    "~drop=60000&times=1/~cr=short:100/resume_a.mp4",
    "~drop=60000&times=1/~ifrange=ignore/resume_a.mp4",
    "~status=503&times=2/resume_a.mp4",
  ])
  func brokenTransfersEndWithTheSameBytes(path: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", server.url(path)], limit: 90)
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
    let undisturbed = try VidfetchRun()
    _ = try undisturbed.run(["-o", "a.mp4", server.url("resume_a.mp4")])
    #expect(try digest(run.file("a.mp4")) == digest(undisturbed.file("a.mp4")))
  }

  @Test(arguments: ["cr=shift:100", "cr=total:100", "cr=bad", "cr=none"])
  func contradictoryRangesAreNeverMixed(fault: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~drop=60000&times=1/~\(fault)/resume_a.mp4")
    let outcome = try run.run(["-o", "a.mp4", url], limit: 120)
    if outcome.status == .exited(0) {
      try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    } else {
      #expect([.exited(10), .exited(31)].contains(outcome.status), "\(outcome.stderr)")
      #expect(fileSize(run.file("a.mp4")) == nil)
    }
  }

  @Test func aDamagedRecordMeansStartingAgain() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["-o", "a.mp4", server.url("~rate=60000&times=1&gets=1/resume_a.mp4")]
    try killedRun(run, arguments)
    let record = try #require(folderNames(run.work).first { $0.hasSuffix(".part.json") })
    try "{\"version\":1,\"ranges\":[[0,141246]]}".write(
      toFile: run.file(record), atomically: false, encoding: .utf8)
    try expectSuccess(try run.run(arguments), at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
  }

  @Test func aDamagedPartIsNotTrustedFurtherThanItsLength() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["-o", "a.mp4", server.url("~rate=60000&times=1&gets=1/resume_a.mp4")]
    try killedRun(run, arguments)
    let part = try #require(VidfetchRun.parts(in: run.work).first)
    truncate(run.file(part), 1000)
    try expectSuccess(try run.run(arguments), at: run.file("a.mp4"), equalTo: "resume_a.mp4")
  }

  /// Half of the rounds kill a slow transfer, half a fast one, to hit the export and publication too.
  ///
  /// The moments come from a fixed seed; which instruction they hit does not.
  @Test func killedAtRandomMomentsItAlwaysFinishesTheSame() throws {
    let rounds = Machine.isLong ? 50 : 12
    let server = try FaultServer()
    let reference = try VidfetchRun()
    _ = try reference.run(["-o", "a.mp4", server.url("resume_a.mp4")])
    let expected = try digest(reference.file("a.mp4"))
    var generator = SeededGenerator(state: 7)
    let moments = (0..<rounds).map { round in
      round.isMultiple(of: 2)
        ? Double.random(in: 0.02...1.1, using: &generator)
        : Double.random(in: 0.005...0.12, using: &generator)
    }
    let killed = Locked(0)
    concurrently(rounds, width: 3) { round in
      do {
        let run = try VidfetchRun()
        let fault = round.isMultiple(of: 2) ? "rate=141246" : "rate=9000000"
        let arguments = ["-o", "a.mp4", server.url("~\(fault)&key=k\(round)/resume_a.mp4")]
        let process = try run.start(arguments)
        usleep(UInt32(moments[round] * 1e6))
        process.signal(SIGKILL)
        if try process.wait().status == .signalled(SIGKILL) { killed.withLock { $0 += 1 } }
        let wasThere = fileSize(run.file("a.mp4")) != nil
        let outcome = try run.run(arguments)
        #expect(
          outcome.status == .exited(0) || wasThere && outcome.status == .exited(41),
          "round \(round): \(outcome.stderr)")
        #expect(run.leftovers() == ["work/a.mp4"], "round \(round)")
        #expect(try digest(run.file("a.mp4")) == expected, "round \(round)")
      } catch {
        Issue.record("round \(round): \(error)")
      }
    }
    #expect(killed.withLock { $0 } >= rounds / 2, "most rounds must really be killed")
  }
}

/// SplitMix64, so that a failing round can be run again.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// Runs `body` for 0..<count on `width` threads of their own and waits for all.
func concurrently(_ count: Int, width: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for lane in 0..<width {
    group.enter()
    Thread.detachNewThread {
      for index in stride(from: lane, to: count, by: width) { body(index) }
      group.leave()
    }
  }
  group.wait()
}
