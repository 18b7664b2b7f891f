// Small files of every container, made by ffmpeg once per run in a folder of their own.

import Foundation
import Testing

@testable import MediaRemux

/// How a container shows its end.
enum FixtureEnd: Sendable {
  /// The whole file is proven; a cut one never is, and is damaged wherever it is cut.
  case declared
  /// The whole file is proven; a cut between two units may pass as `noEndOfItsOwn`.
  case marked
  /// Nothing declares the end.
  case open
}

/// A file made for the structural tests.
struct StructureFixture: Sendable, CustomTestStringConvertible {
  var name: String
  var kind: ContainerKind
  var end: FixtureEnd
  /// What ffmpeg is told after the sources.
  var arguments: [String]

  var testDescription: String { name }

  static let video = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "25"]
  static let h264 = video + ["-b:v", "60k", "-c:a", "aac", "-b:a", "24k"]
  static let mpeg2 = ["-c:v", "mpeg2video", "-b:v", "100k", "-c:a", "mp2", "-b:a", "32k"]
  static let mpeg1 = ["-c:v", "mpeg1video", "-b:v", "100k", "-c:a", "mp2", "-b:a", "32k"]
  static let sound = ["-vn", "-ar", "44100"]

  static let all: [StructureFixture] = [
    .init(name: "last.mp4", kind: .mp4, end: .declared, arguments: h264),
    .init(
      name: "first.mp4", kind: .mp4, end: .declared,
      arguments: h264 + ["-movflags", "+faststart"]),
    .init(
      name: "pcm.mov", kind: .mp4, end: .declared,
      arguments: video + ["-c:a", "pcm_s16le", "-ar", "8000"]),
    .init(
      name: "mfra.mp4", kind: .mp4, end: .marked,
      arguments: h264 + ["-movflags", "+frag_keyframe+empty_moov+default_base_moof"]),
    .init(
      name: "hybrid.mp4", kind: .mp4, end: .marked,
      arguments: h264 + ["-movflags", "+frag_keyframe"]),
    .init(
      name: "sidx.mp4", kind: .mp4, end: .marked,
      arguments: h264 + ["-movflags", "+frag_keyframe+dash+global_sidx+skip_trailer"]),
    .init(
      name: "open.mp4", kind: .mp4, end: .open,
      arguments: h264 + ["-movflags", "+frag_keyframe+empty_moov+skip_trailer"]),
    .init(
      name: "segments.mp4", kind: .mp4, end: .open,
      arguments: h264 + ["-movflags", "+frag_keyframe+dash+skip_trailer"]),
    .init(
      name: "smooth.ismv", kind: .mp4, end: .marked, arguments: h264 + ["-f", "ismv"]),
    .init(name: "known.mkv", kind: .matroska, end: .declared, arguments: h264),
    .init(
      name: "live.mkv", kind: .matroska, end: .open,
      arguments: h264 + ["-f", "matroska", "-live", "1"]),
    .init(name: "plain.ts", kind: .mpegTS, end: .open, arguments: h264),
    .init(
      name: "bluray.m2ts", kind: .mpegTS, end: .open,
      arguments: h264 + ["-mpegts_m2ts_mode", "1"]),
    .init(name: "program.vob", kind: .mpegPS, end: .open, arguments: mpeg2),
    .init(name: "system.mpg", kind: .mpegPS, end: .open, arguments: mpeg1),
    .init(
      name: "sized.flv", kind: .flv, end: .declared, arguments: h264),
    .init(
      name: "open.flv", kind: .flv, end: .open,
      arguments: h264 + ["-flvflags", "no_duration_filesize"]),
    .init(
      name: "plain.avi", kind: .avi, end: .declared,
      arguments: ["-c:v", "mpeg4", "-b:v", "80k", "-c:a", "mp2", "-b:a", "32k"]),
    .init(
      name: "plain.ogv", kind: .ogg, end: .marked,
      arguments: ["-c:v", "libtheora", "-b:v", "80k", "-c:a", "libvorbis"]),
    .init(
      name: "plain.wmv", kind: .asf, end: .declared,
      arguments: ["-c:v", "wmv2", "-b:v", "80k", "-c:a", "wmav2", "-b:a", "32k"]),
    .init(
      name: "plain.wav", kind: .wav, end: .declared,
      arguments: ["-vn", "-c:a", "pcm_s16le", "-ar", "8000"]),
    .init(name: "plain.aac", kind: .adts, end: .open, arguments: sound + ["-c:a", "aac"]),
    .init(name: "plain.ac3", kind: .ac3, end: .open, arguments: sound + ["-c:a", "ac3"]),
    .init(
      name: "odd.ac3", kind: .ac3, end: .open,
      arguments: ["-vn", "-ar", "32000", "-c:a", "ac3", "-b:a", "96k"]),
    .init(
      name: "plain.eac3", kind: .ac3, end: .open,
      arguments: ["-vn", "-ar", "48000", "-c:a", "eac3", "-b:a", "96k"]),
    .init(
      name: "plain.dts", kind: .dts, end: .open,
      arguments: ["-vn", "-ar", "48000", "-c:a", "dca", "-strict", "-2"]),
    .init(name: "plain.mp2", kind: .mp3, end: .open, arguments: sound + ["-c:a", "mp2"]),
    .init(name: "plain.flac", kind: .flac, end: .declared, arguments: sound + ["-c:a", "flac"]),
    .init(
      name: "tagged.mp3", kind: .mp3, end: .open,
      arguments: sound + ["-c:a", "libmp3lame", "-b:a", "32k", "-write_id3v1", "1"]),
  ]

  static func named(_ name: String) throws -> StructureFixture {
    try #require(all.first { $0.name == name })
  }

  /// The file's bytes.
  func bytes() throws -> [UInt8] {
    try [UInt8](Data(contentsOf: FixtureFolder.shared.file(self)))
  }
}

/// The folder that holds the files of this run.
final class FixtureFolder: @unchecked Sendable {
  // SAFETY: the dictionary is only touched under the lock; tests run on several threads.
  static let shared = FixtureFolder()

  let url: URL
  private let lock = NSLock()
  private var made: [String: URL] = [:]

  private init() {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "vidfetch-structure-\(getpid())")
    try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(at: FixtureFolder.shared.url) }
  }

  func file(_ fixture: StructureFixture) throws -> URL {
    try lock.withLock {
      if let url = made[fixture.name] { return url }
      let target = url.appendingPathComponent(fixture.name)
      try FFmpeg.run(
        [
          "-f", "lavfi", "-i", "testsrc2=s=128x96:r=25", "-f", "lavfi", "-i",
          "sine=f=440:r=44100", "-t", "3", "-threads", "1",
        ] + fixture.arguments + ["-y", target.path])
      made[fixture.name] = target
      return target
    }
  }

  /// A new path in the folder.
  func path(_ name: String) -> String {
    url.appendingPathComponent("\(UUID().uuidString)-\(name)").path
  }
}

/// The ffmpeg command, as an independent maker and reader of files.
enum FFmpeg {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  @discardableResult
  static func run(_ arguments: [String], tool: String = "ffmpeg") throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let quiet = tool == "ffmpeg" ? ["-nostdin", "-hide_banner"] : []
    process.arguments = [tool] + quiet + ["-v", "error"] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(tool) \(arguments.joined(separator: " ")): \(text)")
    }
    return text
  }

  /// A digest of every packet of a file: stream, times, sizes and payloads.
  static func packets(_ path: String) throws -> String {
    try run(["-i", path, "-map", "0", "-c", "copy", "-f", "framemd5", "-"])
  }
}

/// Pseudo-random numbers that are the same in every run.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
