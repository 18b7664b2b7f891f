// Every kind of bad input: its exit code, one clear line, nothing half-made.

import Foundation
import TestSupport
import Testing

@Suite("Bad input")
struct BadInputTests {
  struct Usage: Sendable, CustomTestStringConvertible {
    let words: [String]
    let says: String
    var testDescription: String { words.joined(separator: " ") }
  }

  @Test(arguments: [
    Usage(words: [], says: "URL"),
    Usage(words: ["--no-such-option", "http://127.0.0.1/a.mp4"], says: "--no-such-option"),
    Usage(words: ["--overwrit", "http://127.0.0.1/a.mp4"], says: "--overwrite"),
    Usage(words: ["-f", "mov", "-o", "a.mp4", "http://127.0.0.1/a.mp4"], says: "mov"),
    Usage(words: ["-f", "mkv", "http://127.0.0.1/a.mp4"], says: "mkv"),
    Usage(words: ["-o", "a.mkv", "http://127.0.0.1/a.mp4"], says: "mkv"),
    Usage(words: ["-o", "-", "http://127.0.0.1/a.mp4"], says: "-o"),
    Usage(words: ["-o", "a.mp4", "-d", "b", "http://127.0.0.1/a.mp4"], says: "-d"),
    Usage(words: ["-o"], says: "-o"),
    Usage(words: ["--retries", "many", "http://127.0.0.1/a.mp4"], says: "retries"),
    Usage(words: ["--limit-rate", "fast", "http://127.0.0.1/a.mp4"], says: "limit-rate"),
    Usage(words: ["--progress", "maybe", "http://127.0.0.1/a.mp4"], says: "progress"),
  ])
  func usageErrorsStartNothing(_ usage: Usage) throws {
    let run = try VidfetchRun()
    for json in [[], ["--json"]] {
      let outcome = try run.run(json + usage.words)
      expectFailure(
        outcome, 2, of: run, says: [NSRegularExpression.escapedPattern(for: usage.says)])
    }
  }

  @Test(arguments: ["ftp://127.0.0.1/a.mp4", "rtmp://127.0.0.1/a.mp4", "javascript://127.0.0.1/a"])
  func unsupportedSchemesAreRefused(url: String) throws {
    let run = try VidfetchRun()
    let scheme = url.prefix { $0 != ":" }
    expectFailure(
      try run.run(["-o", "a.mp4", url]), 22, of: run, naming: url, says: [String(scheme)])
  }

  @Test func unresolvableHostIsANetworkFailure() throws {
    let run = try VidfetchRun()
    let url = "http://no-such-host.invalid/a.mp4"
    let outcome = try run.run(
      ["--connect-timeout", "3", "--retries", "0", "-o", "a.mp4", url], limit: 90)
    expectFailure(outcome, 10, of: run, naming: url, says: ["resolve"])
  }

  @Test func refusedPortIsANetworkFailure() throws {
    let run = try VidfetchRun()
    let url = "http://127.0.0.1:\(try freePorts(1)[0])/a.mp4"
    expectFailure(
      try run.run(["--retries", "0", "-o", "a.mp4", url]), 10, of: run, naming: url,
      says: ["connect|refused"])
  }

  struct Answer: Sendable, CustomTestStringConvertible {
    let status: Int
    let code: Int32
    var testDescription: String { "\(status) is exit \(code)" }
  }

