// A remux run to its end on real files, and ffprobe's reading of what came out.

import FetchCore
import Foundation
import Synchronization
import Testing

@testable import MediaRemux

/// How the source's bytes are announced.
enum Feeding: Sendable, Hashable {
  /// All at once, as for a local file.
  case whole
  /// From the beginning in pieces of so many bytes, each once the remux asks for it.
  case inOrder(Int)
  /// As the remux asks: each `want` brings a piece from that offset on.
  case onDemand(Int)
  /// In pieces from the beginning, the size being told only at the end.
  case withoutTotal(Int)
}

/// What a remux said and left.
struct RemuxRun {
  var messages: [RemuxMessage] = []
  /// The output; removed with the run's folder.
  let output: URL
  private let folder: Scratch

  var outcome: RemuxOutcome? {
    for case .finished(let outcome) in messages { return outcome }
    return nil
  }
  var error: FetchError? {
    for case .failed(let error) in messages { return error }
    return nil
  }
  var warnings: [FetchWarning] {
    messages.compactMap { if case .warning(let warning) = $0 { warning } else { nil } }
  }
  var wants: [Int64] { messages.compactMap { if case .want(let at) = $0 { at } else { nil } } }
  var counters: [RemuxCounters] {
    messages.compactMap { if case .progress(let counters) = $0 { counters } else { nil } }
  }

  /// Runs a remux of a file to its last message.
  init(
    _ source: URL, to format: ContainerFormat = .mp4, settings: ExportSettings = ExportSettings(),
    isFramed: Bool = true, feeding: Feeding = .whole
  ) throws {
    folder = try Scratch()
    output = folder.url.appendingPathComponent("out.\(format.rawValue)")
    let from = open(source.path, O_RDONLY)
    let to = open(output.path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(from >= 0 && to >= 0)
    defer {
      close(from)
      close(to)
    }
    let inbox = Inbox()
    let session = try RemuxSession(
      RemuxRequest(format: format, settings: settings, isFramed: isFramed), source: from,
      sink: to, onMessage: { inbox.put($0) })
    let size = Int64(try #require(try source.resourceValues(forKeys: [.fileSizeKey]).fileSize))
    var feeder = Feeder(feeding: feeding, size: size, isFramed: isFramed)
    feeder.begin(session)
    while let message = inbox.take() {
      messages.append(message)
      switch message {
      case .want(let offset): feeder.bring(offset, session)
      case .finished, .failed: return
      default: break
      }
    }
  }

  /// ffprobe's JSON of the output: streams with counted packets, format, chapters.
  func probe() throws -> Probe { try Probe(output) }
}

/// Announces the ranges of a source that is all there already.
private struct Feeder {
  let feeding: Feeding
  let size: Int64
  let isFramed: Bool
  var next: Int64 = 0

  func begin(_ session: RemuxSession) {
    switch feeding {
    case .whole:
      // The size first: the room for the index is reckoned from it.
      session.send(.total(size))
      if let all = ByteRange(0, size) { session.send(.have(all)) }
      session.send(.ended(total: size, isFramed: isFramed))
    case .inOrder, .onDemand:
      session.send(.total(size))
    case .withoutTotal:
      break
    }
  }

  mutating func bring(_ offset: Int64, _ session: RemuxSession) {
    switch feeding {
    case .whole:
      break
    case .inOrder(let piece), .withoutTotal(let piece):
      // A reader that jumped ahead has to wait until the download gets there.
      repeat {
        let end = min(next + Int64(piece), size)
        if let range = ByteRange(next, end) { session.send(.have(range)) }
        next = end
      } while next <= offset && next < size
      if next >= size { session.send(.ended(total: size, isFramed: isFramed)) }
    case .onDemand(let piece):
      let end = min(offset + Int64(piece), size)
      if let range = ByteRange(offset, end) { session.send(.have(range)) }
    }
  }
}

/// Messages from the remux thread, waited for by the test.
final class Inbox: Sendable {
  private let queue = Monitor<[RemuxMessage]>([])

  func put(_ message: RemuxMessage) { queue.withLock { $0.append(message) } }

  /// The next message; nil, and a failed test, where none comes for a minute.
  func take() -> RemuxMessage? {
    let message = queue.wait(timeout: .seconds(60)) { $0.isEmpty ? nil : $0.removeFirst() }
    if message == nil { Issue.record("the remux is silent") }
    return message
  }
}

/// A folder that goes with its owner.
final class Scratch: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("remux-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}

/// A file made for these tests.
func fixture(_ name: String, file: String = #filePath) -> URL {
  URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/media/\(name)")
}

/// Runs a program; returns its stdout, and fails the test where it fails.
@discardableResult
func run(_ arguments: [String]) throws -> Data {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  process.standardError = FileHandle.nullDevice
  try process.run()
  let data = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  #expect(process.terminationStatus == 0, "\(arguments.joined(separator: " "))")
  return data
}

/// A media file as ffprobe describes it.
struct Probe: Decodable {
  struct Stream: Decodable {
    var index: Int
    var codec_name: String?
    var codec_type: String?
    var codec_tag_string: String?
    var width: Int?
    var height: Int?
    var sample_aspect_ratio: String?
    var extradata_size: Int?
    var color_range: String?
    var start_time: String?
    var duration: String?
    var nb_read_packets: String?
    var disposition: [String: Int]?
    var tags: [String: String]?
    var side_data_list: [SideData]?

    var packets: Int { Int(nb_read_packets ?? "") ?? 0 }
    var start: Double { Double(start_time ?? "") ?? -1 }
    var matrices: [String] { side_data_list?.compactMap(\.displaymatrix) ?? [] }
    var isCover: Bool { disposition?["attached_pic"] == 1 }
  }
  struct SideData: Decodable {
    var side_data_type: String?
    var displaymatrix: String?
  }
  struct Format: Decodable {
    var start_time: String?
    var duration: String?
    var tags: [String: String]?
  }
  struct Chapter: Decodable {
    var start_time: String?
    var tags: [String: String]?
  }

  var streams: [Stream]
  var format: Format
  var chapters: [Chapter]?

  init(_ file: URL) throws {
    let json = try run([
      "ffprobe", "-v", "error", "-of", "json", "-count_packets", "-show_streams", "-show_format",
      "-show_chapters", file.path,
    ])
    self = try JSONDecoder().decode(Self.self, from: json)
  }

  /// Streams of a type, covers left out.
  func all(_ type: String) -> [Stream] { streams.filter { $0.codec_type == type && !$0.isCover } }
  var video: Stream? { all("video").first }
  var audio: Stream? { all("audio").first }
  var duration: Double { Double(format.duration ?? "") ?? -1 }
  var start: Double { Double(format.start_time ?? "") ?? -1 }
}

/// A hash over the decoded pictures of a file's first film stream.
func pictureHash(_ file: URL) throws -> String {
  let streams = try Probe(file).streams
  let index = streams.first { $0.codec_type == "video" && !$0.isCover }?.index ?? 0
  let data = try run([
    "ffmpeg", "-v", "error", "-i", file.path, "-map", "0:\(index)", "-f", "framehash", "-",
  ])
  // The last column alone: times may be shifted.
  return String(decoding: data, as: UTF8.self).split(separator: "\n")
    .filter { !$0.hasPrefix("#") }
    .map { $0.split(separator: ",").last.map(String.init) ?? "" }.joined()
}

/// The types of the boxes at the top of a file, in order.
func topBoxes(_ file: URL) throws -> [String] {
  let bytes = [UInt8](try Data(contentsOf: file))
  return bytes.boxes(in: 0..<bytes.count).map(\.type)
}
