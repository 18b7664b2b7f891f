// Text subtitles become mov_text: what ffmpeg reads in the output is what it reads in the source.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Subtitle conversion")
struct SubtitleConversionTests {
  private static let srt = """
    1
    00:00:00,500 --> 00:00:01,250
    First line
    and <i>second</i> line

    2
    00:00:01,250 --> 00:00:02,000
    <b>Touching</b>, with { a brace

    3
    00:00:02,700 --> 00:00:03,400
    <font color="#ff0000">Grüße</font>, 你好 🎬


    """

  private static let ass = """
    [Script Info]
    ScriptType: v4.00+
    PlayResX: 640
    PlayResY: 360
    [V4+ Styles]
    Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, \
    Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, \
    Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
    Style: Default,Arial,20,&H00FFFFFF,&H0,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1
    Style: Sign,Arial,12,&H000000FF,&H0,&H0,&H0,-1,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1
    [Events]
    Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
    Dialogue: 0,0:00:00.50,0:00:02.00,Default,,0,0,0,,{\\an8}Here, {\\i1}there{\\i0}{a note}
    Dialogue: 0,0:00:01.00,0:00:01.50,Sign,,0,0,0,,EXIT
    Dialogue: 1,0:00:01.00,0:00:01.50,Sign,,0,0,0,,EXIT
    Dialogue: 0,0:00:02.50,0:00:03.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0 100 100{\\p0}
    Dialogue: 0,0:00:03.00,0:00:03.50,Default,,0,0,0,,{\\pos(1,1)\\fad(5,5)}Last

    """

  private static let vtt = """
    WEBVTT

    00:00.500 --> 00:01.500 line:0 align:start
    Hello <b>you</b>

    00:02.000 --> 00:03.000
    & bye


    """

