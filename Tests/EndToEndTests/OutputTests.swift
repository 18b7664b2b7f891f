// Where results go: exact paths, folders, the private folder; what exists already; disks that are
// full or sealed.

import Foundation
import TestSupport
import Testing

@Suite("Output")
struct OutputTests {
  @Test func pathIsTheOnlyThingOnStdout() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "film.mp4", server.url("plain.mp4")])
    try expectSuccess(outcome, at: run.file("film.mp4"), equalTo: "plain.mp4")
    #expect(outcome.stdout == run.file("film.mp4") + "\n")
    #expect(run.leftovers() == ["work/film.mp4"])
  }

  @Test func nulEndsThePathWhenAsked() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-0", "-q", "-o", "film.mp4", server.url("plain.mp4")])
    #expect(outcome.stdout == run.file("film.mp4") + "\0")
    #expect(outcome.stderr == "")
  }

  @Test(arguments: [
    "a.mp4", "a.m4v", "a.mov", "a.qt", "a", "-y.mp4", "part: one.mp4", "100%03d.mp4",
  ])
  func extensionOfTheOutputDecides(name: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["--json", "-o", name, server.url("plain.mp4")])
    try expectSuccess(outcome, at: run.file(name), equalTo: "plain.mp4")
    let quickTime = name.hasSuffix(".mov") || name.hasSuffix(".qt")
    #expect(try outcome.result().format == (quickTime ? "mov" : "mp4"))
    let brand = String(decoding: fileBytes(run.file(name))[8..<12], as: UTF8.self)
    #expect((brand == "qt  ") == quickTime)
    #expect(run.leftovers() == ["work/\(name)"])
  }

  @Test func folderIsMadeAndTheNameComesFromTheURL() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-d", "new/folder", server.url("plain.mp4?session=1")])
    try expectSuccess(outcome, at: run.file("new/folder/plain.mp4"))
    #expect(outcome.stdout == run.file("new/folder/plain.mp4") + "\n")
    let other = try run.run(["-d", "new/folder", "-f", "mov", server.url("hevc.ts")])
    try expectSuccess(other, at: run.file("new/folder/hevc.mov"), equalTo: "hevc.ts")
  }

  @Test func foldersMadeForNothingAreRemoved() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-d", "new/folder", server.url("nothing.mp4")])
    expectFailure(outcome, 20, of: run)
    #expect(folderNames(run.work) == [])
  }

  struct Disposition: Sendable, CustomTestStringConvertible {
    let preset: String
    let name: String
    var testDescription: String { preset }
  }

  @Test(arguments: [
    Disposition(preset: "plain", name: "named clip.mp4"),
    Disposition(preset: "token", name: "token-clip.mp4"),
    Disposition(preset: "inline", name: "inline clip.mp4"),
    Disposition(preset: "star", name: "naïve € clip.mp4"),
    Disposition(preset: "both", name: "bétter.mp4"),
    Disposition(preset: "starfirst", name: "bétter.mp4"),
    Disposition(preset: "latin1", name: "café.mp4"),
    Disposition(preset: "badcharset", name: "fallback.mp4"),
    Disposition(preset: "badpct", name: "fallback.mp4"),
    Disposition(preset: "semicolon", name: "one; two.mp4"),
    Disposition(preset: "case", name: "Case.mp4"),
    Disposition(preset: "traversal", name: "escaped.mp4"),
    Disposition(preset: "abs", name: "absolute.mp4"),
    Disposition(preset: "dots", name: "plain.mp4"),
    Disposition(preset: "empty", name: "plain.mp4"),
    Disposition(preset: "wrongext", name: "setup.mp4"),
    Disposition(preset: "noext", name: "no extension.mp4"),
    Disposition(preset: "nofile", name: "plain.mp4"),
    Disposition(preset: "junk", name: "plain.mp4"),
  ])
  func nameComesFromContentDisposition(_ disposition: Disposition) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-d", "in/side", server.url("~cd=\(disposition.preset)/plain.mp4")])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(run.leftovers() == ["work/in/side/\(disposition.name)"])
  }

  @Test(arguments: [
    "pcttraversal", "backslash", "hidden", "control", "nul", "bidi", "dash", "colon", "percent",
    "reserved", "spaces", "long", "longcjk", "rawutf8", "nfd", "pctplain", "escaped",
  ])
  func hostileNamesAreMadeSafe(preset: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-d", "in/side", server.url("~cd=\(preset)/plain.mp4")])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let left = run.leftovers()
    #expect(left.count == 1 && left[0].hasPrefix("work/in/side/"), "\(left)")
    let name = folderNames(run.file("in/side")).first ?? ""
    #expect(name.hasSuffix(".mp4") && name.utf8.count <= 255 && !name.hasPrefix("."))
    let bad = name.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .surrogate: true
      default: scalar == "/" || scalar == "\\"
      }
    }
    #expect(bad.isEmpty, "\(name)")
  }

  @Test func privateFolderIsPrivateAndNothingIsOverwritten() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let folder = "\(run.temp)/vidfetch-\(getuid())"
    for name in ["plain.mp4", "plain-2.mp4", "plain-3.mp4"] {
      let outcome = try run.run([server.url("plain.mp4")])
      #expect(outcome.stdout == "\(folder)/\(name)\n", "\(outcome.stderr)")
    }
    var status = stat()
    #expect(lstat(folder, &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o700)
    #expect(status.st_uid == getuid())
    #expect(folderNames(folder) == ["plain-2.mp4", "plain-3.mp4", "plain.mp4"])
  }

  @Test func aPrivateFolderThatIsALinkIsRefused() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let elsewhere = run.file("elsewhere")
    try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: false)
    symlink(elsewhere, "\(run.temp)/vidfetch-\(getuid())")
    let outcome = try run.run([server.url("plain.mp4")])
    #expect(outcome.status == .exited(41), "\(outcome.stderr)")
    #expect(folderNames(elsewhere) == [])
  }

  @Test(.enabled(if: Machine.isRoot, "only root can give a folder away"))
  func aPrivateFolderOfAnotherUserIsRefused() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let folder = "\(run.temp)/vidfetch-\(getuid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    chmod(folder, 0o700)
    chown(folder, 65534, 65534)
    let outcome = try run.run([server.url("plain.mp4")])
    #expect(outcome.status == .exited(41), "\(outcome.stderr)")
    #expect(folderNames(folder) == [])
  }

  @Test func anExistingTargetStaysAsItIs() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "mine".write(toFile: run.file("a.mp4"), atomically: false, encoding: .utf8)
    let url = server.url("plain.mp4")
    expectFailure(
      try run.run(["-o", "a.mp4", url]), 41, of: run, naming: "a.mp4",
      says: ["exists", "--overwrite"], beside: ["work/a.mp4"])
    #expect(fileBytes(run.file("a.mp4")) == Data("mine".utf8))
    #expect(try server.log().isEmpty, "found beforehand, so nothing is fetched")
  }

  @Test func skipExistingCountsAsDone() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "mine".write(toFile: run.file("a.mp4"), atomically: false, encoding: .utf8)
    let outcome = try run.run(["--json", "--skip-existing", "-o", "a.mp4", server.url("plain.mp4")])
    #expect(outcome.status == .exited(0))
    let result = try outcome.result()
    #expect(result.skipped == "exists")
    #expect(result.path == run.file("a.mp4"))
    #expect(fileBytes(run.file("a.mp4")) == Data("mine".utf8))
    #expect(try server.log().isEmpty)
  }

  @Test func overwriteReplacesOnlyAfterSuccess() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "mine".write(toFile: run.file("a.mp4"), atomically: false, encoding: .utf8)
    let failed = try run.run(["--overwrite", "-o", "a.mp4", server.url("cut_mdat.mp4")])
    #expect(failed.status == .exited(31))
    #expect(fileBytes(run.file("a.mp4")) == Data("mine".utf8))
    let outcome = try run.run(["--overwrite", "-o", "a.mp4", server.url("plain.mp4")])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
  }

  @Test func aTargetThatAppearsMeanwhileIsNotOverwritten() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try run.start(["-o", "a.mp4", server.url("~rate=90000/resume_a.mp4")])
    try waitUntil("the part") { !VidfetchRun.parts(in: run.work).isEmpty }
    try "mine".write(toFile: run.file("a.mp4"), atomically: false, encoding: .utf8)
    expectFailure(
      try process.wait(), 41, of: run, says: ["exists"], keepsPart: true, beside: ["work/a.mp4"])
    #expect(fileBytes(run.file("a.mp4")) == Data("mine".utf8))
  }

  @Test func keepSourceKeepsTheBytesBesideTheResult() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["--keep-source", "-o", "a.mp4", server.url("late_audio.ts")])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "late_audio.ts")
    #expect(run.leftovers() == ["work/a.mp4", "work/a.source.ts"])
    #expect(fileBytes(run.file("a.source.ts")) == fileBytes(FixtureFile.media("late_audio.ts")))
  }

  @Test func indexStandsLastWhenAsked() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["--no-faststart", "-o", "a.mp4", server.url("plain.mp4")])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let boxes = try MediaFacts.boxes(run.file("a.mp4")).filter { ["moov", "mdat"].contains($0) }
    #expect(boxes == ["mdat", "moov"])
  }

  @Test func aMissingParentFolderIsFoundBeforehand() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "missing/a.mp4", server.url("plain.mp4")])
    expectFailure(outcome, 41, of: run, says: ["missing"])
    #expect(folderNames(run.work) == [])
    #expect(try server.log().isEmpty)
  }

  @Test func aFolderAsOutputIsRefused() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try FileManager.default.createDirectory(
      atPath: run.file("there"), withIntermediateDirectories: false)
    let outcome = try run.run(["-o", "there", server.url("plain.mp4")])
    #expect(outcome.status == .exited(41) || outcome.status == .exited(2), "\(outcome.stderr)")
    #expect(run.leftovers() == [])
  }

  @Test(.enabled(if: Machine.canMount, "no file system can be mounted here"))
  func aReadOnlyFileSystemIsFoundBeforehand() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let disk = try SmallDisk(in: run, kilobytes: 4096)
    try disk.seal()
    for target in [["-o", "disk/a.mp4"], ["-d", "disk"], ["-d", "disk/new"]] {
      let outcome = try run.run(target + [server.url("plain.mp4")])
      expectFailure(outcome, 41, of: run, says: ["read-only"])
    }
    #expect(try server.gets().filter { $0.sent > 0 }.isEmpty, "no body is fetched for nothing")
  }

  @Test func aFolderWithoutPermissionIsRefused() throws {
    let server = try FaultServer()
    let run = try UnprivilegedRun()
    chmod(run.run.work, 0o555)
    let outcome = try run.vidfetch(["-o", "a.mp4", server.url("plain.mp4")])
    expectFailure(outcome, 41, of: run.run, says: ["permission"])
  }

  @Test(.enabled(if: Machine.canMount, "no file system can be mounted here"))
  func aDiskTooSmallIsFoundBeforehand() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let disk = try SmallDisk(in: run, kilobytes: 200)
    let outcome = try run.run(["-o", "disk/a.mp4", server.url("~rate=60000/resume_a.mp4")])
    expectFailure(outcome, 40, of: run, says: ["space"], keepsPart: true)
    #expect(folderNames(disk.path).allSatisfy(VidfetchRun.isPartOrRecord))
    #expect(try server.gets().map(\.sent).reduce(0, +) < 141_246)
  }

  @Test(
    .enabled(if: Machine.canMount, "no file system can be mounted here"), arguments: [100, 180])
  func aDiskThatFillsUpLeavesNothingButThePart(kilobytes: Int) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let disk = try SmallDisk(in: run, kilobytes: kilobytes)
    // Without a length nothing can be known beforehand.
    let outcome = try run.run(["-o", "disk/a.mp4", server.url("~chunked=1/resume_a.mp4")])
    expectFailure(outcome, 40, of: run, says: ["space"], keepsPart: true)
    #expect(folderNames(disk.path).allSatisfy(VidfetchRun.isPartOrRecord))
  }

  @Test func twoRunsOnOneTargetDoNotMeet() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=90000/resume_a.mp4")
    let first = try run.start(["-o", "a.mp4", url])
    try waitUntil("the part") { !VidfetchRun.parts(in: run.work).isEmpty }
    let second = try run.run(["-o", "a.mp4", url])
    #expect(second.status == .exited(41), "\(second.stderr)")
    #expect(second.stdout == "")
    try expectSuccess(try first.wait(), at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
  }

  @Test func twoRunsInThePrivateFolderBothFinish() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=90000/resume_a.mp4")
    let folder = "\(run.temp)/vidfetch-\(getuid())"
    let first = try run.start([url])
    try waitUntil("the part") { !VidfetchRun.parts(in: folder).isEmpty }
    let second = try run.run([url])
    let outcomes = [try first.wait(), second]
    #expect(outcomes.map(\.status) == [.exited(0), .exited(0)], "\(outcomes.map(\.stderr))")
    #expect(folderNames(folder) == ["resume_a-2.mp4", "resume_a.mp4"])
    for name in folderNames(folder) {
      #expect(try MediaFacts("\(folder)/\(name)").packets == ["h264": 100, "aac": 189])
    }
  }

  @Test func stdinIsNotReadWithoutBeingAsked() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = run.file("list")
    try ["plain", "rot90", "sar43"].map { server.url("\($0).mp4\n") }.joined()
      .write(toFile: list, atomically: false, encoding: .utf8)
    let shell = "while read url; do \(VidfetchRun.binary) -q -d made \"$url\"; done < list"
    let process = try ChildProcess(
      ["sh", "-c", shell], environment: run.environment, folder: run.work, captureIn: run.temp)
    #expect(try process.wait().status == .exited(0))
    #expect(folderNames(run.file("made")) == ["plain.mp4", "rot90.mp4", "sar43.mp4"])
  }
}

/// A run as a user without privileges, whoever runs the tests.
struct UnprivilegedRun {
  let run: VidfetchRun
  private let binary: ScratchDirectory
  private let wrapper: [String]

  init() throws {
    run = try VidfetchRun()
    binary = try ScratchDirectory()
    // Copied by another process: a descriptor of ours that is open for writing could be inherited by
    // a child that another thread starts, and then the copy is a "text file busy".
    try outputOfTool(["cp", VidfetchRun.binary, binary.file("vidfetch")])
    chmod(binary.path, 0o755)
    guard Machine.isRoot else {
      wrapper = []
      return
    }
    wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    chmod(run.path, 0o755)
    for folder in [run.work, run.home, run.temp] { chown(folder, 65534, 65534) }
  }

  func vidfetch(_ arguments: [String]) throws -> ProcessOutcome {
    try ChildProcess(
      wrapper + [binary.file("vidfetch")] + arguments, environment: run.environment,
      folder: run.work, captureIn: binary.path
    ).wait()
  }
}
