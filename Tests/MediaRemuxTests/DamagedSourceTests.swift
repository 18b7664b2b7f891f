// Sources that are cut, empty or not media, and sinks that fail: never a finished output.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Damaged source")
struct DamagedSourceTests {
  @Test func refusesAnMp4WhoseMediaIsCut() throws {
    let run = try RemuxRun(fixture("cut_mdat.mp4"))
    #expect(run.error?.code == .damaged)
  }

  @Test func saysThatTheIndexIsMissing() throws {
    let error = try #require(try RemuxRun(fixture("no_moov.mp4")).error)
    #expect(error.code == .damaged)
    #expect(error.message.contains("index (moov) is missing"))
  }

  @Test func saysThatTheBodyIsEmpty() throws {
    let error = try #require(try RemuxRun(fixture("empty.mp4")).error)
    #expect(error.code == .notMedia)
    #expect(error.message.contains("empty"))
  }

  @Test func refusesRandomBytes() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("noise.mp4")
    var state: UInt64 = 42
    let bytes = (0..<200_000).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    try Data(bytes).write(to: file)
    let error = try #require(try RemuxRun(file).error)
    #expect(error.code == .notMedia || error.code == .damaged)
  }

  @Test(arguments: ["plain.mp4", "resume_a.mp4", "cover.mkv", "vp9_opus.webm", "hevc_hev1.mp4"])
  func neverFinishesACutFileOfAContainerWithAnEnd(name: String) throws {
    let scratch = try Scratch()
    let whole = try Data(contentsOf: fixture(name))
    for share in stride(from: 3, through: 99, by: 8) {
      let file = scratch.url.appendingPathComponent("cut-\(share)")
      try whole.prefix(whole.count * share / 100).write(to: file)
      let run = try RemuxRun(file)
      #expect(run.outcome == nil, "\(name) cut at \(share) %")
      let code = run.error?.code
      #expect(code == .damaged || code == .notMedia || code == .cannotPassthrough, "\(share) %")
    }
  }

  @Test func needsFramingWhereTheContainerHasNoEnd() throws {
    let framed = try RemuxRun(fixture("ac3.ts"), isFramed: true)
    #expect(framed.outcome?.completeBy == .framing)
    let loose = try RemuxRun(fixture("ac3.ts"), isFramed: false)
    #expect(loose.error?.code == .damaged)
  }

  @Test func proofByStructureNeedsNoFraming() throws {
    let run = try RemuxRun(fixture("plain.mp4"), isFramed: false)
    #expect(run.outcome?.completeBy == .structure)
  }

  @Test func aSinkThatCannotBeWrittenIsNoDamage() throws {
    let source = open(fixture("plain.mp4").path, O_RDONLY)
    // Opened for reading only: every write fails.
    let sink = open("/dev/null", O_RDONLY)
    defer {
      close(source)
      close(sink)
    }
    #expect(try lastError(source: source, sink: sink)?.code == .localIO)
  }

  @Test func aFullSinkIsADiskThatIsFull() throws {
    let source = open(fixture("plain.mp4").path, O_RDONLY)
    let sink = open("/dev/full", O_RDWR)
    defer {
      close(source)
      close(sink)
    }
    #expect(try lastError(source: source, sink: sink)?.code == .diskFull)
  }

  @Test func bytesThatWereAnnouncedButAreNotThereAreTroubleOfTheDisk() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("short.mp4")
    try Data(contentsOf: fixture("plain.mp4")).prefix(20_000).write(to: file)
    let inbox = Inbox()
    let source = open(file.path, O_RDONLY)
    let sink = open(
      scratch.url.appendingPathComponent("out").path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    defer {
      close(source)
      close(sink)
    }
    let session = try RemuxSession(
      RemuxRequest(format: .mp4), source: source, sink: sink, onMessage: { inbox.put($0) })
    session.send(.ended(total: 47_517, isFramed: true))
    while let message = inbox.take() {
      if case .failed(let error) = message {
        #expect(error.code == .localIO)
        break
      }
    }
  }

  private func lastError(source: Int32, sink: Int32) throws -> FetchError? {
    let inbox = Inbox()
    let session = try RemuxSession(
      RemuxRequest(format: .mp4), source: source, sink: sink, onMessage: { inbox.put($0) })
    session.send(.ended(total: 47_517, isFramed: true))
    while let message = inbox.take() {
      if case .failed(let error) = message { return error }
      if case .finished = message { return nil }
    }
    return nil
  }
}
