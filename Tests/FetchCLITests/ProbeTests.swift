import FetchCore
import Foundation
import Testing
import VidFetchKit

@testable import FetchCLI

/// A source with every kind of stream and every fact that one can have.
private let film: ProbeResult = {
  var video = ProbedStream(index: 0, type: .video, codec: "hevc")
  video.profile = "Main 10"
  (video.width, video.height) = (3840, 2160)
  (video.displayWidth, video.displayHeight) = (2160, 3840)
  video.rotation = 90
  video.isMirrored = true
  video.frameRate = 24000.0 / 1001
  video.dynamicRange = .dolbyVision(profile: 8)
  video.colour.primaries = "bt2020"
  video.colour.transfer = "arib-std-b67"
  video.colour.matrix = "bt2020nc"
  video.colour.range = "tv"
  video.bitRate = 24_510_000
  video.dispositions = ["default"]
  var audio = ProbedStream(index: 1, type: .audio, codec: "eac3")
  audio.sampleRate = 44100
  audio.channels = 6
  audio.channelLayout = "5.1(side)"
  audio.bitRate = 640_000
  audio.language = "deu"
  audio.title = "Kommentar\u{1b}[31m\n\u{202e}des Regisseurs"
  var text = ProbedStream(index: 2, type: .subtitle, codec: "subrip")
  text.language = "und"
  text.dispositions = ["forced", "hearing_impaired"]
  var cover = ProbedStream(index: 10, type: .video, codec: "mjpeg")
  (cover.width, cover.height) = (600, 600)
  (cover.displayWidth, cover.displayHeight) = (600, 600)
  cover.isAttachedPicture = true
  cover.dispositions = ["attached_pic"]

  var source = SourceProbe(container: "matroska")
  source.duration = 5025.5
  source.chapters = 12
  source.streams = [video, audio, text, cover]
  var mp4 = PassthroughVerdict(format: .mp4)
  mp4.streams = [
    StreamReport(index: 0, type: .video, codec: "hevc", action: .kept),
    StreamReport(index: 1, type: .audio, codec: "eac3", action: .kept),
    StreamReport(
      index: 2, type: .subtitle, codec: "subrip", action: .dropped,
      reason: "mp4 cannot hold subrip unchanged"),
    StreamReport(index: 10, type: .video, codec: "mjpeg", action: .kept),
  ]
  mp4.warnings = [
    FetchWarning(.streamDropped, stream: 2, "subtitle stream 2 (subrip) dropped"),
    FetchWarning(.propertyLost, "two attachments are left out"),
  ]
  var mov = PassthroughVerdict(format: .mov)
  mov.refusal = FetchError(
    .cannotPassthrough, "mov cannot hold it", reason: "because", recovery: "mp4 works: use -f mp4")
  source.verdicts = [mp4, mov]

  var result = ProbeResult(url: "https://example.com/film.mkv", format: .mp4)
  result.source = source
  result.size = 15_400_000_000
  result.diskNeed = 30_801_048_576
  result.received = 262_144
  result.attempts = 2
  result.warnings = [FetchWarning(.remoteChanged, "it changed")]
  return result
}()

@Suite struct ProbeTableTests {
  @Test(arguments: [80, 40])
  func tableIsWhatIsStored(width: Int) throws {
    let file = repositoryFile("Tests/FetchCLITests/Snapshots/probe-\(width).txt")
    let text = ProbeTable.text(film, width: width)
    #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(text)")
  }

  @Test func noLineIsWiderThanTheScreen() {
    var wide = film
    wide.url = "https://example.com/" + String(repeating: "\u{6620}\u{50cf}", count: 60)
    wide.source?.streams[1].title = String(repeating: "\u{6620}", count: 90)
    wide.source?.streams[2].codec = "a_codec_of_a_most_excessive_name"
    for width in 24...130 {
      for line in ProbeTable.text(wide, width: width).split(separator: "\n") {
        #expect(DisplayWidth.of(String(line)) <= width, "\(width): \(line)")
      }
    }
  }

  @Test func nothingFromOutsideReachesTheTerminalRaw() {
    let text = ProbeTable.text(film, width: 80)
    #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !Printable.isUnsafe($0) })
    #expect(text.contains("\\u{1b}") && text.contains("\\u{202e}"))
  }

