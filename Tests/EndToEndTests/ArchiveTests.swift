// --archive on the command line: done stays done, whoever did it, and only as long as it is true.

import Foundation
import TestSupport
import Testing

@Suite("Archives")
struct ArchiveTests {
  /// Between its look at the archive and its hold of the part another run does it all.
  @Test(
    .enabled(if: Machine.canTrace, "no system call can be traced here"), arguments: [false, true])
  func whatWasDoneInBetweenIsNotDoneAgain(isLocal: Bool) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let source = isLocal ? FixtureFile.media("plain.mp4") : server.url("plain.mp4")
    let words = ["--archive", "archive", "-d", "out", "--json", source]
    let slow = try run.start(
      words,
      wrapper: [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e",
        "inject=flock:delay_enter=4s",
      ])
    try waitUntil("its folder, whose lock it waits for") {
      FileManager.default.fileExists(atPath: run.file("out"))
    }
    let quick = try run.run(words)
    #expect(quick.status == .exited(0), "\(quick.stderr)")
    #expect(!quick.stdout.contains("\"skipped\":\"archive\""))
    let outcome = try slow.wait()
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(outcome.stdout.contains("\"skipped\":\"archive\""), "\(outcome.stdout)")
    #expect(try server.gets().count == (isLocal ? 0 : 1))
    #expect(folderNames(run.file("out")) == ["plain.mp4"])
  }

  @Test func batchesThatShareAnArchiveFetchEachItemOnce() throws {
    let shelf = try FilmShelf(24)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url("~rate=200000/\($0)") })
    let words = [
      "-i", list, "-d", "out", "-x", "1", "-j", "3", "--archive", "archive", "--results", "log",
      "--json",
    ]
    let both = try [run.start(words), run.start(words)]
    let results = try both.flatMap { process in
      let outcome = try process.wait()
      #expect(outcome.status == .exited(0), "\(outcome.stderr)")
      return try BatchOutput(outcome).results
    }
    #expect(results.count == 48)
    for name in shelf.names {
      let ends = results.filter { $0.url.hasSuffix(name) }
      #expect(ends.count { $0.code == "ok" && $0.skipped == nil } == 1, "\(name)")
      #expect(ends.allSatisfy { $0.code == "ok" }, "\(ends.map(\.code))")
    }
    #expect(try run.recorded("log").count == 48, "whole lines of both")
    #expect(try server.gets().count == 24)
    try shelf.expectEach(shelf.names, in: run.file("out"))
    #expect(
      try run.archive("archive") == ["ok"] + shelf.names.map { run.file("out/\($0)") })
    let third = try run.run(words)
    #expect(third.status == .exited(0), "\(third.stderr)")
    #expect(try BatchOutput(third).summary.skippedCount == 24)
    #expect(try server.gets().count == 24)
  }

  @Test func whatIsGoneOrCutIsFetchedAgain() throws {
    let shelf = try FilmShelf(4)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let out = run.file("out")
    let list = try run.list(shelf.names.map { server.url($0) })
    let words = ["-i", list, "-d", "out", "--archive", "archive", "--json"]
    #expect(try run.run(words).status == .exited(0))
    try FileManager.default.removeItem(atPath: "\(out)/\(shelf.names[0])")
    truncate("\(out)/\(shelf.names[1])", 30_000)
    try server.reset()
    let again = try run.run(words + ["--overwrite"])
    #expect(again.status == .exited(0), "\(again.stderr)")
    let output = try BatchOutput(again)
    #expect(output.summary.okCount == 2 && output.summary.skippedCount == 2)
    #expect(try Set(server.gets().map(\.path)) == Set(shelf.names.prefix(2).map { "/\($0)" }))
    try shelf.expectEach(shelf.names, in: out)
  }

  @Test func aSkippedItemSaysWhereItIs() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let words = ["-d", "out", "--archive", "archive", server.url("plain.mp4")]
    let first = try run.run(words)
    let second = try run.run(["-d", "elsewhere"] + words.dropFirst(2))
    #expect(second.status == .exited(0), "\(second.stderr)")
    #expect(second.stdoutLines == [run.file("out/plain.mp4")] && first.stdout == second.stdout)
    #expect(!run.leftovers().contains { $0.contains("elsewhere") })
    #expect(try server.gets().count == 1)
  }

  @Test func addressesThatAreSignedAnewAreKnownByTheirKey() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let words = ["-d", "out", "--archive", "archive"]
    let key = ["--key", "/([a-z0-9]+)[.]mp4"]
    for signature in ["one", "two"] {
      let outcome = try run.run(words + key + [server.url("plain.mp4?signature=\(signature)")])
      #expect(outcome.status == .exited(0), "\(outcome.stderr)")
      #expect(outcome.stdoutLines == [run.file("out/plain.mp4")])
    }
    #expect(try server.gets().count == 1)
    // Without it another signature is another item, for which the name is taken.
    let other = try run.run(words + [server.url("plain.mp4?signature=three")])
    #expect(other.status == .exited(41), "\(other.stderr)")
  }

  @Test func historyIsThereForAnotherProcess() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let urls = ["plain.mp4", "rot90.mp4", "sar43.mp4"].map { server.url($0) }
    let fetched = try run.run(["-d", "out", "-j", "1", "--archive", "archive"] + urls)
    #expect(fetched.status == .exited(0), "\(fetched.stderr)")
    try FileManager.default.removeItem(atPath: run.file("out/rot90.mp4"))

    struct Video: Decodable {
      let event: String
      let id: String
      let url: String
      let path: String
      let exists: Bool
      let bytes: Int
      let duration: Double
    }
    func history(_ words: [String]) throws -> [Video] {
      let outcome = try run.run(["--history", "--archive", "archive"] + words)
      #expect(outcome.status == .exited(0) && outcome.stderr.isEmpty, "\(outcome.stderr)")
      return try outcome.stdoutLines.map {
        try JSONDecoder().decode(Video.self, from: Data($0.utf8))
      }
    }
    let all = try history([])
    #expect(all.map(\.url) == urls.reversed(), "the newest first")
    #expect(all.map(\.exists) == [true, false, true])
    #expect(all.allSatisfy { $0.event == "video" && abs($0.duration - 2) < 0.1 })
    #expect(all[0].bytes == fileSize(run.file("out/sar43.mp4")))
    #expect(try history([urls[0], all[0].id]).map(\.url) == [urls[2], urls[0]])
    let none = try run.run(["--history", "--archive", "archive", server.url("other.mp4")])
    #expect(none.status == .exited(20) && none.stdout.isEmpty)
    #expect(try server.gets().count == 3)
  }

  @Test func aFileThatIsNoArchiveStaysAsItIs() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let text = String(repeating: "a list that somebody wrote\n", count: 100)
    try text.write(toFile: run.file("notes"), atomically: false, encoding: .utf8)
    let outcome = try run.run(["-d", "out", "--archive", "notes", server.url("plain.mp4")])
    expectFailure(outcome, 41, of: run, naming: "notes", beside: ["work/notes"])
    #expect(fileBytes(run.file("notes")) == Data(text.utf8))
    #expect(try server.log().isEmpty)
  }
}
