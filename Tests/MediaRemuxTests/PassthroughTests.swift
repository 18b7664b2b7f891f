// What people reported of tools of this sort, and what must be seen of this one. Real files, real
// outputs, read by ffprobe.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Passthrough")
struct PassthroughTests {
  @Test(arguments: [ContainerFormat.mp4, .mov])
  func keepsEveryPacketAndPutsTheIndexFirst(format: ContainerFormat) throws {
    let run = try RemuxRun(fixture("plain.mp4"), to: format)
    let outcome = try #require(run.outcome, "\(String(describing: run.error))")
    let probe = try run.probe()
    #expect(probe.video?.packets == 50)
    #expect(probe.audio?.packets == 95)
    #expect(probe.video?.matrices.isEmpty == true)
    #expect(abs(probe.duration - 2.0) < 0.1)
    #expect(try topBoxes(run.output).prefix(2) == ["ftyp", "moov"])
    #expect(try pictureHash(run.output) == pictureHash(fixture("plain.mp4")))
    #expect(outcome.completeBy == .structure)
    #expect(outcome.bytes == Int64(try Data(contentsOf: run.output).count))
    #expect(outcome.ledger.map(\.packets) == [50, 95])
    #expect(abs(outcome.duration - 2.0) < 0.05)
    #expect(run.warnings.isEmpty)
  }

  @Test func putsTheIndexLastWhereAsked() throws {
    var settings = ExportSettings()
    settings.indexFirst = false
    let run = try RemuxRun(fixture("plain.mp4"), settings: settings)
    #expect(run.outcome != nil)
    #expect(try topBoxes(run.output).last == "moov")
    #expect(try run.probe().video?.packets == 50)
  }

  @Test func givesTheSameBytesForTheSameSource() throws {
    let first = try RemuxRun(fixture("late_audio.ts"))
    let second = try RemuxRun(fixture("late_audio.ts"))
    #expect(try Data(contentsOf: first.output) == Data(contentsOf: second.output))
  }

  // MARK: HEVC that Apple players refuse

  @Test(arguments: ["hevc_hev1.mp4", "hevc.ts"], [ContainerFormat.mp4, .mov])
  func tagsHEVCForApplePlayersWithItsParameterSets(name: String, format: ContainerFormat) throws {
    let run = try RemuxRun(fixture(name), to: format)
    let probe = try run.probe()
    #expect(probe.video?.codec_tag_string == "hvc1")
    #expect(probe.video?.packets == 50)
    #expect(try pictureHash(run.output) == pictureHash(fixture(name)))
    let configuration = try #require(try sampleEntryBox("hvcC", of: run.output))
    #expect(configuration[8 + 22] >= 3)
  }

  @Test func neverSaysHvc1WithoutParameterSets() throws {
    // The precondition: the source's configuration is empty.
    let before = try #require(try sampleEntryBox("hvcC", of: fixture("hevc_inband.mp4")))
    #expect(before[8 + 22] == 0)
    let run = try RemuxRun(fixture("hevc_inband.mp4"))
    #expect(try run.probe().video?.codec_tag_string == "hvc1")
    let configuration = try #require(try sampleEntryBox("hvcC", of: run.output))
    #expect(configuration[8 + 22] == 3)
    #expect(try pictureHash(run.output) == pictureHash(fixture("hevc_inband.mp4")))
  }

  // MARK: Sideways video

  @Test(arguments: ["rot90.mp4", "mirror.mp4"], [ContainerFormat.mp4, .mov])
  func keepsTheWholeDisplayMatrixOnce(name: String, format: ContainerFormat) throws {
    let run = try RemuxRun(fixture(name), to: format)
    let (before, after) = (try Probe(fixture(name)), try run.probe())
    #expect(after.video?.matrices == before.video?.matrices)
    #expect(after.video?.matrices.count == 1)
    #expect(after.video?.width == before.video?.width)
    #expect(after.video?.height == before.video?.height)
  }

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func keepsThePixelAspect(format: ContainerFormat) throws {
    let run = try RemuxRun(fixture("sar43.mp4"), to: format)
    #expect(try run.probe().video?.sample_aspect_ratio == "4:3")
  }

  // MARK: Sound early or late after a transport stream