  @Test func whatCouldNotBeOpenedHasNoTable() {
    #expect(ProbeTable.text(ProbeResult(url: "u", format: .mp4), width: 80) == "")
  }

  @Test(
    arguments: [
      (25, "25"), (24000.0 / 1001, "23.976"), (44.1, "44.1"), (0, "0"), (0.0004, "0"),
      (-1.5, "-1.5"), (.infinity, "?"), (1e300, "?"),
    ] as [(Double, String)])
  func numbersHaveNoMoreDecimalsThanTheyNeed(value: Double, text: String) {
    #expect(Figures.number(value) == text)
  }

  @Test(
    arguments: [
      (0, "0 b/s"), (999, "999 b/s"), (1000, "1 kb/s"), (127_950, "128 kb/s"),
      (4_500_000, "4.5 Mb/s"), (-5, "0 b/s"), (.max, "? Mb/s"),
    ] as [(Int64, String)])
  func bitRatesAreRounded(rate: Int64, text: String) {
    #expect(Figures.bitRate(rate) == text)
  }
}

@Suite struct ProbeJSONTests {
  @Test func aProbeSaysEverythingInAStableOrder() {
    let head =
      #"{"v":1,"event":"probe","job":3,"url":"https://example.com/film.mkv","code":"ok","exit":0,"#
      + #""retryable":false,"format":"mp4","container":"matroska","duration":5025.5,"#
      + #""size":15400000000,"chapters":12,"streams":[{"index":0,"type":"video","codec":"hevc","#
      + #""profile":"Main 10","width":3840,"height":2160,"display_width":2160,"#
      + #""display_height":3840,"rotation":90,"mirrored":true,"frame_rate":23.976024,"#
      + #""resolution":"4K","hdr":"Dolby Vision 8","color":{"primaries":"bt2020","#
      + #""transfer":"arib-std-b67","matrix":"bt2020nc","range":"tv"},"bit_rate":24510000,"#
      + #""dispositions":["default"]},{"index":1,"type":"audio","codec":"eac3","#
      + #""sample_rate":44100,"channels":6,"channel_layout":"5.1(side)","bit_rate":640000,"#
      + #""language":"deu","title":"Kommentar\u001b[31m\n\u202edes Regisseurs"},"#
    let tail =
      #""mp4":{"possible":true,"streams":[{"index":0,"action":"kept"},{"index":1,"action":"kept"},"#
      + #"{"index":2,"action":"dropped","reason":"mp4 cannot hold subrip unchanged"},"#
      + #"{"index":10,"action":"kept"}],"warnings":[{"warning":"stream_dropped","stream":2,"#
      + #""message":"subtitle stream 2 (subrip) dropped"},{"warning":"property_lost","#
      + #""message":"two attachments are left out"}]},"mov":{"possible":false,"#
      + #""code":"cannot-passthrough","message":"mov cannot hold it","reason":"because","#
      + #""recovery":"mp4 works: use -f mp4"},"disk":30801048576,"received":262144,"attempts":2,"#
      + #""warnings":[{"warning":"remote_changed","message":"it changed"}]}"#
    let text = JSONEventWriter.probe(film, job: 3, exit: 0).encoded
    #expect(text.hasPrefix(head), "\(text)")
    #expect(text.hasSuffix(tail), "\(text)")
  }

  @Test func aFailureSaysWhyAndNothingOfTheSource() {
    var result = ProbeResult(url: "u", format: .mov)
    result.code = .busy
    result.error = FetchError(.busy, "later", recovery: "wait", retryAfter: 7)
    #expect(
      JSONEventWriter.probe(result, job: 1, exit: 11).encoded
        == #"{"v":1,"event":"probe","job":1,"url":"u","code":"busy","exit":11,"retryable":true,"#
        + #""format":"mov","received":0,"attempts":0,"warnings":[],"message":"later","#
        + #""recovery":"wait","retry_after":7}"#)
  }
}

