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
      #expect(run.error?.code == .damaged, "\(share) %: \(String(describing: run.error))")
    }
  }

  @Test(arguments: [Feeding.whole, .inOrder(100), .withoutTotal(1000)])
  func aFilmThatIsCutInItsBeginningIsNotTakenForAnotherCodec(feeding: Feeding) throws {
    let scratch = try Scratch()
    let film = scratch.url.appendingPathComponent("whole.flv")
    try run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-c", "copy", "-flvflags",
      "no_duration_filesize", film.path,
    ])
    let bytes = try [UInt8](Data(contentsOf: film))
    // The first tag of sound, behind those of script and picture: from its header alone libavformat
    // reads codec 0.
    var tag = 13
    while bytes[tag] != 8 { tag += 15 + Int(bytes.integer(tag + 1, 3)) }
    let file = scratch.url.appendingPathComponent("cut.flv")
    for count in [8, 9, 11] {
      try Data(bytes[..<(tag + count)]).write(to: file)
      let error = try RemuxRun(file, isFramed: feeding != .withoutTotal(1000), feeding: feeding)
        .error
      #expect(error?.code == .damaged, "\(String(describing: error))")
      #expect(error?.message.hasPrefix("cut: ") == true)
    }
  }

  @Test func aRefusalDoesNotWaitForTheRestOfTheSource() throws {
    let scratch = try Scratch()
    let film = scratch.url.appendingPathComponent("refused.mkv")
    try run([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x240:r=25", "-t", "10", "-c:v",
      "ffv1", film.path,
    ])
    let size = Int64(try Data(contentsOf: film).count)
    let source = open(film.path, O_RDONLY)
    let sink = open(
      scratch.url.appendingPathComponent("out").path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    defer {
      close(source)
      close(sink)
    }
    let inbox = Inbox()
    let session = try RemuxSession(
      RemuxRequest(format: .mp4), source: source, sink: sink, onMessage: { inbox.put($0) })
    // The last bytes never come, and so it is never known whether the source is whole.
    session.send(.total(size + 1000))
    session.send(.have(try #require(ByteRange(0, size))))
    while let message = inbox.take() {
      guard case .failed(let error) = message else {
        if case .want(let offset) = message, offset >= size { Issue.record("it waits for the end") }
        continue
      }
      #expect(error.code == .cannotPassthrough)
      break
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
