// Targets, limits and moments that nobody plans for.

import Foundation
import TestSupport
import Testing

@Suite(.serialized)
struct OddPlaceTests {
  @Test(arguments: [[], ["--overwrite"], ["--skip-existing"]])
  func aPipeAsOutputIsRefusedAndStays(options: [String]) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    mkfifo(run.file("pipe.mp4"), 0o600)
    for source in [server.url("plain.mp4"), FixtureFile.media("plain.mp4")] {
      let outcome = try run.run(options + ["-o", "pipe.mp4", source])
      #expect(outcome.status == .exited(41), "\(outcome.stderr)")
    }
    var status = stat()
    #expect(lstat(run.file("pipe.mp4"), &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
  }

  @Test func aFolderDoesNotCountAsDone() throws {
    let run = try VidfetchRun()
    try FileManager.default.createDirectory(
      atPath: run.file("film.mp4"), withIntermediateDirectories: false)
    let outcome = try run.run(
      ["--skip-existing", "-o", "film.mp4", FixtureFile.media("plain.mp4")])
    #expect(outcome.status == .exited(41) && outcome.stdout.isEmpty)
  }

  @Test(.enabled(if: !Machine.isSanitized, "the sanitizer's own memory is under that limit too"))
  func aLimitOnTheSizeOfFilesIsAnErrorAndNotADeath() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["--json", "-o", "film.mp4", server.url("resume_a.mp4")],
      wrapper: ["prlimit", "--fsize=65536", "--"])
    #expect(outcome.status == .exited(42), "\(outcome.status) \(outcome.stderr)")
    #expect(outcome.stdout.contains("\"code\":\"local-io\""))
    #expect(!FileManager.default.fileExists(atPath: run.file("film.mp4")))
  }

  @Test func maxFilesizeHoldsForLocalFilesToo() throws {
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["--max-filesize", "1000", "-o", "film.mp4", FixtureFile.media("plain.mp4")])
    #expect(outcome.status == .exited(22))
  }

  @Test func anEmptyTMPDIRMeansTheUsualPlace() throws {
    let run = try VidfetchRun()
    let outcome = try run.run(["-q", FixtureFile.media("plain.mp4")], extra: ["TMPDIR": ""])
    let path = outcome.stdout.trimmingCharacters(in: .newlines)
    #expect(path.hasPrefix("/tmp/vidfetch-\(geteuid())/plain"))
    try? FileManager.default.removeItem(atPath: path)
  }

  @Test func anExistingKeptSourceIsFoundBeforehand() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "mine".write(toFile: run.file("plain.source.mp4"), atomically: true, encoding: .utf8)
    let outcome = try run.run(["--keep-source", "-o", "plain.mp4", server.url("plain.mp4")])
    #expect(outcome.status == .exited(41))
    #expect(folderNames(run.work) == ["plain.source.mp4"])
  }

  /// Killed right before the source gets its name: the next run has the result, and keeps the source.
  @Test(.enabled(if: Machine.canTrace, "no system call can be traced here"))
  func aKillBetweenResultAndSourceLosesNeither() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["--keep-source", "-d", "out", server.url("resume_a.mp4")]
    let killed = try run.run(
      arguments,
      wrapper: [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat", "-e",
        "inject=linkat:signal=SIGKILL:when=2",
      ])
    #expect(killed.status != .exited(0))
    #expect(FileManager.default.fileExists(atPath: run.file("out/resume_a.mp4")))
    let again = try run.run(arguments)
    #expect(again.status == .exited(0), "\(again.stderr)")
    #expect(folderNames(run.file("out")) == ["resume_a.mp4", "resume_a.source.mp4"])
    #expect(
      fileBytes(run.file("out/resume_a.source.mp4"))
        == fileBytes(FixtureFile.media("resume_a.mp4")))
    #expect(try server.gets().count == 1)
  }

  /// The disk tells an error once; it must not be told to a call that nobody listens to.
  @Test(
    .enabled(if: Machine.canTrace, "no system call can be traced here"),
    arguments: ["sync_file_range", "fsync"])
  func diskThatFailsToWriteIsAFailure(_ call: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-o", "film.mp4", server.url("plain.mp4")],
      wrapper: [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
        "inject=\(call):error=EIO",
      ])
    expectFailure(outcome, 42, of: run, keepsPart: true)
  }

  /// What is synced behind the job is told to the job.
  @Test(.enabled(if: Machine.canTrace, "no system call can be traced here"))
  func diskThatFailsToKeepThePartIsAFailure() throws {
    let run = try VidfetchRun()
    let root = run.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    try NoisyFilm.write(to: root + "/noise.mp4", frames: 900)
    let server = try FaultServer(root: root)
    let outcome = try run.run(
      ["--limit-rate", "1M", "-o", "film.mp4", server.url("noise.mp4")],
      wrapper: [
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
        "inject=fdatasync:error=EIO",
      ])
    #expect(outcome.status == .exited(42), "\(outcome.stderr)")
    #expect(outcome.stderr.contains("syncing"), "\(outcome.stderr)")
  }

  @Test func resultKeepsNoRoomThatItDoesNotNeed() throws {
    let run = try VidfetchRun()
    try NoisyFilm.write(to: run.file("noise.mp4"), frames: 900)
    try LargeFilm.write(to: run.file("hollow.mp4"), hole: 200 << 20)
    #expect(fileSize(run.file("noise.mp4")) ?? 0 > 33 << 20, "large enough for room ahead")
    for name in ["noise", "hollow"] {
      let result = run.file("\(name).mov")
      let outcome = try run.run(["-o", result, run.file("\(name).mp4")])
      try expectSuccess(outcome, at: result)
      let size = try #require(fileSize(result))
      #expect(allocatedBytes(result) <= size + (64 << 10))
    }
  }

  @Test func replacedSourceLeavesNoRecordThatTheNextRunBelieves() throws {
    let run = try VidfetchRun()
    let root = run.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    let server = try FaultServer(root: root)
    let arguments = ["--keep-source", "--overwrite", "-o", "film.mp4", server.url("film.mp4")]
    for media in ["resume_a.mp4", "plain.mp4", "resume_a.mp4"] {
      try? FileManager.default.removeItem(atPath: root + "/film.mp4")
      try FileManager.default.copyItem(atPath: FixtureFile.media(media), toPath: root + "/film.mp4")
      let outcome = try run.run(arguments)
      #expect(outcome.status == .exited(0), "\(outcome.stderr)")
      #expect(fileBytes(run.file("film.source.mp4")) == fileBytes(FixtureFile.media(media)))
      #expect(folderNames(run.work) == ["film.mp4", "film.source.mp4", "root"])
    }
  }

  @Test func targetThatTurnsUpMeanwhileCanCountAsDoneAndLeavesNothing() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try run.start(
      ["--skip-existing", "-o", "film.mp4", server.url("~rate=100000/resume_a.mp4")])
    try waitUntil("the part to grow") {
      VidfetchRun.parts(in: run.work).contains { (fileSize(run.file($0)) ?? 0) > 0 }
    }
    try "mine".write(toFile: run.file("film.mp4"), atomically: false, encoding: .utf8)
    let outcome = try process.wait()
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(folderNames(run.work) == ["film.mp4"])
    #expect(fileBytes(run.file("film.mp4")) == Data("mine".utf8))
  }
}
