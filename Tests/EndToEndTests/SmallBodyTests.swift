// Bodies that are small and here in a moment: the folder sees nothing of them but their result.

import Foundation
import TestSupport
import Testing

@Suite("Small bodies")
struct SmallBodyTests {
  @Test(
    .enabled(if: Machine.canTrace, "no system call can be traced here"),
    .disabled(if: Machine.isSanitized, "a sanitizer makes files of its own"))
  func theFolderSeesNothingButTheResult() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-o", "film.mp4", server.url("plain.mp4")],
      wrapper: [
        "strace", "-f", "-qq", "-o", run.file("../trace"), "-e",
        "trace=openat,linkat,unlinkat,renameat,renameat2",
      ])
    try expectSuccess(outcome, at: run.file("film.mp4"), equalTo: "plain.mp4")
    let calls = String(decoding: fileBytes(run.file("../trace")), as: UTF8.self)
      .split(separator: "\n")
    #expect(calls.contains { $0.contains("linkat(") && $0.contains("film.mp4") })
    let others = calls.filter {
      $0.contains(".part") || $0.contains("O_CREAT") && !$0.contains("/thread-self/comm")
        || $0.contains("unlinkat(") || $0.contains("renameat")
    }
    #expect(others.isEmpty, "\(others)")
    #expect(run.leftovers() == ["work/film.mp4"])
  }

  @Test func failureWithinItsFirstSecondLosesNothing() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["--retries", "0", "-o", "film.mp4"]
    let url = server.url("~drop=50000&times=1/resume_a.mp4")
    let cut = try run.run(arguments + [url])
    expectFailure(cut, 10, of: run, keepsPart: true)
    #expect(folderNames(run.work).count == 2, "the part and its record")
    let again = try run.run(arguments + [url])
    try expectSuccess(again, at: run.file("film.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/film.mp4"])
    let gets = try server.gets()
    #expect(gets.count == 2 && gets.last?.range == "bytes=50000-", "\(gets)")
  }

  /// Neither has a lock while its bytes are in memory; whoever comes second finds the name taken.
  @Test func twoRunsAtOnceMakeOneWholeFile() throws {
    let server = try FaultServer()
    for turn in 0..<4 {
      let run = try VidfetchRun()
      let arguments =
        ["-d", "out"] + (turn.isMultiple(of: 2) ? ["--skip-existing"] : [])
        + [server.url("~rate=700000/resume_a.mp4")]
      let runs = try (0..<3).map { _ in try run.start(arguments) }
      let outcomes = try runs.map { try $0.wait() }
      let statuses = outcomes.map(\.status)
      #expect(statuses.contains(.exited(0)))
      #expect(
        statuses.allSatisfy { $0 == .exited(0) || $0 == .exited(41) },
        "\(outcomes.map(\.stderr))")
      if turn.isMultiple(of: 2) == false {
        #expect(statuses.filter { $0 == .exited(0) }.count == 1)
      }
      // What came second can be had under another name without a second download.
      _ = try run.run(["--skip-existing"] + arguments)
      #expect(run.leftovers() == ["work/out/resume_a.mp4"])
      let hashes = try [run.file("out/resume_a.mp4"), FixtureFile.media("resume_a.mp4")]
        .map(MediaFacts.pictureHash)
      #expect(hashes[0] == hashes[1])
    }
  }

  /// A run that fails removes the folder that it made, but not under one that is still at work.
  @Test func failureDoesNotTakeTheFolderFromAnother() throws {
    let server = try FaultServer()
    for _ in 0..<5 {
      let run = try VidfetchRun()
      let outcome = try run.run(
        ["-j", "4", "-d", "out", server.url("none.mp4"), server.url("~rate=900000/resume_a.mp4")])
      #expect(outcome.status == .exited(20), "\(outcome.stderr)")
      #expect(run.leftovers() == ["work/out/resume_a.mp4"])
    }
  }

  @Test func failureDoesNotTakeTheFolderFromARunThatWaitsWithAPathInIt() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let failing = try run.start(
      ["--retries", "0", "-d", "out", server.url("~delay=1.2/none.mp4")])
    try waitUntil("the folder") { folderNames(run.work).contains("out") }
    let waiting = try run.start(
      ["-o", "out/film.mp4", server.url("~delay=0.9/~rate=300000/resume_a.mp4")])
    #expect(try failing.wait().status == .exited(20))
    try expectSuccess(waiting.wait(), at: run.file("out/film.mp4"), equalTo: "resume_a.mp4")
  }

  /// A run that waits for its first byte holds its lock like any other.
  @Test func waitingRunKeepsAnotherAway() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["-o", "film.mp4", server.url("~delay=3&times=1/plain.mp4")]
    let waiting = try run.start(arguments)
    try waitUntil("its part") { !VidfetchRun.parts(in: run.work).isEmpty }
    let second = try run.run(arguments)
    #expect(second.status == .exited(41), "\(second.stderr)")
    try expectSuccess(waiting.wait(), at: run.file("film.mp4"), equalTo: "plain.mp4")
    #expect(run.leftovers() == ["work/film.mp4"])
  }

  /// Told of a small body first, of which nothing came, and then of one without a length.
  @Test func bodyThatTurnsOutToHaveNoLengthHasNotChanged() throws {
    let server = try ScriptedServer(
      """
      head = "HTTP/1.1 200 OK\\r\\nETag: \\"v\\"\\r\\nConnection: close\\r\\n"
      if count == 0: send(head + "Content-Length: %d\\r\\n\\r\\n" % len(film))
      else:
          send(head + "Transfer-Encoding: chunked\\r\\n\\r\\n%x\\r\\n" % len(film))
          send(film + b"\\r\\n0\\r\\n\\r\\n")
      """, setUp: "film = open(\"\(FixtureFile.media("plain.mp4"))\", \"rb\").read()")
    let run = try VidfetchRun()
    let outcome = try run.run(["--progress", "json", "-o", "film.mp4", server.url("film.mp4")])
    try expectSuccess(outcome, at: run.file("film.mp4"), equalTo: "plain.mp4")
    #expect(!outcome.stderr.contains("remote_changed"), "\(outcome.stderr)")
    #expect(run.leftovers() == ["work/film.mp4"])
  }
}
