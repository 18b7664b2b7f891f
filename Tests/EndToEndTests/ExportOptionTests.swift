// What the options of the export promise, by the real binary: who is kept, what is refused before
// anything is written, and what the ledger says.

import Foundation
import TestSupport
import Testing

@Suite("Export options")
struct ExportOptionTests {
  /// One film with sound in two languages and a text.
  private func film(_ run: VidfetchRun) throws -> String {
    let path = run.file("film.mkv")
    let made = try runTool([
      "ffmpeg", "-nostdin", "-v", "error", "-i", FixtureFile.media("plain.mp4"), "-map", "0:v",
      "-map", "0:a", "-map", "0:a", "-c", "copy", "-metadata:s:a:0", "language=eng",
      "-metadata:s:a:1", "language=ger", "-metadata", "title=Home", path,
    ])
    try #require(made.status == .exited(0), "\(made.stderr)")
    return path
  }

  @Test(arguments: [
    (["--audio", "de"], ["kept", "dropped", "kept"]),
    (["--audio", "en,ger"], ["kept", "kept", "kept"]),
    (["--no-audio"], ["kept", "dropped", "dropped"]),
    (["--streams", "a:1,0"], ["kept", "dropped", "kept"]),
    (["--streams", "v,1", "--strict-lossless"], ["kept", "kept", "dropped"]),
    (["--subtitles", "none"], ["kept", "kept", "kept"]),
  ])
  func keepsWhatIsSelected(words: [String], actions: [String]) throws {
    let run = try VidfetchRun()
    let source = try film(run)
    let outcome = try run.run(words + ["--json", "-o", "out.mp4", source])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try outcome.result().streams?.map(\.action) == actions)
    let kept = try runTool([
      "ffprobe", "-v", "error", "-show_entries", "stream=index", "-of", "csv=p=0",
      run.file("out.mp4"),
    ])
    #expect(kept.stdoutLines.count == actions.filter { $0 == "kept" }.count)
  }

  @Test(arguments: [
    (["--audio", "xx"], "no audio in xx: the source has only eng, deu"),
    (["--streams", "3"], "no stream 3"),
    (["--streams", "s"], "no stream subtitle"), (["--subtitles", "en"], "no subtitle in eng"),
  ])
  func aSelectionThatMatchesNothingIsRefused(words: [String], says: String) throws {
    let run = try VidfetchRun()
    let source = try film(run)
    let outcome = try run.run(words + ["-o", "out.mp4", source])
    expectFailure(
      outcome, 32, of: run, naming: source, says: [says, "--probe lists"], beside: ["work/film.mkv"]
    )
  }

  @Test func tagsAreSetAndStripped() throws {
    let run = try VidfetchRun()
    let source = try film(run)
    for (words, title) in [
      (["--metadata", "title=A=B"], "A=B"), (["--metadata", "title="], nil),
      (["--strip-metadata"], nil), ([], "Home"),
    ] as [([String], String?)] {
      let outcome = try run.run(words + ["--overwrite", "-o", "out.mp4", source])
      #expect(outcome.status == .exited(0), "\(outcome.stderr)")
      let tag = try runTool([
        "ffprobe", "-v", "error", "-show_entries", "format_tags=title", "-of",
        "default=nk=1:nw=1", run.file("out.mp4"),
      ])
      #expect(tag.stdout == title.map { "\($0)\n" } ?? "")
    }
  }

  @Test func theLedgerIsInTheResult() throws {
    let run = try VidfetchRun()
    let source = try film(run)
    let outcome = try run.run(["--verify", "hash", "--json", "-o", "out.mp4", source])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let object = try JSONSerialization.jsonObject(with: Data(outcome.stdout.utf8))
    let streams = try #require((object as? [String: Any])?["streams"] as? [[String: Any]])
    #expect(streams.map { $0["packets"] as? Int } == [50, 95, 95])
    // The two sounds are the same, so are their hashes.
    let hashes = streams.compactMap { $0["sha256"] as? String }
    #expect(hashes.count == 3 && hashes[1] == hashes[2] && hashes[0] != hashes[1])
    #expect(streams.allSatisfy { ($0["payload_bytes"] as? Int ?? 0) > 0 })
  }
}