@Suite struct ProbeCommandTests {
  /// Runs a command whose engine finds what a source's name says: a code, or a film.
  private func run(
    _ words: [String], onTerminal: Bool = false
  ) throws -> (ending: ProcessEnding, output: String, error: String) {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("vidfetch-cli-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = try ["output", "error"].map { name in
      try Data().write(to: folder.appending(path: name))
      return try FileHandle(forWritingTo: folder.appending(path: name))
    }
    let environment = CommandEnvironment(
      variables: ["COLUMNS": "80"], standardOutputIsTerminal: onTerminal)
    let command = Command(
      terminal: Terminal(
        output: files[0].fileDescriptor, error: files[1].fileDescriptor, environment: environment),
      environment: environment,
      runner: { _, _ in
        Issue.record("a probe fetches nothing")
        return {}
      },
      prober: { request, send in
        send(.start(url: request.source, target: nil))
        send(.warning(FetchWarning(.unusual, "odd")))
        var result = film
        result.url = request.source
        if let code = OutcomeCode(rawValue: request.source), code != .ok {
          result.source = nil
          result.code = code
          result.error = FetchError(code, "it is \(code.rawValue)", recovery: "do better")
        } else if request.format == .mov {
          result.error = result.source?.verdict(for: .mov)?.refusal
          result.code = .cannotPassthrough
        }
        send(.probed(result))
        return {}
      })
    let ending = command.run(ArgumentParser.parse(words))
    let texts = try ["output", "error"].map {
      String(decoding: try Data(contentsOf: folder.appending(path: $0)), as: UTF8.self)
    }
    return (ending, texts[0], texts[1])
  }

  @Test func printsATableOnATerminalAndJSONElsewhere() throws {
    let table = try run(["--probe", "film"], onTerminal: true)
    #expect(table.ending == .exit(0))
    #expect(table.output.hasPrefix("film\nMatroska, 1:23:46, 15.4 GB, 12 chapters\n\n#"))
    let json = try run(["--probe", "film"])
    #expect(json.output.hasPrefix(#"{"v":1,"event":"probe","job":1,"url":"film","code":"ok","#))
    #expect(json.output.split(separator: "\n").count == 1)
    #expect(try run(["--probe", "--json", "film"], onTerminal: true).output == json.output)
  }

  @Test func theFormatDecides() throws {
    let run = try run(["--probe", "-f", "mov", "film"], onTerminal: true)
    #expect(run.ending == .exit(32))
    #expect(run.output.contains("mov   impossible: mov cannot hold it; mp4 works: use -f mp4\n"))
    #expect(run.error.hasSuffix("vidfetch: film: mov cannot hold it; mp4 works: use -f mp4\n"))
  }

  @Test func severalSourcesFollowTheRuleOfABatch() throws {
    let run = try run(["--probe", "-q", "film", "not-found", "busy"])
    #expect(run.ending == .exit(11))
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(
      lines[3].hasPrefix(
        #"{"v":1,"event":"summary","job":"batch","ok":1,"skipped":0,"failed":{"busy":1,"#
          + #""not-found":1},"bytes":0,"#))
    #expect(
      run.error == """
        vidfetch: not-found: it is not-found; do better
        vidfetch: busy: it is busy; do better

        """)
  }

  @Test func tablesOfSeveralSourcesStandApart() throws {
    let output = try run(["--probe", "a", "not-found", "b"], onTerminal: true).output
    #expect(output.hasPrefix("a\nMatroska"))
    #expect(output.contains("\n\nb\nMatroska") && !output.contains("summary"))
  }

  @Test func progressAsJSONIsAllThatStandardErrorCarries() throws {
    let run = try run(["--probe", "--progress=json", "tls"], onTerminal: true)
    #expect(run.ending == .exit(23))
    #expect(run.output == "")
    #expect(
      run.error.split(separator: "\n").map { $0.dropFirst(16).prefix { $0 != "\"" } }
        == ["start", "warning", "probe"])
  }

  @Test(arguments: [
    ["-o", "a.mov"], ["-d", "x"], ["--overwrite"], ["--skip-existing"], ["--keep-source"],
    ["--low-disk"],
    ["--print", "{url}"], ["-0"],
  ])
  func optionsAboutAFileContradictIt(words: [String]) throws {
    let run = try run(["--probe", "film"] + words)
    #expect(run.ending == .exit(2))
    #expect(run.output == "" && run.error.contains("--probe and \(words[0]) contradict each other"))
  }
}
