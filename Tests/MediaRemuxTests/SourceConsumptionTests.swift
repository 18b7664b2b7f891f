// What a remux says it reads no more is destroyed at once: the result must not notice.

import FetchCore
import Foundation
import TestSupport
import Testing

@testable import MediaRemux

@Suite struct SourceConsumptionTests {
  /// A film of some 10 MB.
  private static func film(_ name: String, _ words: [String] = []) throws -> URL {
    let url = URL(fileURLWithPath: FixtureFolder.shared.path("consumed-\(name)"))
    try FFmpeg.run(
      [
        "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=4,noise=alls=60:allf=t:all_seed=3", "-f",
        "lavfi", "-i", "sine=f=440:r=48000:d=4", "-c:v", "libx264", "-preset", "ultrafast", "-qp",
        "12", "-pix_fmt", "yuv420p", "-c:a", "aac",
      ] + words + [url.path])
    return url
  }

  private static func bytes(_ url: URL) throws -> Data { try Data(contentsOf: url) }

  /// Remuxes while everything that is released is overwritten.
  private static func destroying(_ source: URL) throws -> (output: URL, released: Int64) {
    let output = source.appendingPathExtension("out.mp4")
    let from = open(source.path, O_RDWR)
    let to = open(output.path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    try #require(from >= 0 && to >= 0)
    defer {
      close(from)
      close(to)
    }
    var request = RemuxRequest(format: .mp4)
    request.releasesSource = true
    let released = Monitor(ByteRangeSet())
    let end = Monitor<RemuxMessage?>(nil)
    let session = try RemuxSession(request, source: from, sink: to) { message in
      switch message {
      case .released(let range):
        released.withLock { set in
          #expect(!set.ranges.contains { $0.intersection(range) != nil })
          set.insert(range)
        }
        let noise = [UInt8](repeating: 0xFF, count: Int(range.count))
        #expect(pwrite(from, noise, noise.count, off_t(range.lowerBound)) == noise.count)
      case .finished, .failed: end.withLock { $0 = message }
      default: break
      }
    }
    let size = Int64(try bytes(source).count)
    session.send(.total(size))
    session.send(.ended(total: size, isFramed: true))
    let last = end.wait { $0 }
    guard case .finished? = last else {
      Issue.record("\(String(describing: last))")
      return (output, 0)
    }
    return (output, released.peek { $0.byteCount })
  }

  @Test(
    arguments: [
      ("first.mp4", ["-movflags", "+faststart"]), ("last.mov", []), ("film.mkv", []),
      ("film.webm.mkv", ["-cluster_time_limit", "500"]), ("film.ts", []),
    ] as [(String, [String])])
  func whatIsReleasedIsReadNoMore(_ name: String, _ words: [String]) throws {
    let source = try Self.film(name, words)
    let size = Int64(try Self.bytes(source).count)
    let whole = try RemuxRun(source)
    #expect(whole.outcome != nil, "\(String(describing: whole.error))")
    let (output, released) = try Self.destroying(source)
    #expect(try Self.bytes(output) == Self.bytes(whole.output))
    #expect(released > size / 2, "\(released) of \(size)")
  }

  @Test(
    arguments: [
      ("parts.mp4", ["-movflags", "+frag_keyframe+empty_moov"]), ("film.flv", []), ("film.avi", []),
    ] as [(String, [String])])
  func whatIsLookedAtAgainIsKept(_ name: String, _ words: [String]) throws {
    let source = try Self.film(name, words)
    let (_, released) = try Self.destroying(source)
    #expect(released == 0)
  }

  @Test func streamThatLagsHoldsAllBehindIt() throws {
    let bytes =
      Boxes.box("ftyp", [0, 0, 0, 0]) + Boxes.box("mdat", [UInt8](repeating: 1, count: 9 << 20))
    var consumption = try #require(
      SourceConsumption(
        SourceReader(bytes), kind: .mp4,
        samples: [
          0: SampleSpan(first: 20, last: 8 << 20, isAscending: true),
          1: SampleSpan(first: 4 << 20, last: 9 << 20, isAscending: true),
        ]))
    consumption.take(stream: 1, position: 6 << 20)
    #expect(try consumption.released(read: 7 << 20) == nil)
    consumption.take(stream: 0, position: 3 << 20)
    let first = try #require(try consumption.released(read: 7 << 20))
    #expect(first.upperBound == 3 << 20 && first.lowerBound > 12)
    consumption.take(stream: 0, position: 8 << 20)
    #expect(try consumption.released(read: 9 << 20) == ByteRange(3 << 20, 6 << 20))
    #expect(try consumption.released(read: 9 << 20) == nil)
    consumption.take(stream: 1, position: 9 << 20)
    #expect(
      try consumption.released(read: Int64(bytes.count))
        == ByteRange(6 << 20, Int64(bytes.count)))
  }

  @Test func samplesOutOfOrderReleaseNothing() {
    #expect(
      SourceConsumption(
        SourceReader([]), kind: .mp4,
        samples: [0: SampleSpan(first: 9, last: 90, isAscending: false)]) == nil)
    #expect(SourceConsumption(SourceReader([]), kind: .mp4, samples: [:]) == nil)
    #expect(SourceConsumption(SourceReader([]), kind: .flv, samples: [:]) == nil)
  }
}
