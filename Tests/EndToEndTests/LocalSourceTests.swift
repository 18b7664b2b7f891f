// Local files as sources: read in place, never harmed.

import Foundation
import TestSupport
import Testing

@Suite("Local sources")
struct LocalSourceTests {
  @Test func pathsAndFileURLsAreReadInPlace() throws {
    let run = try VidfetchRun()
    let source = run.file("source film.ts")
    try FileManager.default.copyItem(atPath: FixtureFile.media("late_audio.ts"), toPath: source)
    let sources = [
      source, "source film.ts", "./source film.ts", "file://\(run.work)/source%20film.ts",
    ]
    for (number, words) in sources.enumerated() {
      let outcome = try run.run(["-o", "\(number).mp4", words])
      try expectSuccess(outcome, at: run.file("\(number).mp4"), equalTo: "late_audio.ts")
    }
    #expect(fileBytes(source) == fileBytes(FixtureFile.media("late_audio.ts")))
    #expect(folderNames(run.work).filter { $0.hasPrefix(".") } == [])
  }

  @Test(arguments: ["missing.mp4", "example.com/film.mp4", "file:///nowhere/film.mp4"])
  func missingFilesAreNotFound(source: String) throws {
    let run = try VidfetchRun()
    let says = source.hasPrefix("example") ? ["https://example.com/film.mp4"] : []
    expectFailure(
      try run.run(["-o", "a.mp4", source]), 20, of: run, naming: source, says: says)
  }

  @Test(arguments: ["same path", "symbolic link", "hard link"])
  func theSourceIsNeverTheTarget(kind: String) throws {
    let run = try VidfetchRun()
    let source = run.file("a.mp4")
    try FileManager.default.copyItem(atPath: FixtureFile.media("plain.mp4"), toPath: source)
    var target = "a.mp4"
    if kind == "symbolic link" {
      target = "b.mp4"
      symlink("a.mp4", run.file(target))
    } else if kind == "hard link" {
      target = "b.mp4"
      link(source, run.file(target))
    }
    let outcome = try run.run(["--overwrite", "-o", target, "a.mp4"])
    #expect(outcome.status == .exited(41), "\(outcome.stderr)")
    #expect(fileBytes(source) == fileBytes(FixtureFile.media("plain.mp4")))
    #expect(VidfetchRun.parts(in: run.work) == [])
  }

  @Test func textSubtitlesAreSaidToBeConverted() throws {
    let run = try VidfetchRun()
    try """
    1
    00:00:00,500 --> 00:00:01,500
    Hello


    """.write(toFile: run.file("a.srt"), atomically: true, encoding: .utf8)
    _ = try runTool([
      "ffmpeg", "-v", "error", "-i", FixtureFile.media("plain.mp4"), "-i", run.file("a.srt"),
      "-map", "0:v", "-map", "1", "-c", "copy", "-c:s", "subrip", run.file("a.mkv"),
    ])
    let outcome = try run.run(["--json", "-o", "a.mp4", "a.mkv"])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let result = try outcome.result()
    let stream = try #require(result.streams?.last)
    #expect(stream.type == "subtitle" && stream.codec == "subrip")
    #expect(stream.action == "converted")
    #expect(stream.reason?.contains("mov_text") == true)
    #expect(
      result.warnings?.contains { $0.stream == 1 && $0.warning == "stream_converted" } == true)
    #expect(outcome.stderr.contains("becomes mov_text"))
    #expect(try MediaFacts(run.file("a.mp4")).packets["mov_text"] == 2)
  }

  @Test func foldersAndDevicesAreNoSources() throws {
    let run = try VidfetchRun()
    for source in ["/tmp", "/dev/null"] {
      let outcome = try run.run(["-o", "a.mp4", source])
      #expect([.exited(30), .exited(41), .exited(22), .exited(20)].contains(outcome.status))
      #expect(run.leftovers() == [])
    }
  }
}