  // MARK: What is read is what was read

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func subRipIsReadAsBefore(format: ContainerFormat) throws {
    let source = try Film(subtitles: Self.srt, "srt", codec: "subrip")
    let run = try RemuxRun(source.url, to: format)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let (before, after) = (try cues(source.url), try cues(run.output))
    #expect(after == before)
    #expect(after.map(\.begin) == [500, 1250, 2700])
    #expect(after.map(\.end) == [1250, 2000, 3400])
    #expect(after.last?.text == "Grüße, 你好 🎬")
    let raw = try rawCues(run.output)
    #expect(raw.contains("<i>second</i>"))
    #expect(raw.contains("<b>Touching</b>"))
    #expect(raw.contains("<font color=\"#ff0000\">Grüße"))
    let probe = try run.probe()
    let track = try #require(probe.all("subtitle").first)
    #expect(track.codec_name == "mov_text" && track.codec_tag_string == "tx3g")
    // Five samples: a pause at the beginning and one in between, none of no length.
    #expect(track.packets == 5)
    #expect(abs((run.outcome?.duration ?? 0) - 4) < 0.1)
    #expect(try pictureHash(run.output) == pictureHash(source.url))
  }

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func assKeepsItsTextAndDropsItsDrawings(format: ContainerFormat) throws {
    let source = try Film(subtitles: Self.ass, "ass", codec: "ass")
    let run = try RemuxRun(source.url, to: format)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let read = try cues(run.output)
    #expect(
      read == [
        Cue(begin: 500, end: 1000, text: "Here, there"),
        Cue(begin: 1000, end: 1500, text: "Here, there\nEXIT"),
        Cue(begin: 1500, end: 2000, text: "Here, there"),
        Cue(begin: 3000, end: 3500, text: "Last"),
      ])
    let raw = try rawCues(run.output)
    #expect(raw.contains("<i>there</i>"))
    #expect(raw.contains("<b>"))
    #expect(run.warnings.contains { $0.message.contains("1 subtitles of stream 2 are drawings") })
  }

  @Test func webVTTIsReadAsBefore() throws {
    let source = try Film(subtitles: Self.vtt, "vtt", codec: "webvtt")
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(
      try cues(run.output) == [
        Cue(begin: 500, end: 1500, text: "Hello you"), Cue(begin: 2000, end: 3000, text: "& bye"),
      ])
    #expect(try rawCues(run.output).contains("<b>you</b>"))
  }

  @Test func theResultSaysConvertedAndWhatIsLost() throws {
    let source = try Film(subtitles: Self.srt, "srt", codec: "subrip")
    let run = try RemuxRun(source.url)
    let report = try #require(run.outcome?.plan.streams.last)
    #expect(report.action == .converted)
    #expect(report.codec == "subrip")
    #expect(report.reason?.contains("mov_text") == true)
    #expect(report.reason?.contains("positions") == true)
    let warnings = run.warnings.filter { $0.warning == .streamConverted }
    #expect(warnings.map(\.stream) == [2])
    #expect(run.warnings.count == 1)
    #expect(run.outcome?.ledger.map(\.index) == [0, 1, 2])
    #expect(run.outcome?.ledger.last?.packets == 5)
  }

  @Test(arguments: ["subrip", "mov_text"])
  func theHashOfWhatWasWrittenIsFound(codec: String) throws {
    let source = try Film(
      subtitles: Self.srt, "srt", codec: codec, container: codec == "mov_text" ? "mp4" : "mkv")
    var settings = ExportSettings()
    settings.verification = .hash
    settings.isStrict = true
    let run = try RemuxRun(source.url, settings: settings)
    #expect(run.outcome?.ledger.allSatisfy { $0.sha256 != nil } == true, "\(run.messages)")
  }

  // MARK: What hangs on the track

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func languageTitleAndDispositionsStay(format: ContainerFormat) throws {
    let source = try Film(
      subtitles: Self.srt, "srt", codec: "subrip",
      more: [
        "-metadata:s:s:0", "language=ger", "-metadata:s:s:0", "title=Für Gehörlose",
        "-disposition:s:0", "default+forced",
      ])
    let run = try RemuxRun(source.url, to: format)
    let track = try #require(try run.probe().all("subtitle").first)
    #expect(track.tags?["language"] == "ger")
    #expect(track.disposition?["default"] == 1)
    // displayFlags, which ffprobe 5.1 doesn't read: all samples are forced.
    let entry = try #require(try sampleEntry("tx3g", of: run.output))
    #expect(entry[16] == 0xC0)
  }

  @Test func twoTracksDoNotMix() throws {
    let other = Self.srt.replacingOccurrences(of: "First", with: "Erste")
    let source = try Film(subtitles: Self.srt, "srt", codec: "subrip", second: other)
    let run = try RemuxRun(source.url)
    #expect(try cues(run.output, stream: 0) == cues(source.url, stream: 0))
    #expect(try cues(run.output, stream: 1) == cues(source.url, stream: 1))
    #expect(try cues(run.output, stream: 1).first?.text.hasPrefix("Erste") == true)
  }

  // MARK: mov_text stays what it is

  @Test func movTextIsCopiedSampleBySample() throws {
    let source = try Film(subtitles: Self.srt, "srt", codec: "mov_text", container: "mp4")
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(run.warnings.isEmpty)
    let before = try packetHashes(source.url, "s:0")
    let after = try packetHashes(run.output, "s:0")
    #expect(after == before)
    #expect(try cues(run.output) == cues(source.url))
    let again = try RemuxRun(run.output)
    #expect(try packetHashes(again.output, "s:0") == before)
  }

  // MARK: Odd and damaged

  @Test func textThatIsNoUTF8IsRepairedAndSaid() throws {
    let source = try Film(subtitles: Self.srt, "srt", codec: "subrip")
    var bytes = try Data(contentsOf: source.url)
    let at = try #require(bytes.range(of: Data("First".utf8)))
    bytes[at.lowerBound] = 0xE9
    try bytes.write(to: source.url)
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(try cues(run.output).first?.text.hasPrefix("\u{FFFD}irst line") == true)
    #expect(run.warnings.contains { $0.message.contains("1 subtitles of stream 2 are not UTF-8") })
  }

  @Test func subtitlesThatBeginBeforeTheFilmAreCut() throws {
    // The film begins at 0.7 s, so the first subtitle has begun by then.
    let source = try Film(
      subtitles: Self.srt, "srt", codec: "subrip", more: [], filmStart: "0.7")
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let first = try #require(try cues(run.output).first)
    #expect(first.begin == 0)
    #expect(first.end == 1250 - 700)
  }

  @Test func aStreamWithoutAWordLeavesNoTrack() throws {
    let source = try Film(subtitles: "", "srt", codec: "subrip", second: Self.srt)
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(try run.probe().all("subtitle").count == 1)
    #expect(run.outcome?.plan.streams.map(\.action) == [.kept, .kept, .dropped, .converted])
  }

  @Test func damagedSubtitlesAreCounted() throws {
    // An ASS dialogue without its fields.
    let source = try Film(subtitles: Self.ass, "ass", codec: "ass")
    var bytes = try Data(contentsOf: source.url)
    let at = try #require(bytes.range(of: Data(",{\\pos(1,1)".utf8)))
    var before = at.lowerBound
    while before > at.lowerBound - 14 {
      if bytes[before] == UInt8(ascii: ",") { bytes[before] = UInt8(ascii: ".") }
      before -= 1
    }
    try bytes.write(to: source.url)
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(
      run.warnings.contains {
        $0.warning == .propertyLost && $0.message == "1 subtitles of stream 2 are damaged and lost"
      })
    var settings = ExportSettings()
    settings.isStrict = true
    #expect(try RemuxRun(source.url, settings: settings).error?.code == .cannotPassthrough)
  }
}

