// The JSON output: its events, their order, one honest fraction.

import Foundation
import TestSupport
import Testing

@Suite("JSON events")
struct EventTests {
  @Test func aRunTellsItsStory() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--progress", "json", "--json", "-o", "a.mp4", server.url("~rate=90000/resume_a.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    let events = try Event.all(in: outcome.stderr)
    #expect(events.allSatisfy { $0.v == 1 })
    #expect(events.first?.event == "start")
    #expect(events.first?.url == server.url("~rate=90000/resume_a.mp4"))
    #expect(events.last?.event == "result")
    #expect(events.filter { $0.event == "result" }.count == 1)
    let progress = events.filter { $0.event == "progress" }
    let fractions = progress.compactMap(\.fraction)
    #expect(fractions.first == 0)
    #expect(fractions == fractions.sorted())
    #expect(fractions.allSatisfy { $0 < 1 })
    #expect(Set(fractions).count > 4, "\(fractions)")
    #expect(Double(progress.count) <= 10 * (outcome.seconds + 1) + 2)
    for event in progress {
      let bytes = try #require(event.bytes)
      if let total = event.total { #expect(bytes <= total && total == 141_246) }
      if let fraction = event.fraction, let download = event.download, let export = event.export {
        #expect(
          abs(fraction - (download + export) / 2) < 0.02 || fraction > (download + export) / 2)
      }
    }
  }

  @Test func theResultSaysEverything() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["--json", "-o", "a.mp4", server.url("data_tracks.mov")])
    let result = try outcome.result()
    #expect(result.code == "ok" && result.exit == 0 && result.fraction == 1)
    #expect(result.path == run.file("a.mp4"))
    #expect(result.bytes == fileSize(run.file("a.mp4")))
    #expect(abs((result.duration ?? 0) - 2) < 0.1)
    #expect(result.format == "mp4" && result.complete_by == "structure")
    #expect(result.attempts == 1)
    let streams = try #require(result.streams)
    #expect(streams.map(\.index) == [0, 1, 2, 3])
    #expect(streams.prefix(3).map(\.type) == ["video", "audio", "data"])
    #expect(streams.prefix(3).map(\.action) == ["kept", "kept", "dropped"])
    #expect(streams[2].reason?.isEmpty == false)
    #expect(result.warnings?.contains { $0.stream == 2 && $0.warning == "stream_dropped" } == true)
  }

  @Test func secretsAreNeverInEvents() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("plain.mp4").replacingOccurrences(of: "//", with: "//viewer:pa55@")
    let outcome = try run.run([
      "--progress", "json", "--json", "-vv", "-H", "X-Key: k3y", "-o", "a.mp4", url,
    ])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    for secret in ["pa55", "k3y"] {
      #expect(!(outcome.stdout + outcome.stderr).contains(secret), "\(secret)")
    }
    #expect(try outcome.result().url == server.url("plain.mp4"))
  }

  @Test func unknownSizesAreNotMadeUp() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--progress", "json", "-o", "a.mp4", server.url("~rate=90000&chunked=1/resume_a.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"))
    let progress = try Event.all(in: outcome.stderr).filter { $0.event == "progress" }
    #expect(progress.first?.fraction == 0)
    for event in progress.dropFirst() where (event.bytes ?? 0) < 141_246 {
      #expect(event.total == nil && (event.fraction ?? 0) == 0)
    }
  }

  @Test func aRetryIsAnEvent() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--progress", "json", "-o", "a.mp4",
      server.url("~drop=60000&times=1/~norange=1/resume_a.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    let names = try Event.all(in: outcome.stderr).map(\.event)
    #expect(names.filter { $0 == "retry" }.count == 1, "\(names)")
    #expect(names.filter { $0 == "restart" }.count == 1, "\(names)")
    let fractions = try Event.all(in: outcome.stderr).filter { $0.event == "progress" }
      .compactMap(\.fraction)
    #expect(fractions == fractions.sorted())
  }

  /// python3-jsonschema is the judge, so that the schema is read as others read it.
  @Test func everyEventKeepsToTheSchema() throws {
    let server = try FaultServer()
    var lines = ""
    for (path, options) in [
      ("~rate=140000/resume_a.mp4", [String]()), ("data_tracks.mov", ["--keep-source"]),
      ("nothing.mp4", []), ("~status=503&retry_after=86400/plain.mp4", []),
      ("~drop=60000&times=1/~norange=1/resume_a.mp4", []), ("vp9_opus.webm", ["-f", "mov"]),
      ("~chunked=1/late_audio.ts", ["-u", "a:b"]), ("cut_mdat.mp4", []),
    ] {
      let run = try VidfetchRun()
      let outcome = try run.run(
        ["--progress", "json", "--json", "-d", "out"] + options + [server.url(path)])
      lines += outcome.stderr + outcome.stdout
    }
    let run = try VidfetchRun()
    try lines.write(toFile: run.file("lines"), atomically: false, encoding: .utf8)
    let script = """
      import json, sys, jsonschema
      schema = json.load(open(sys.argv[1]))
      judge = jsonschema.Draft202012Validator(schema)
      judge.check_schema(schema)
      for line in open(sys.argv[2]):
          for error in judge.iter_errors(json.loads(line)):
              print(line.strip(), error.message)
      """
    let complaints = try outputOfTool([
      "/usr/bin/python3", "-c", script, "\(FixtureFile.packageRoot)/docs/json-events.schema.json",
      run.file("lines"),
    ])
    #expect(complaints == "")
    #expect(Set(try Event.all(in: lines).map(\.event)).count >= 6)
  }

  @Test func informationGoesToStdout() throws {
    let run = try VidfetchRun()
    for words in [
      ["--version"], ["--help"], ["-h"], ["--generate", "man"], ["--generate", "bash"],
    ] {
      let outcome = try run.run(words)
      #expect(outcome.status == .exited(0))
      #expect(!outcome.stdout.isEmpty && outcome.stderr.isEmpty)
    }
    #expect(try run.run(["--version"]).stdout.hasPrefix("vidfetch "))
  }
}
