// Trouble with the place that a batch writes to: a folder that goes away, a disk that is full.

import Foundation
import TestSupport
import Testing

@Suite("Places of a batch")
struct BatchPlaceTests {
  @Test func aFolderThatGoesAwayCostsNoMoreThanWhatWasInIt() throws {
    let shelf = try FilmShelf(6)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let out = run.file("out")
    let list = try run.list(shelf.names.map { server.url("~rate=20000&times=1&gets=1/\($0)") })
    let words = ["-i", list, "-d", "out", "-x", "1", "-j", "2", "--archive", "archive", "--json"]
    let process = try run.start(words)
    try waitUntil("two films and two parts") {
      try folderNames(out).count { $0.hasSuffix("mp4") } == 2
        && VidfetchRun.parts(in: out).count { allocatedBytes("\(out)/\($0)") >= 8192 } == 2
        // The parts of the first two may still be there for a moment.
        && server.gets().count == 4
    }
    let before = Set(folderNames(out))
    // Away at once, and then empty, whatever is still written into it.
    try FileManager.default.moveItem(atPath: out, toPath: run.file("away"))
    try waitUntil("the folder's end") {
      try? FileManager.default.removeItem(atPath: run.file("away"))
      return !FileManager.default.fileExists(atPath: run.file("away"))
    }
    let outcome = try process.wait()
    #expect(outcome.status == .exited(41), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.results.count == 6)
    #expect(output.failures == ["output": 2] && output.summary.okCount == 4)
    for result in output.results where result.code == "ok" {
      let path = try #require(result.path)
      guard !before.contains(where: { path.hasSuffix("/\($0)") }) else { continue }
      #expect(try digest(path) == shelf.expected, "\(path) is said to be there")
    }

    // Another run makes all of it good, also what was done and is gone.
    let again = try run.run(words)
    #expect(again.status == .exited(0), "\(again.stderr)")
    #expect(try BatchOutput(again).results.count { $0.skipped == "archive" } == 2)
    try shelf.expectEach(shelf.names, in: out)
    #expect(try run.archive("archive") == ["ok"] + shelf.names.map { "\(out)/\($0)" })
  }

  /// Each item is one run's; what the other is at work on is waited for, not failed.
  @Test(arguments: [["--archive", "archive"], ["--skip-existing"]])
  func twoBatchesOfOneListShareIt(_ option: [String]) throws {
    let shelf = try FilmShelf(8)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url("~rate=30000/\($0)") })
    let words = ["-i", list, "-d", "out", "-x", "1", "-j", "3", "--json"] + option
    let processes = [try run.start(words), try run.start(words)]
    let outcomes = try processes.map { try $0.wait() }
    let outputs = try outcomes.map { try BatchOutput($0) }
    for (outcome, output) in zip(outcomes, outputs) {
      #expect(outcome.status == .exited(0), "\(outcome.stderr)")
      #expect(output.results.count == 8 && output.failures.isEmpty)
    }
    try shelf.expectEach(shelf.names, in: run.file("out"))
    for name in shelf.names {
      let made = try outputs.count { try $0.result(name).skipped == nil }
      #expect(made == 1, "\(name)")
    }
  }

  /// Whether they are waited for or wait for their turn again, each item that was begun gets its result.
  @Test func whatAnotherRunHeldHasItsLastWordWhenTheBatchIsEnded() throws {
    let shelf = try FilmShelf(3)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url("~rate=2000/\($0)") })
    let words = ["-i", list, "-d", "out", "-x", "1", "--skip-existing", "--json"]
    let first = try run.start(words + ["-j", "3"])
    try waitUntil("its parts") { VidfetchRun.parts(in: run.file("out")).count == 3 }
    let second = try run.start(words + ["-j", "1", "--progress", "json"])
    func events(_ kind: String) -> Int {
      second.stderr.components(separatedBy: "\"event\":\"\(kind)\"").count - 1
    }
    try waitUntil("all of them are held") { events("retry") >= 3 }
    first.signal(SIGKILL)
    _ = try first.wait()
    let asked = try server.gets().count
    try waitUntil("the first is taken up") { try server.gets().count > asked }
    second.signal(SIGINT)
    let outcome = try second.wait()
    #expect(outcome.status == .signalled(SIGINT), "\(outcome.stderr)")
    #expect(events("start") == 3 && events("result") == 3, "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.results.count == 3 && output.failures == ["signal": 3])
  }

  /// One alone has nothing else to do meanwhile, and nobody else's file will do for it.
  @Test func anItemThatAnotherRunHoldsIsAFailureWhereItsFileWillNotDo() throws {
    let shelf = try FilmShelf(2)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url("~rate=15000/\($0)") })
    let words = ["-i", list, "-d", "out", "-x", "1", "-j", "2", "--json"]
    let first = try run.start(words)
    try waitUntil("its parts") { VidfetchRun.parts(in: run.file("out")).count == 2 }
    let second = try run.run(words)
    #expect(second.status == .exited(41), "\(second.stderr)")
    #expect(try BatchOutput(second).failures == ["output": 2])
    #expect(try first.wait().status == .exited(0))
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test(.enabled(if: MountedDisk.isPossible(.tmpfs), "no file system can be mounted here"))
  func aFullDiskEndsTheBatchAndLosesNothing() throws {
    let shelf = try FilmShelf(8, of: FixtureFile.media("demo.mp4"))
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let disk = try MountedDisk(.tmpfs, megabytes: 4)
    let list = try run.list(shelf.names.map { server.url("~rate=800000/\($0)") })
    let out = disk.file("out")
    let words = [
      "-i", list, "-d", out, "-x", "1", "-j", "3", "--archive", "archive", "--results", "log",
      "--json",
    ]
    let outcome = try run.run(words)
    #expect(outcome.status == .exited(40), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.summary.failed["disk-full", default: 0] >= 1 && output.summary.exit == 40)
    #expect(
      output.failures.keys.allSatisfy { ["disk-full", "signal"].contains($0) },
      "\(output.failures)")
    #expect(output.results.count < 8, "no other is begun")
    #expect(try server.gets().count <= 3 + output.summary.okCount!)
    let names = folderNames(out).filter { !$0.hasSuffix(".mp4") }
    #expect(names.allSatisfy(VidfetchRun.isPartOrRecord) && names.count <= 6, "\(names)")

    let before = try server.gets().count
    try outputOfTool(["mount", "-o", "remount,size=64m", disk.path])
    let again = try run.run(words)
    #expect(again.status == .exited(0), "\(again.stderr)")
    try shelf.expectEach(shelf.names, in: out)
    let sent = try server.gets()[before...].reduce(0) { $0 + $1.sent }
    #expect(sent < (8 - output.summary.okCount!) * shelf.size, "the parts were continued")
    #expect(try run.archive("archive") == ["ok"] + shelf.names.map { "\(out)/\($0)" })
  }

  @Test func resultsThatCannotBeWrittenAreAFailure() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "-d", "out", "--results", "/dev/full", server.url("plain.mp4"), server.url("rot90.mp4"),
    ])
    #expect([.exited(40), .exited(41)].contains(outcome.status), "\(outcome.stderr)")
    #expect(outcome.stderr.contains("results"), "\(outcome.stderr)")
  }
}