// MARK: - Films with subtitles

/// A short film with a subtitle track, made by ffmpeg.
private struct Film {
  let url: URL
  private let folder: Scratch

  init(
    subtitles: String, _ ending: String, codec: String, container: String = "mkv",
    second: String? = nil, more: [String] = [], filmStart: String = "0"
  ) throws {
    folder = try Scratch()
    let text = folder.url.appendingPathComponent("a.\(ending)")
    try subtitles.write(to: text, atomically: true, encoding: .utf8)
    url = folder.url.appendingPathComponent("film.\(container)")
    var arguments = [
      "ffmpeg", "-v", "error", "-bitexact", "-itsoffset", filmStart, "-f", "lavfi", "-i",
      "testsrc2=size=320x180:rate=25:duration=4", "-itsoffset", filmStart, "-f", "lavfi", "-i",
      "sine=duration=4", "-f", ending == "vtt" ? "webvtt" : ending, "-i", text.path,
    ]
    if let second {
      let other = folder.url.appendingPathComponent("b.\(ending)")
      try second.write(to: other, atomically: true, encoding: .utf8)
      arguments += ["-i", other.path]
    }
    arguments += ["-map", "0", "-map", "1", "-map", "2"]
    if second != nil { arguments += ["-map", "3"] }
    arguments += ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-c:a", "alac"]
    arguments += ["-c:s", codec] + more + [url.path]
    try run(arguments)
  }
}

/// One subtitle as ffmpeg reads it, its tags left out.
private struct Cue: Equatable {
  /// Milliseconds.
  var begin: Int
  var end: Int
  var text: String
}

private func rawCues(_ file: URL, stream: Int = 0) throws -> String {
  let data = try run([
    "ffmpeg", "-v", "error", "-i", file.path, "-map", "0:s:\(stream)", "-f", "srt", "-",
  ])
  return String(decoding: data, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
}

private func cues(_ file: URL, stream: Int = 0) throws -> [Cue] {
  func milliseconds(_ text: Substring) -> Int {
    let parts = text.split(whereSeparator: { ":,".contains($0) }).compactMap { Int($0) }
    guard parts.count == 4 else { return -1 }
    return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000 + parts[3]
  }
  return try rawCues(file, stream: stream).components(separatedBy: "\n\n").compactMap { block in
    let lines = block.split(separator: "\n", omittingEmptySubsequences: true)
    guard lines.count > 2 else { return nil }
    let times = lines[1].components(separatedBy: " --> ")
    guard times.count == 2 else { return nil }
    let text = lines.dropFirst(2).joined(separator: "\n")
      .replacingOccurrences(of: "<[^>]*>", with: "", options: .regularExpression)
      .replacingOccurrences(of: "\\{[^}]*\\}", with: "", options: .regularExpression)
    return Cue(
      begin: milliseconds(Substring(times[0])), end: milliseconds(Substring(times[1])), text: text)
  }
}

/// Times and payloads of a stream's packets.
private func packetHashes(_ file: URL, _ stream: String) throws -> [String] {
  let data = try run([
    "ffprobe", "-v", "error", "-select_streams", stream, "-show_packets", "-show_data_hash", "md5",
    "-show_entries", "packet=pts,duration,data_hash", "-of", "csv", file.path,
  ])
  return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
}

/// The first sample entry of a type, header included.
private func sampleEntry(_ type: String, of file: URL) throws -> [UInt8]? {
  let bytes = [UInt8](try Data(contentsOf: file))
  guard let moov = bytes.boxes(in: 0..<bytes.count).first(where: { $0.type == "moov" }) else {
    return nil
  }
  for trak in bytes.boxes(in: moov.payload) where trak.type == "trak" {
    guard let stsd = bytes.box(["mdia", "minf", "stbl", "stsd"], in: trak.payload) else { continue }
    let list = (stsd.payload.lowerBound + 8)..<stsd.payload.upperBound
    if let entry = bytes.boxes(in: list).first, entry.type == type {
      return Array(bytes[entry.range])
    }
  }
  return nil
}
