// `--probe`: the real binary against real servers: what it says, how little it reads, what it leaves.

import Foundation
import TestSupport
import Testing

/// A line of `--probe`, as far as tests look at it.
private struct Finding: Decodable {
  struct Verdict: Decodable {
    let possible: Bool
    let code: String?
  }

  let event: String
  let url: String
  let code: String
  let exit: Int
  let container: String?
  let index: String?
  let size: Int?
  let disk: Int?
  let received: Int
  let attempts: Int
  let mp4: Verdict?
  let mov: Verdict?
}

/// The names of the events in JSON lines.
private func names(_ lines: [String]) throws -> [String] {
  struct Named: Decodable { let event: String }
  return try lines.map { try JSONDecoder().decode(Named.self, from: Data($0.utf8)).event }
}

extension ProcessOutcome {
  /// The one object on stdout.
  fileprivate func finding() throws -> Finding {
    #expect(stdoutLines.count == 1, "\(stdout)")
    return try JSONDecoder().decode(Finding.self, from: Data(stdout.utf8))
  }
}

@Suite("Probe")
struct ProbeTests {
  @Test func aLargeFileCostsItsHeadAndItsIndex() throws {
    let scratch = try ScratchDirectory()
    try LargeFilm.write(to: scratch.file("film.mp4"), hole: 1 << 30)
    let server = try NginxServer(root: scratch.path)
    for url in [server.url("film.mp4"), server.secureURL("film.mp4")] {
      let run = try VidfetchRun()
      let words = url.hasPrefix("https") ? ["--cacert", try TestAuthority.shared.get().caPath] : []
      let outcome = try run.run(["--probe", url] + words)
      #expect(outcome.status == .exited(0), "\(outcome.stderr)")
      let finding = try outcome.finding()
      #expect(finding.index == "last" && finding.size == fileSize(scratch.file("film.mp4")))
      #expect(finding.mp4?.possible == true && finding.mov?.possible == true)
      #expect(finding.received < 2 << 20)
      #expect(run.leftovers() == [])
    }
    try waitUntil("both to be in the log") { server.log().count >= 4 }
    #expect(server.log().reduce(0) { $0 + $1.sent } < 2 * (2 << 20), "\(server.log())")
    #expect(server.log().allSatisfy { $0.method == "GET" && $0.status == 206 })
  }

  @Test(
    arguments: [
      ("plain.mp4", [], 0), ("vp9_opus.webm", [], 0), ("vp9_opus.webm", ["-f", "mov"], 32),
      ("cenc.mp4", [], 33), ("cut_mdat.mp4", [], 31), ("no_moov.mp4", [], 31),
      ("empty.mp4", [], 30), ("nothing.mp4", [], 20),
      ("data_tracks.mov", ["--strict-lossless"], 32),
      ("data_tracks.mov", ["--strict-lossless", "--streams", "v,a"], 0),
    ] as [(String, [String], Int32)])
  func theExitStatusSaysWhetherARunCouldSucceed(
    name: String, words: [String], code: Int32
  ) throws {
    let server = try NginxServer()
    for source in [server.url(name), FixtureFile.media(name)] {
      let run = try VidfetchRun()
      let outcome = try run.run(["--probe", source] + words)
      #expect(outcome.status == .exited(code), "\(outcome.stderr)")
      let finding = try outcome.finding()
      #expect(finding.event == "probe" && finding.exit == Int(code))
      if code != 0 {
        #expect(outcome.stderrLines.last?.hasPrefix("vidfetch: \(finding.url): ") == true)
      } else {
        #expect(outcome.stderr == "")
      }
      #expect(run.leftovers() == [])
    }
  }

  @Test func theDiskNeedIsPartAndResult() throws {
    let server = try NginxServer()
    let run = try VidfetchRun()
    let size = try #require(fileSize(FixtureFile.media("plain.mp4")))
    let remote = try run.run(["--probe", server.url("plain.mp4")]).finding()
    let local = try run.run(["--probe", FixtureFile.media("plain.mp4")]).finding()
    #expect(remote.disk == 2 * size + 1 << 20 && local.disk == size + 1 << 20)
    #expect(local.received == 0 && local.attempts == 0)
  }

