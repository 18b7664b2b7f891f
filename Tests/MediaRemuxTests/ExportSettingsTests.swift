// What a person wants of an export, obeyed on real files: selection, tags, strictness, proof.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Export settings")
struct ExportSettingsTests {
  private func settings(_ change: (inout ExportSettings) -> Void) -> ExportSettings {
    var settings = ExportSettings()
    change(&settings)
    return settings
  }

  // MARK: Selection

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func leavesOutWhatIsNotSelected(format: ContainerFormat) throws {
    let run = try RemuxRun(
      fixture("plain.mp4"), to: format, settings: settings { $0.selection.audio = .none })
    let probe = try run.probe()
    #expect(probe.video?.packets == 50 && probe.audio == nil)
    let streams = try #require(run.outcome).plan.streams
    #expect(streams.map(\.action) == [.kept, .dropped])
    #expect(streams[1].reason == "it is not selected")
    #expect(run.warnings.isEmpty)
  }

  @Test func soundAloneBeginsAtZero() throws {
    let run = try RemuxRun(
      fixture("late_audio.ts"), settings: settings { $0.selection.streams = [.kind(.audio)] })
    let probe = try run.probe()
    #expect(probe.video == nil && probe.audio != nil)
    #expect(abs(probe.start) < 0.05)
  }

  @Test func aSelectionThatMatchesNothingWritesNothing() throws {
    let run = try RemuxRun(
      fixture("plain.mp4"), settings: settings { $0.selection.streams = [.index(2)] })
    #expect(run.error?.code == .cannotPassthrough)
    #expect(try Data(contentsOf: run.output).isEmpty)
  }

  // MARK: Strictness

  @Test func strictnessRefusesALossBeforeAnythingIsWritten() throws {
    let lax = try RemuxRun(fixture("data_tracks.mov"))
    #expect(lax.outcome?.plan.streams.contains { $0.action == .dropped } == true)
    let strict = try RemuxRun(fixture("data_tracks.mov"), settings: settings { $0.isStrict = true })
    #expect(strict.error?.code == .cannotPassthrough)
    #expect(try Data(contentsOf: strict.output).isEmpty)
  }

  @Test func strictnessDoesNotMindWhatIsLeftOutByWish() throws {
    let run = try RemuxRun(
      fixture("data_tracks.mov"),
      settings: settings {
        $0.isStrict = true
        $0.selection.streams = [.kind(.video), .kind(.audio)]
      })
    #expect(run.error == nil && run.outcome != nil)
  }

  @Test func strictnessLetsALosslessExportPass() throws {
    #expect(
      try RemuxRun(fixture("plain.mp4"), settings: settings { $0.isStrict = true }).outcome != nil)
  }

  // MARK: Tags

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func setsAndTakesAwayTags(format: ContainerFormat) throws {
    let folder = try Scratch()
    let source = folder.url.appendingPathComponent("tagged.mp4")
    try MediaRemuxTests.run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-c", "copy", "-metadata",
      "title=Old", "-metadata", "artist=Somebody", "-metadata", "comment=Words", source.path,
    ])
    let run = try RemuxRun(
      source, to: format,
      settings: settings {
        $0.metadata.changes = [
          .init(key: "title", value: "New"), .init(key: "artist", value: ""),
          .init(key: "genre", value: "Test"),
        ]
      })
    let tags = try #require(try run.probe().format.tags)
    #expect(tags["title"] == "New" && tags["genre"] == "Test" && tags["comment"] == "Words")
    #expect(tags["artist"] == nil)

    let bare = try RemuxRun(
      source, to: format, settings: settings { $0.metadata.strips = true })
    let left = try #require(try bare.probe().format.tags)
    #expect(Set(left.keys).isSubset(of: ["major_brand", "minor_version", "compatible_brands"]))
    #expect(bare.warnings.isEmpty)
  }

  // MARK: Proof

  /// One of each way to frame a payload.
  @Test(arguments: [
    "plain.mp4", "late_audio.ts", "hevc.ts", "hevc_hev1.mp4", "ac3.ts", "data_tracks.mov",
    "rot90.mp4",
  ])
  func hashesOfThePayloadAgreeWithTheOutput(name: String) throws {
    let run = try RemuxRun(fixture(name), settings: settings { $0.verification = .hash })
    let ledger = try #require(run.outcome, "\(String(describing: run.error))").ledger
    #expect(ledger.allSatisfy { $0.sha256?.count == 64 })
  }

  @Test func theSamePayloadHasTheSameHashInAnotherContainer() throws {
    let mov = try RemuxRun(
      fixture("plain.mp4"), to: .mov, settings: settings { $0.verification = .hash })
    let again = try RemuxRun(mov.output, settings: settings { $0.verification = .hash })
    #expect(mov.outcome?.ledger.map(\.sha256) == again.outcome?.ledger.map(\.sha256))
    #expect(try RemuxRun(fixture("plain.mp4")).outcome?.ledger.map(\.sha256) == [nil, nil])
  }

  @Test func theLedgerSaysWhenAStreamBeginsAndEnds() throws {
    let run = try RemuxRun(fixture("late_audio.ts"))
    let ledger = try #require(run.outcome).ledger
    let video = try #require(ledger.first)
    let audio = try #require(ledger.last)
    #expect(abs(try #require(video.first)) < 0.001)
    #expect(abs(try #require(audio.first) - 0.679) < 0.03)
    #expect(try #require(video.last) < video.duration + 0.001)
  }
}
