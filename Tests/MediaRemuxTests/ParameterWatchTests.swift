// Parameters that change in the middle: found in the packets, and refused or carried on real files.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Parameter watch")
struct ParameterWatchTests {
  private func findings(
    _ watch: ParameterWatch?, _ packets: [[UInt8]]
  ) throws -> [ParameterWatch.Finding] {
    var watch = try #require(watch)
    return packets.map { packet in packet.withUnsafeBytes { watch.take($0) } }
  }

  @Test func soundMayNotChangeItsHeader() throws {
    let stereo: [UInt8] = [0xFF, 0xF1, 0x4C, 0x80, 0x20, 0x1F, 0xFC, 1]
    var longer = stereo
    longer[4] = 0x40
    var mono = stereo
    mono[3] = 0x40
    var slower = stereo
    slower[2] = 0x50
    let watch = ParameterWatch(codec: "aac", form: .adts)
    #expect(try findings(watch, [stereo, longer, stereo]) == [.same, .same, .same])
    #expect(try findings(watch, [stereo, mono]) == [.same, .newConfiguration])
    #expect(try findings(watch, [stereo, slower]) == [.same, .newConfiguration])
    #expect(try findings(watch, [stereo, [1, 2], []]) == [.same, .same, .same])
    #expect(ParameterWatch(codec: "aac", form: .plain) == nil)
    #expect(ParameterWatch(codec: "mp3", form: .plain) == nil)
  }

  // Sets number 0 and 1, their last bytes telling them apart.
  private static let sps: [UInt8] = [0x67, 0x42, 0, 30, 0x80, 1]
  private static let otherSPS: [UInt8] = [0x67, 0x42, 0, 30, 0x80, 2]
  private static let secondSPS: [UInt8] = [0x67, 0x42, 0, 30, 0x40, 3]
  private static let slice: [UInt8] = [0x65, 0x88, 0x80]

  @Test func aSetOfTheSameNumberTakesThePlaceOfAnother() throws {
    func annexB(_ units: [UInt8]...) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }
    func lengths(_ units: [UInt8]...) -> [UInt8] {
      units.flatMap { [0, 0, 0, UInt8($0.count)] + $0 }
    }
    let starts = ParameterWatch(codec: "h264", form: .startCodes)
    #expect(
      try findings(
        starts,
        [
          annexB(Self.sps, Self.slice), annexB(Self.sps + [0], Self.slice),
          annexB(Self.secondSPS, Self.slice), annexB(Self.otherSPS, Self.slice),
          annexB(Self.otherSPS, Self.slice), annexB(Self.sps),
          // What follows a slice belongs to no later picture of this packet.
          annexB(Self.slice, Self.otherSPS),
        ]) == [.same, .same, .same, .newSets, .same, .newSets, .same])
    let counted = ParameterWatch(codec: "h264", form: .lengths(4))
    #expect(
      try findings(
        counted,
        [
          lengths(Self.sps, Self.slice), lengths(Self.sps), lengths(Self.otherSPS, Self.slice),
          [0, 0, 1], [0, 0, 0, 200, 0x67], [],
        ]) == [.same, .same, .newSets, .same, .same, .same])
  }

  // MARK: Real files

  private static let picture = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=1"]
  private static let smaller = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=1"]
  private static func sound(_ rate: Int) -> [String] {
    ["-f", "lavfi", "-i", "sine=sample_rate=\(rate):duration=1"]
  }

  /// Two transport streams, one behind the other.
  private func spliced(_ one: [String], _ other: [String]) throws -> (URL, Scratch) {
    let folder = try Scratch()
    var whole = Data()
    for (number, arguments) in [one, other].enumerated() {
      let part = folder.url.appendingPathComponent("\(number).ts")
      try run(
        ["ffmpeg", "-v", "error"] + arguments + [
          "-f", "mpegts", "-output_ts_offset", "\(number)", part.path,
        ])
      whole += try Data(contentsOf: part)
    }
    let url = folder.url.appendingPathComponent("spliced.ts")
    try whole.write(to: url)
    return (url, folder)
  }

  @Test(arguments: [(44_100, "1"), (48_000, "1"), (44_100, "2")])
  func soundThatChangesItsConfigurationIsRefused(rate: Int, channels: String) throws {
    let video = ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"]
    let (source, folder) = try spliced(
      Self.picture + Self.sound(48_000) + video + ["-ac", "2"],
      Self.picture + Self.sound(rate) + video + ["-ac", channels])
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source)
    #expect(run.error?.code == .cannotPassthrough)
    #expect(run.error?.message.contains("aac") == true)
  }

  @Test(
    arguments: [
      (["-c:v", "libx264", "-preset", "ultrafast"], "avc3"),
      (["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"], "hev1"),
    ])
  func picturesThatChangeTheirSetsStillDecode(codec: [String], sampleEntry: String) throws {
    let (source, folder) = try spliced(Self.picture + codec, Self.smaller + codec)
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(try run.probe().video?.codec_tag_string == sampleEntry)
    #expect(
      run.warnings.contains { $0.warning == .compatibility && $0.message.contains("change") })
    let (before, after) = (try decoded(source), try decoded(run.output))
    #expect(before.count == 50)
    #expect(after == before)
  }

  @Test func setsThatStayTheSameChangeNothing() throws {
    let codec = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "10"]
    let (source, folder) = try spliced(Self.picture + codec, Self.picture + codec)
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source)
    #expect(try run.probe().video?.codec_tag_string == "avc1")
    #expect(!run.warnings.contains { $0.warning == .compatibility })
  }

  private func decoded(_ file: URL) throws -> [String] {
    let data = try run([
      "ffmpeg", "-v", "error", "-i", file.path, "-map", "0:v:0", "-fps_mode", "passthrough",
      "-autoscale", "0", "-f", "framemd5", "-",
    ])
    return String(decoding: data, as: UTF8.self).split(separator: "\n")
      .filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: ",").last.map(String.init) ?? "" }
  }
}
