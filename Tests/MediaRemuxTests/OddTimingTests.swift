// Films with odd times: one picture, pictures at an uneven pace, a single mad stamp, a late beginning.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Odd timing")
struct OddTimingTests {
  private static let picture = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30:duration=3"]
  private static let x264 = ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "2"]

  private func film(_ name: String, _ arguments: [String]) throws -> (url: URL, folder: Scratch) {
    let folder = try Scratch()
    let url = folder.url.appendingPathComponent(name)
    try run(["ffmpeg", "-v", "error"] + arguments + [url.path])
    return (url, folder)
  }

  /// The presentation times of a file's pictures in order, in milliseconds from the first.
  private func times(_ file: URL) throws -> [Int] {
    let data = try run([
      "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of",
      "csv=p=0", file.path,
    ])
    let times = String(decoding: data, as: UTF8.self).split(separator: "\n")
      .compactMap { Double($0.prefix { $0 != "," }) }.sorted()
    return times.map { Int((($0 - times[0]) * 1000).rounded()) }
  }

  @Test(arguments: ["mkv", "mp4", "ts", "avi"], [ContainerFormat.mp4, .mov])
  func onePictureIsAFilm(ending: String, format: ContainerFormat) throws {
    let codec = ending == "avi" ? ["-c:v", "mpeg4"] : Self.x264
    let (source, folder) = try film("a.\(ending)", Self.picture + ["-frames:v", "1"] + codec)
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source, to: format)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let probe = try run.probe()
    #expect(probe.video?.packets == 1 && probe.video?.start == 0)
    #expect(probe.duration < 1)
    #expect(try pictureHash(run.output) == pictureHash(source))
  }

  @Test(arguments: ["mkv", "mp4"], [ContainerFormat.mp4, .mov])
  func anUnevenPaceIsKept(ending: String, format: ContainerFormat) throws {
    let (source, folder) = try film(
      "a.\(ending)",
      Self.picture + ["-vf", "select='not(mod(n,3))+not(mod(n,7))'", "-fps_mode", "vfr"] + Self.x264
    )
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source, to: format)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let (before, after) = (try times(source), try times(run.output))
    // The precondition: steps of different lengths.
    #expect(Set(zip(before, before.dropFirst()).map { ($1 - $0) / 20 }).count > 1)
    #expect(after == before)
  }

  @Test(arguments: ["mkv", "mp4"])
  func aLongPauseIsKept(ending: String) throws {
    let (source, folder) = try film(
      "a.\(ending)",
      Self.picture + ["-vf", "setpts=PTS+gt(N\\,47)*30/TB", "-fps_mode", "vfr"] + Self.x264)
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    #expect(try times(source).last ?? 0 > 30_000)
    #expect(try times(run.output) == times(source))
    #expect(!run.warnings.contains { $0.warning == .timestampsRepaired })
  }

  @Test(arguments: [("mkv", 9_000_000), ("ts", 810_000_000)])
  func aSingleMadStampMakesNoLongFilm(ending: String, ticks: Int) throws {
    let (base, folder) = try film("base.\(ending)", Self.picture + Self.x264)
    let source = folder.url.appendingPathComponent("mad.\(ending)")
    try run([
      "ffmpeg", "-v", "quiet", "-i", base.path, "-c", "copy", "-bsf:v",
      "setts=pts=if(eq(N\\,40)\\,PTS+\(ticks)\\,PTS):dts=DTS", source.path,
    ])
    #expect(try times(source).last ?? 0 > 8_000_000)
    let run = try RemuxRun(source)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let probe = try run.probe()
    #expect(probe.duration < 3.5)
    #expect(probe.video?.packets == 90)
    #expect(run.warnings.contains { $0.warning == .timestampsRepaired })
  }

  @Test func fragmentsThatBeginLateBeginAtZero() throws {
    let (source, folder) = try film(
      "a.mp4",
      Self.picture + Self.x264 + [
        "-g", "30", "-movflags", "frag_keyframe+empty_moov+default_base_moof", "-output_ts_offset",
        "5",
      ])
    defer { withExtendedLifetime(folder) {} }
    let run = try RemuxRun(source)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let probe = try run.probe()
    #expect(probe.video?.packets == 90)
    #expect(abs(probe.duration - 3) < 0.1)
    #expect(try times(run.output) == times(source))
  }

  @Test(arguments: [0, 1, 40])
  func stampsThatDoNotStandInAPacketAreSaid(number: Int) throws {
    let (source, folder) = try film("a.ts", Self.picture + Self.x264)
    defer { withExtendedLifetime(folder) {} }
    var bytes = try [UInt8](Data(contentsOf: source))
    let headers = bytes.indices.dropLast(20).filter {
      bytes[$0...].starts(with: [0, 0, 1, 0xE0]) && bytes[$0 + 7] == 0xC0
    }
    // Its flags announce two stamps, its length leaves no room for them.
    bytes[headers[number] + 8] = 0
    let damaged = folder.url.appendingPathComponent("stale.ts")
    try Data(bytes).write(to: damaged)
    let whole = try RemuxRun(source)
    #expect(!whole.warnings.contains { $0.warning == .timestampsRepaired })
    let run = try RemuxRun(damaged)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let warning = try #require(run.warnings.first { $0.warning == .timestampsRepaired })
    #expect(warning.stream == 0 && warning.message.hasPrefix("1 timestamps"))
    let probe = try run.probe()
    #expect(probe.video?.packets == 90)
    // ffmpeg itself loses a picture of the damaged one.
    #expect(try pictureHash(run.output).count == pictureHash(source).count)
  }

  @Test func findsTheHeaderOfAPacketOfAnElementaryStream() {
    func header(
      flags: UInt8, length: UInt8, adaptation: Int? = nil, prefix: Int = 0, start: UInt8 = 0x40
    ) -> PacketizedHeader? {
      let field = adaptation.map { [UInt8($0)] + [UInt8](repeating: 0xFF, count: $0) } ?? []
      let bytes =
        [UInt8](repeating: 0, count: prefix) + [0x47, start, 0, adaptation == nil ? 0x10 : 0x30]
        + field + [0, 0, 1, 0xE0, 0, 0, 0x80, flags << 6, length]
      return PacketizedHeader(transportPacket: bytes + [UInt8](repeating: 0xFF, count: 10))
    }
    #expect(header(flags: 3, length: 10)?.lacksItsStamps == false)
    #expect(header(flags: 3, length: 9)?.lacksItsStamps == true)
    #expect(header(flags: 2, length: 5)?.lacksItsStamps == false)
    #expect(header(flags: 2, length: 4, adaptation: 7)?.lacksItsStamps == true)
    #expect(header(flags: 2, length: 0, adaptation: 0, prefix: 4)?.lacksItsStamps == true)
    #expect(header(flags: 0, length: 0)?.lacksItsStamps == false)
    #expect(header(flags: 3, length: 0, start: 0) == nil)
    #expect(header(flags: 3, length: 0, prefix: 1) == nil)
    for count in 0..<13 {
      let whole: [UInt8] = [0x47, 0x40, 0, 0x10, 0, 0, 1, 0xE0, 0, 0, 0x80, 0xC0, 0]
      #expect(PacketizedHeader(transportPacket: Array(whole.prefix(count))) == nil)
    }
    #expect(PacketizedHeader(transportPacket: [0x47, 0x40, 0, 0x30, 0xFF, 0, 0]) == nil)
  }
}
