// A source that arrives while it is read: in order, tail first, of unknown size, cut, called off.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Growing source")
struct GrowingSourceTests {
  static let sources = [
    "plain.mp4", "moov_first.mp4", "late_audio.ts", "cover.mkv", "vp9_opus.webm",
    "data_tracks.mov",
  ]

  @Test(
    arguments: sources,
    [Feeding.inOrder(3000), .inOrder(1 << 20), .onDemand(2000), .withoutTotal(5000)])
  func givesTheSameOutputHoweverTheBytesCome(name: String, feeding: Feeding) throws {
    let whole = try RemuxRun(fixture(name))
    let grown = try RemuxRun(fixture(name), feeding: feeding)
    #expect(grown.outcome != nil, "\(String(describing: grown.error))")
    #expect(try Data(contentsOf: grown.output) == Data(contentsOf: whole.output))
  }

  @Test(arguments: ["large.mkv", "large.mp4", "fragments.mp4"])
  func aLargeOutputDoesNotTellWhetherTheSizeWasKnown(name: String) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent(name)
    let options = name == "fragments.mp4" ? ["-movflags", "+frag_keyframe+empty_moov"] : []
    try run(
      [
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25", "-vf",
        "noise=alls=100:allf=t", "-t", "4", "-c:v", "mpeg2video", "-q:v", "1",
      ] + options + [file.path])
    let whole = try RemuxRun(file)
    let grown = try RemuxRun(file, feeding: .withoutTotal(1 << 20))
    let bytes = try Data(contentsOf: whole.output)
    #expect(bytes.count > 17 << 20, "the source is to be too large for the gap to be closed")
    #expect(try topBoxes(whole.output).prefix(3) == ["ftyp", "moov", "free"])
    #expect(try Data(contentsOf: grown.output) == bytes)
  }

  @Test(arguments: sources, ContainerFormat.allCases)
  func aSmallOutputHoldsNothingBesidesIndexAndMedia(
    name: String, format: ContainerFormat
  ) throws {
    let run = try RemuxRun(fixture(name), to: format)
    guard run.outcome != nil else { return }
    let bytes = try [UInt8](Data(contentsOf: run.output))
    let free = bytes.boxes(in: 0..<bytes.count).filter { $0.type == "free" || $0.type == "wide" }
    #expect(free.reduce(0) { $0 + $1.range.count } <= 8)
  }

  @Test func asksForTheIndexAtTheEndBeforeTheMedia() throws {
    // The timecode fixture keeps its index first; make one that has it last.
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("last.mp4")
    try run([
      "ffmpeg", "-v", "error", "-i", fixture("moov_first.mp4").path, "-c", "copy", file.path,
    ])
    let run = try RemuxRun(file, feeding: .onDemand(4096))
    #expect(run.outcome != nil)
    let boxes = try Data(contentsOf: file)
    let bytes = [UInt8](boxes)
    let moov = try #require(bytes.boxes(in: 0..<bytes.count).first { $0.type == "moov" })
    let firstTail = try #require(run.wants.firstIndex { $0 >= Int64(moov.range.lowerBound) })
    let afterwards = run.wants.dropFirst(firstTail).filter { $0 < Int64(moov.range.lowerBound) }
    #expect(!afterwards.isEmpty, "the media is read after the index")
  }

  @Test(arguments: [
    ("long.ts", [String]()), ("first.mp4", ["-movflags", "+faststart"]), ("long.mkv", []),
    ("fragments.mp4", ["-movflags", "+frag_keyframe+empty_moov"]),
    ("sidx.mp4", ["-movflags", "+frag_keyframe+dash+global_sidx"]), ("long.flv", []),
  ])
  func writesWhileTheSourceStillGrows(name: String, options: [String]) throws {
    // With the second half never announced, what the first half holds must have been written.
    let inbox = Inbox()
    let scratch = try Scratch()
    let long = scratch.url.appendingPathComponent(name)
    let rate =
      name.hasSuffix("flv") ? ["-c:v", "copy", "-c:a", "aac", "-ar", "44100"] : ["-c", "copy"]
    try run(
      ["ffmpeg", "-v", "error", "-stream_loop", "40", "-i", fixture("moov_first.mp4").path]
        + rate + options + [long.path])
    let source = open(long.path, O_RDONLY)
    let sink = open(
      scratch.url.appendingPathComponent("out").path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    defer {
      close(source)
      close(sink)
    }
    let session = try RemuxSession(
      RemuxRequest(format: .mp4), source: source, sink: sink, onMessage: { inbox.put($0) })
    let size = Int64(try Data(contentsOf: long).count)
    #expect(size > 2_500_000)
    session.send(.total(size))
    if let half = ByteRange(0, size / 2) { session.send(.have(half)) }
    while let message = inbox.take() {
      // It may have begun to wait before the first half was announced.
      guard case .want(let offset) = message, offset > 0 else { continue }
      // An index of fragments may make it look at the very end; that is asked for, and brought.
      if offset >= size - 4096, let tail = ByteRange(offset, size) {
        session.send(.have(tail))
        continue
      }
      #expect(offset == size / 2)
      break
    }
    #expect(lseek(sink, 0, SEEK_END) > Int(size / 3))
    session.send(.cancel)
    var last: RemuxMessage?
    while let message = inbox.take() {
      last = message
      if case .failed = message { break }
    }
    guard case .failed(let error) = last else {
      Issue.record("no failure after cancelling")
      return
    }
    #expect(error.isCancellation)
  }

  @Test func recognisesAWebPageByItsFirstBytes() throws {
    let scratch = try Scratch()
    let page = scratch.url.appendingPathComponent("page.mp4")
    var text = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>"
    text += String(repeating: "<p>please sign in</p>", count: 20_000)
    try Data(text.utf8).write(to: page)
    let run = try RemuxRun(page, feeding: .inOrder(8192))
    #expect(run.error?.code == .notMedia)
    #expect(run.error?.message.contains("web page") == true)
    #expect(run.wants.allSatisfy { $0 < 16_384 }, "the rest of the page was waited for")
  }

  @Test(arguments: ["plain.mp4", "late_audio.ts", "cover.mkv"])
  func cancelEndsAWaitAtAnyPlace(name: String) throws {
    for part in [0, 20, 3000, 30_000] {
      let scratch = try Scratch()
      let inbox = Inbox()
      let source = open(fixture(name).path, O_RDONLY)
      let sink = open(
        scratch.url.appendingPathComponent("out").path, O_RDWR | O_CREAT | O_EXCL, 0o600)
      defer {
        close(source)
        close(sink)
      }
      let session = try RemuxSession(
        RemuxRequest(format: .mp4), source: source, sink: sink, onMessage: { inbox.put($0) })
      if let some = ByteRange(0, Int64(part)) { session.send(.have(some)) }
      while let message = inbox.take() {
        if case .want = message { session.send(.cancel) }
        if case .failed(let error) = message {
          #expect(error.isCancellation)
          break
        }
        if case .finished = message {
          Issue.record("finished with \(part) bytes")
          break
        }
      }
    }
  }
}