  @Test func startsAtZeroAndKeepsLateSoundLate() throws {
    let probe = try RemuxRun(fixture("late_audio.ts")).probe()
    let (video, audio) = (try #require(probe.video), try #require(probe.audio))
    #expect(abs(audio.start - video.start - 0.679) < 0.03)
    #expect(min(video.start, audio.start) < 0.05)
    #expect(abs(probe.duration - 3.0) < 0.8)
    #expect((audio.extradata_size ?? 0) > 0)
  }

  @Test func startsAtZeroAndKeepsEarlySoundEarly() throws {
    let probe = try RemuxRun(fixture("early_audio.ts")).probe()
    let (video, audio) = (try #require(probe.video), try #require(probe.audio))
    #expect(abs(video.start - audio.start - 0.541) < 0.03)
    #expect(min(video.start, audio.start) < 0.05)
    #expect((audio.extradata_size ?? 0) > 0)
  }

  @Test func leavesAC3Alone() throws {
    let run = try RemuxRun(fixture("ac3.ts"))
    #expect(try run.probe().audio?.codec_name == "ac3")
    #expect(run.outcome?.completeBy == .framing)
  }

  // MARK: Tracks that a container has no place for

  @Test func leavesOutTheDataTrackThatMp4HasNoPlaceForAndSaysSo() throws {
    let run = try RemuxRun(fixture("data_tracks.mov"))
    let probe = try run.probe()
    #expect(probe.video?.packets == 50)
    #expect(probe.audio?.packets == 95)
    let dropped = run.warnings.filter { $0.warning == .streamDropped }
    #expect(dropped.count == 1)
    #expect(dropped.first?.message.contains("mebx") == true)
    #expect(dropped.first?.stream == 2)
    #expect(probe.streams.contains { $0.codec_tag_string == "tmcd" })
  }

  // MARK: The cover is not the film

  @Test(arguments: ["cover.mp4", "cover_first.mp4", "cover.mkv"])
  func keepsTheCoverACover(name: String) throws {
    let run = try RemuxRun(fixture(name))
    let probe = try run.probe()
    let video = try #require(probe.video)
    #expect(video.codec_name == "h264")
    #expect(video.packets == 50)
    #expect(video.disposition?["default"] == 1)
    #expect(probe.streams.filter(\.isCover).allSatisfy { $0.disposition?["default"] == 0 })
    #expect(probe.streams.contains(where: \.isCover) || !run.warnings.isEmpty)
    #expect(abs(probe.duration - 2.0) < 0.1)
    #expect(abs((run.outcome?.duration ?? 0) - 2.0) < 0.1)
  }

  @Test(arguments: ["cover.mp4", "cover_first.mp4", "cover.mkv"])
  func keepsTheCoverAmongTheMetadataOfMov(name: String) throws {
    let run = try RemuxRun(fixture(name), to: .mov)
    let probe = try run.probe()
    #expect(probe.streams.count(where: \.isCover) == 1)
    #expect(probe.video?.packets == 50)
    #expect(run.warnings.allSatisfy { $0.warning == .timestampsRepaired })
  }

  // MARK: Decided by content, not by name

  @Test(arguments: ["vp9_opus.webm", "vp9_named.MOV"])
  func putsVP9IntoMp4(name: String) throws {
    let run = try RemuxRun(fixture(name))
    let probe = try run.probe()
    #expect(probe.video?.codec_name == "vp9")
    #expect(probe.video?.packets == 50)
  }

  @Test(arguments: ["vp9_opus.webm", "vp9_named.MOV"])
  func refusesVP9InMovNamingWhatWorks(name: String) throws {
    let run = try RemuxRun(fixture(name), to: .mov)
    let error = try #require(run.error)
    #expect(error.code == .cannotPassthrough)
    #expect(error.message.contains("vp9"))
    #expect(error.message.contains("mov"))
    #expect(error.recovery?.contains("mp4") == true)
    #expect(try run.output.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0)
  }

  // MARK: Side effects

  @Test func progressNeverFalls() throws {
    let run = try RemuxRun(fixture("resume_a.mp4"), feeding: .inOrder(4096))
    let positions = run.counters.map(\.sourcePosition)
    #expect(positions == positions.sorted())
    #expect(run.outcome?.counters.sourcePosition == 141_246)
  }

  @Test func oneAndOnlyOneLastMessage() throws {
    let run = try RemuxRun(fixture("plain.mp4"))
    let last = run.messages.filter {
      switch $0 {
      case .finished, .failed: true
      default: false
      }
    }
    #expect(last.count == 1)
    let plans = run.messages.filter { if case .planned = $0 { true } else { false } }
    #expect(plans.count == 1)
  }

  // MARK: Languages

  @Test(arguments: ["deu", "swe", "eng", "zho"], [ContainerFormat.mp4, .mov])
  func keepsALanguageThatTheMacintoshDidNotKnow(language: String, format: ContainerFormat) throws {
    let folder = try Scratch()
    let source = folder.url.appendingPathComponent("film.mkv")
    try MediaRemuxTests.run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-c", "copy", "-metadata:s:a:0",
      "language=\(language)", source.path,
    ])
    let run = try RemuxRun(source, to: format)
    #expect(try run.probe().audio?.tags?["language"] == language)
    #expect(run.warnings.isEmpty)
  }
}

/// A box of the first sample entry of a file's first video track, header included.
private func sampleEntryBox(_ type: String, of file: URL) throws -> [UInt8]? {
  let bytes = [UInt8](try Data(contentsOf: file))
  guard let moov = bytes.boxes(in: 0..<bytes.count).first(where: { $0.type == "moov" }) else {
    return nil
  }
  for trak in bytes.boxes(in: moov.payload) where trak.type == "trak" {
    guard let stsd = bytes.box(["mdia", "minf", "stbl", "stsd"], in: trak.payload) else { continue }
    let entry = SampleEntry(Array(bytes[stsd.payload]), handler: "vide")
    if let box = entry.firstBoxes[type] { return box }
  }
  return nil
}
