// What ffprobe and ffmpeg, which share no code with the tests, say about a media file.

private import Foundation

/// Facts about one media file.
package struct MediaFacts: Sendable {
  package struct Stream: Sendable, Decodable {
    package let index: Int
    package let codec_name: String?
    package let codec_type: String?
    package let codec_tag_string: String?
    package let width: Int?
    package let height: Int?
    package let sample_aspect_ratio: String?
    package let start_time: String?
    package let duration: String?
    package let nb_read_packets: String?
    package let extradata_size: Int?
    package let disposition: [String: Int]?
    package let tags: [String: String]?
  }

  private struct Report: Decodable {
    struct Format: Decodable {
      let format_name: String
      let duration: String?
      let start_time: String?
      let tags: [String: String]?
    }
    let streams: [Stream]
    let format: Format
  }

  package let streams: [Stream]
  package let formatName: String
  /// Seconds.
  package let duration: Double?
  package let startTime: Double?
  package let tags: [String: String]
  /// What ffprobe complained about; empty for a clean file.
  package let complaints: String

  package init(_ path: String) throws {
    let outcome = try runTool([
      "ffprobe", "-v", "error", "-count_packets", "-show_streams", "-show_format", "-of", "json",
      path,
    ])
    guard outcome.status == .exited(0) else {
      throw ProcessTrouble.failed("ffprobe \(path): \(outcome.status) \(outcome.stderr)")
    }
    let report = try JSONDecoder().decode(Report.self, from: Data(outcome.stdout.utf8))
    streams = report.streams
    formatName = report.format.format_name
    duration = report.format.duration.flatMap(Double.init)
    startTime = report.format.start_time.flatMap(Double.init)
    tags = report.format.tags ?? [:]
    complaints = outcome.stderr
  }

  /// Packets per codec, such as `["h264": 50, "aac": 95]`.
  package var packets: [String: Int] {
    var counts: [String: Int] = [:]
    for stream in streams {
      counts[stream.codec_name ?? "?", default: 0] += stream.nb_read_packets.flatMap(Int.init) ?? 0
    }
    return counts
  }

  /// The MD5 of all decoded frames of the first video stream, as in Tests/Fixtures/facts.txt.
  package static func pictureHash(_ path: String) throws -> String {
    try outputOfTool([
      "ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:V:0", "-fps_mode", "passthrough",
      "-f", "md5", "-",
    ]).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The kinds of the outermost boxes of an mp4 or mov, in order.
  package static func boxes(_ path: String) throws -> [String] {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw ProcessTrouble.failed("cannot open \(path)")
    }
    defer { try? handle.close() }
    let end = try handle.seekToEnd()
    var kinds: [String] = []
    var offset: UInt64 = 0
    while offset + 8 <= end {
      try handle.seek(toOffset: offset)
      let head = Array(try handle.read(upToCount: 16) ?? Data())
      guard head.count >= 8 else { break }
      var size = head[0..<4].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      if size == 1, head.count == 16 {
        size = head[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      if size == 0 { size = end - offset }
      kinds.append(String(decoding: head[4..<8], as: UTF8.self))
      guard size >= 8 else { break }
      offset += size
    }
    return kinds
  }
}
