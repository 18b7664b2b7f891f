// What a probe finds in real files, and how little it reads for that.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

/// A probe of a local file, whose bytes are announced as they are asked for.
private struct ProbeRun {
  var probe: SourceProbe?
  var error: FetchError?
  /// Bytes that were announced.
  var announced: Int64 = 0

  /// - Parameter piece: how many bytes each wish brings; nil for all of them at once.
  init(
    _ source: URL, _ settings: ExportSettings = ExportSettings(), piece: Int64? = nil,
    onlyForwards: Bool = false
  ) throws {
    let file = open(source.path, O_RDONLY)
    try #require(file >= 0)
    defer { close(file) }
    let size = Int64(try #require(try source.resourceValues(forKeys: [.fileSizeKey]).fileSize))
    let inbox = Inbox()
    let session = try RemuxSession(.probe(settings), source: file, onMessage: { inbox.put($0) })
    session.send(.total(size))
    if onlyForwards { session.send(.onlyForwards) }
    if piece == nil { session.send(.ended(total: size, isFramed: true)) }
    var present = ByteRangeSet()
    while let message = inbox.take() {
      switch message {
      case .want(let offset):
        if let piece, let range = ByteRange(offset, min(offset + piece, size)) {
          present.insert(range)
          session.send(.have(range))
        }
      case .probed(let probe): self.probe = probe
      case .failed(let error): self.error = error
      default: Issue.record("a probe says \(message)")
      }
      if probe != nil || error != nil { break }
    }
    announced = present.byteCount
  }

  func refusal(_ format: ContainerFormat) -> OutcomeCode? {
    probe?.verdict(for: format)?.refusal?.code
  }
}

@Suite struct RemuxProbeTests {
  @Test(
    arguments: [
      ("plain.mp4", "mp4", 2, .first, ["h264", "aac"]),
      ("data_tracks.mov", "mov", 2, .first, ["h264", "aac", "mebx", "tmcd"]),
      ("cover.mkv", "matroska", 2.021, nil, ["h264", "aac", "mjpeg"]),
      ("vp9_opus.webm", "webm", 2.008, nil, ["vp9", "opus"]),
      ("late_audio.ts", "mpegts", 3.004, nil, ["h264", "aac"]),
    ] as [(String, String, Double, SourceProbe.IndexPlace?, [String])])
  func sourcesAreWhatTheyAre(
    name: String, container: String, duration: Double, index: SourceProbe.IndexPlace?,
    codecs: [String]
  ) throws {
    let probe = try #require(try ProbeRun(fixture(name)).probe)
    #expect(probe.container == container && probe.index == index)
    #expect(abs((probe.duration ?? 0) - duration) < 0.01)
    #expect(probe.streams.map(\.codec) == codecs)
    #expect(probe.streams.map(\.index) == Array(codecs.indices))
  }

  @Test(
    arguments: [
      ("rot90.mp4", 120, 160, 270, false), ("mirror.mp4", 160, 120, nil, true),
      ("sar43.mp4", 213, 120, nil, false), ("plain.mp4", 160, 120, nil, false),
    ] as [(String, Int, Int, Int?, Bool)])
  func picturesAreTurnedAndStretched(
    name: String, width: Int, height: Int, rotation: Int?, isMirrored: Bool
  ) throws {
    let video = try #require(try ProbeRun(fixture(name)).probe?.streams[0])
    #expect(video.width == 160 && video.height == 120)
    #expect(video.displayWidth == width && video.displayHeight == height)
    #expect(video.rotation == rotation && video.isMirrored == isMirrored)
    #expect(video.frameRate == 25 && video.dynamicRange == .sdr && video.profile == "High")
  }