  @Test(arguments: [
    Answer(status: 400, code: 22), Answer(status: 401, code: 21), Answer(status: 403, code: 21),
    Answer(status: 404, code: 20), Answer(status: 407, code: 21), Answer(status: 408, code: 11),
    Answer(status: 410, code: 20), Answer(status: 425, code: 11), Answer(status: 429, code: 11),
    Answer(status: 451, code: 22), Answer(status: 500, code: 11), Answer(status: 503, code: 11),
  ])
  func statusCodesHaveTheirClass(_ answer: Answer) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~status=\(answer.status)/plain.mp4")
    let outcome = try run.run(["--retries", "0", "-o", "a.mp4", url])
    expectFailure(
      outcome, answer.code, of: run, naming: url, says: ["\(answer.status)"], keepsPart: false)
  }

  @Test func aFailureIsOneResultObject() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["--json", "-o", "a.mp4", server.url("nothing.mp4")])
    let result = try outcome.result()
    #expect(outcome.status == .exited(20))
    #expect(result.v == 1)
    #expect(result.code == "not-found")
    #expect(result.exit == 20)
    #expect(result.retryable == false)
    #expect(result.path == nil)
    #expect(result.url == server.url("nothing.mp4"))
    #expect(result.message?.isEmpty == false)
  }

  struct Body: Sendable, CustomTestStringConvertible {
    let path: String
    let says: [String]
    var testDescription: String { path }
  }

  @Test(arguments: [
    Body(path: "~body=login/plain.mp4", says: ["web page", "sign|log"]),
    Body(path: "~body=login&type=video%2Fmp4/plain.mp4", says: ["web page", "sign|log"]),
    Body(path: "~body=json/plain.mp4", says: ["JSON"]),
    Body(path: "~body=xml/plain.mp4", says: ["XML"]),
    Body(path: "~body=empty/plain.mp4", says: ["empty"]),
    Body(path: "empty.mp4", says: ["empty"]),
  ])
  func bodiesThatAreNoMediaAreNotSaved(_ body: Body) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url(body.path)
    expectFailure(try run.run(["-o", "a.mp4", url]), 30, of: run, naming: url, says: body.says)
    #expect(try server.gets().count <= 2)
  }

  @Test func randomBytesAreNotMedia() throws {
    let site = try ScratchDirectory()
    // A fixed linear congruential sequence: the same bytes in every run.
    var state: UInt32 = 20_240_607
    let bytes = (0..<200_000).map { _ in
      state = state &* 1_664_525 &+ 1_013_904_223
      return UInt8(state >> 24)
    }
    try Data(bytes).write(to: URL(fileURLWithPath: site.file("noise.mp4")))
    let server = try FaultServer(root: site.path)
    let run = try VidfetchRun()
    expectFailure(try run.run(["-o", "a.mp4", server.url("noise.mp4")]), 30, of: run)
    expectFailure(try run.run(["-o", "a.mp4", site.file("noise.mp4")]), 30, of: run)
  }

  @Test(arguments: ["index.m3u8", "manifest.mpd"])
  func playlistsAreRefusedByName(name: String) throws {
    let site = try ScratchDirectory()
    try site.write(
      "index.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\na.ts\n#EXT-X-ENDLIST\n")
    try site.write(
      "manifest.mpd",
      "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\"></MPD>\n"
    )
    let server = try FaultServer(root: site.path)
    let run = try VidfetchRun()
    let says = name.hasSuffix("m3u8") ? "HLS" : "DASH"
    expectFailure(try run.run(["-o", "a.mp4", server.url(name)]), 30, of: run, says: [says])
    #expect(try server.gets().map(\.path) == ["/\(name)"], "nothing else may be opened")
  }

  @Test func aFileWithoutIndexIsDamaged() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("no_moov.mp4")
    expectFailure(
      try run.run(["-o", "a.mp4", url]), 31, of: run, naming: url,
      says: ["index|moov", "incomplete|cut|truncated"])
  }

  @Test(arguments: [
    "moov_first.mp4", "data_tracks.mov", "cover.mkv", "vp9_opus.webm", "late_audio.ts", "hevc.ts",
  ])
  func cutFilesAreDamaged(name: String) throws {
    let site = try ScratchDirectory()
    let whole = fileBytes(FixtureFile.media(name))
    // 60 %, and not on a packet boundary of MPEG-TS.
    var length = whole.count * 6 / 10
    if length % 188 == 0 { length += 1 }
    try whole.prefix(length).write(to: URL(fileURLWithPath: site.file(name)))
    let server = try FaultServer(root: site.path)
    let run = try VidfetchRun()
    let url = server.url(name)
    expectFailure(try run.run(["-o", "a.mp4", url]), 31, of: run, naming: url)
    expectFailure(try run.run(["-o", "a.mp4", site.file(name)]), 31, of: run)
  }

  @Test func aCodecThatTheContainerCannotHoldIsSaidBeforehand() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("vp9_opus.webm")
    expectFailure(
      try run.run(["-f", "mov", "-o", "a.mov", url]), 32, of: run, naming: url,
      says: ["vp9", "mov", "mp4"])
  }

  @Test func encryptedMediaIsSaidToBeSo() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("cenc.mp4")
    expectFailure(try run.run(["-o", "a.mp4", url]), 33, of: run, naming: url, says: ["encrypted"])
  }

  @Test func errorsNeverCarryEscapeSequencesFromOutside() throws {
    let run = try VidfetchRun()
    let server = try FaultServer()
    let outcome = try run.run([
      "-o", "a.mp4",
      server.url("~to=http:%2F%2F127.0.0.1:1%2F%1B%5B31mred/a\u{1b}[31m.mp4"),
    ])
    #expect(outcome.status != .exited(0))
    #expect(!outcome.stderr.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
  }
}