  @Test func severalSourcesAreABatch() throws {
    let server = try NginxServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--probe", "-q", server.url("plain.mp4"), server.url("nothing.mp4"), server.url("cenc.mp4"),
    ])
    #expect(outcome.status == .exited(50))
    #expect(try names(outcome.stdoutLines) == ["probe", "probe", "probe", "summary"])
    #expect(outcome.stderrLines.count == 2)
  }

  @Test func secretsStayWithTheirOriginAndAreNeverShown() throws {
    let server = try NginxServer()
    let run = try VidfetchRun()
    let url = server.url("private/plain.mp4")
    #expect(try run.run(["--probe", url]).status == .exited(21))
    let secret = url.replacingOccurrences(
      of: "//", with: "//\(NginxServer.user):\(NginxServer.password)@")
    let outcome = try run.run(["--probe", "-vv", secret])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try outcome.finding().url == url)
    #expect(!(outcome.stdout + outcome.stderr).contains(NginxServer.password))
  }

  /// python3-jsonschema is the judge, so that the schema is read as others read it.
  @Test func everyLineKeepsToTheSchema() throws {
    let server = try FaultServer()
    var lines: [String] = []
    let fixtures = folderNames(FixtureFile.mediaFolder).map { FixtureFile.media($0) }
    let remotes = ["~drop=1000&times=1/plain.mp4", "nothing.mp4", "~norange=1/plain.mp4"]
    for words in [fixtures, fixtures + ["-f", "mov"], remotes.map { server.url($0) }] {
      let outcome = try VidfetchRun().run(["--probe", "--progress=json"] + words)
      lines += outcome.stdoutLines + outcome.stderrLines
    }
    let run = try VidfetchRun()
    try lines.joined(separator: "\n").write(
      toFile: run.file("lines"), atomically: false, encoding: .utf8)
    let script = """
      import json, sys, jsonschema
      judge = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
      for line in open(sys.argv[2]):
          for error in judge.iter_errors(json.loads(line)):
              print(line.strip(), error.message)
      """
    let complaints = try outputOfTool([
      "/usr/bin/python3", "-c", script, "\(FixtureFile.packageRoot)/docs/json-events.schema.json",
      run.file("lines"),
    ])
    #expect(complaints == "")
    #expect(try Set(names(lines)).isSuperset(of: ["start", "retry", "probe", "summary"]))
  }

  @Test(arguments: [80, 40])
  func aTerminalGetsATable(columns: Int) throws {
    let run = try VidfetchRun()
    try FileManager.default.copyItem(
      atPath: FixtureFile.media("data_tracks.mov"), toPath: run.file("a.mov"))
    let terminal = try Terminal(
      columns: columns, rows: 50, "cd '\(run.work)' && '\(VidfetchRun.binary)' --probe a.mov",
      environment: run.environment)
    #expect(try terminal.waitForEnd() == 0)
    let screen = try terminal.screen()
    #expect(screen.allSatisfy { $0.count <= columns })
    #expect(screen.first == "a.mov" && screen[1].hasPrefix("QuickTime, 0:02, 48.8 kB, index"))
    #expect(screen.contains { $0.contains("stream 2 dropped: mebx") })
    #expect(!screen.joined().contains("{"))
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalEndsItWithinASecond(number: Int32) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try run.start(["--probe", server.url("~stall=2000/resume_a.mp4")])
    try waitUntil("the request") { try server.gets().count == 1 }
    let start = now()
    process.signal(number)
    let outcome = try process.wait()
    #expect(outcome.status == .signalled(number), "\(outcome.stderr)")
    #expect(now() - start < 1)
    #expect(outcome.stderrLines.last == "vidfetch: interrupted")
    #expect(run.leftovers() == [])
  }
}