  @Test func soundAndWordsAreTold() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("a.mkv")
    try run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-c", "copy", "-metadata:s:a:0",
      "language=deu", "-metadata:s:a:0", "title=Ton", "-disposition:a:0", "default+comment",
      file.path,
    ])
    let audio = try #require(try ProbeRun(file).probe?.streams[1])
    #expect(audio.sampleRate == 48000 && audio.channels == 1 && audio.channelLayout == "mono")
    #expect(audio.language == "deu" && audio.title == "Ton" && audio.profile == "LC")
    #expect(audio.dispositions == ["default", "comment"])
  }

  @Test(
    arguments: [
      ("smpte2084", .pq), ("arib-std-b67", .hlg), ("bt709", .sdr),
    ] as [(String, ProbedStream.DynamicRange)])
  func brightnessIsTold(transfer: String, range: ProbedStream.DynamicRange) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("a.mp4")
    try run([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x64:d=0.2", "-c:v", "mpeg4",
      "-color_primaries", "bt2020", "-color_trc", transfer, "-colorspace", "bt2020nc", file.path,
    ])
    let video = try #require(try ProbeRun(file).probe?.streams[0])
    #expect(video.dynamicRange == range)
    #expect(video.colour.transfer == transfer && video.colour.primaries == "bt2020")
  }

  @Test func verdictsAreThoseOfARun() throws {
    for name in ["plain.mp4", "data_tracks.mov", "cover.mkv", "vp9_opus.webm", "cenc.mp4"] {
      let probe = try ProbeRun(fixture(name))
      for format in ContainerFormat.allCases {
        let remux = try RemuxRun(fixture(name), to: format)
        #expect(probe.refusal(format) == remux.error?.code, "\(name) \(format)")
        if let plan = remux.outcome?.plan {
          #expect(probe.probe?.verdict(for: format)?.streams == plan.streams, "\(name) \(format)")
        }
      }
    }
  }

  @Test(
    arguments: [
      ("cut_mdat.mp4", .damaged), ("cenc.mp4", .encrypted),
    ] as [(String, OutcomeCode)])
  func whatHeadAndIndexShowIsSaidBesideTheStreams(name: String, code: OutcomeCode) throws {
    let probe = try ProbeRun(fixture(name))
    #expect(probe.probe?.streams.map(\.codec) == ["h264", "aac"])
    #expect(ContainerFormat.allCases.allSatisfy { probe.refusal($0) == code })
  }

  @Test(
    arguments: [("no_moov.mp4", .damaged), ("empty.mp4", .notMedia)] as [(String, OutcomeCode)])
  func whatCanNotBeOpenedIsAnError(name: String, code: OutcomeCode) throws {
    #expect(try ProbeRun(fixture(name)).error?.code == code)
  }

  @Test func selectionAndStrictnessCount() throws {
    var settings = ExportSettings()
    settings.isStrict = true
    let strict = try ProbeRun(fixture("data_tracks.mov"), settings)
    #expect(strict.refusal(.mp4) == .cannotPassthrough)
    settings.selection.streams = [.kind(.video), .kind(.audio)]
    let selected = try ProbeRun(fixture("data_tracks.mov"), settings)
    #expect(selected.refusal(.mp4) == nil)
    #expect(
      selected.probe?.verdict(for: .mp4)?.streams.map(\.action)
        == [.kept, .kept, .dropped, .dropped])
    settings.selection.streams = [.index(17)]
    #expect(try ProbeRun(fixture("data_tracks.mov"), settings).refusal(.mp4) == .cannotPassthrough)
  }

  @Test func onlyHeadAndIndexAreAskedFor() throws {
    let scratch = try Scratch()
    let film = try largeFilm(in: scratch)
    let size = Int64(try #require(try film.resourceValues(forKeys: [.fileSizeKey]).fileSize))
    let probe = try ProbeRun(film, piece: 16384)
    #expect(probe.probe?.index == .last && probe.refusal(.mp4) == nil)
    #expect(probe.announced < 1 << 20 && size > 20 << 20, "\(probe.announced) of \(size)")
  }

  @Test func aTransportStreamIsMeasuredFromItsEnd() throws {
    let scratch = try Scratch()
    let film = scratch.url.appendingPathComponent("long.ts")
    try run([
      "ffmpeg", "-v", "error", "-stream_loop", "200", "-i", fixture("hevc.ts").path, "-c", "copy",
      film.path,
    ])
    let probe = try ProbeRun(film, piece: 65536)
    let length = try Probe(film).duration
    #expect(abs((probe.probe?.duration ?? 0) - length) < 0.1)
    let size = Int64(try #require(try film.resourceValues(forKeys: [.fileSizeKey]).fileSize))
    #expect(probe.announced < 6 << 20 && size > 8 << 20, "\(probe.announced) of \(size)")
    let forwards = try ProbeRun(film, piece: 65536, onlyForwards: true)
    #expect(forwards.probe?.duration == nil && forwards.announced < probe.announced)
  }

  @Test(
    arguments: [
      (["frag_keyframe+empty_moov"], nil), (["dash+global_sidx"], 4), (["frag_keyframe"], nil),
    ] as [([String], Double?)])
  func filmsInFragmentsAreAsLongAsTheyDeclare(flags: [String], duration: Double?) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("a.mp4")
    try run(
      ["ffmpeg", "-v", "error", "-i", fixture("moov_first.mp4").path, "-c", "copy", "-movflags"]
        + flags + ["-frag_duration", "500000", file.path])
    let probe = try #require(try ProbeRun(file).probe)
    #expect(probe.index == .fragmented)
    #expect(probe.streams.allSatisfy { $0.bitRate == nil })
    guard let duration else {
      #expect(probe.duration == nil)
      return
    }
    #expect(abs((probe.duration ?? 0) - duration) < 0.1)
  }

  /// A film of 24 MB whose index stands last, most of it in one hole.
  private func largeFilm(in scratch: Scratch) throws -> URL {
    let plain = scratch.url.appendingPathComponent("last.mp4")
    try run(["ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-c", "copy", plain.path])
    let bytes = [UInt8](try Data(contentsOf: plain))
    let moov = try #require(bytes.boxes(in: 0..<bytes.count).first { $0.type == "moov" }?.range)
    let hole = [UInt8].box("free", [UInt8](repeating: 0, count: 24 << 20))
    let film = scratch.url.appendingPathComponent("film.mp4")
    try Data(bytes[..<moov.lowerBound] + hole + bytes[moov.lowerBound...]).write(to: film)
    return film
  }
}
