// A look at remote sources, over real servers and bad ones.

import FetchCore
import Foundation
import TestSupport
import Testing

@testable import VidFetchKit

/// What a look said, in order.
private struct Look {
  var events: [JobEvent] = []
  var result: ProbeResult

  init(_ source: String, configure: (inout ProbeRequest) -> Void = { _ in }) async {
    var request = ProbeRequest(source: source)
    request.transfer.retries = 2
    configure(&request)
    let events = Locked<[JobEvent]>([])
    // No thread of the tests' is held meanwhile.
    result = await withCheckedContinuation { continuation in
      ProbeJob(request) { event in
        events.withLock { $0.append(event) }
        if case .probed(let result) = event { continuation.resume(returning: result) }
      }.start()
    }
    self.events = events.withLock { $0 }
  }

  var names: [String] {
    events.map { event in
      switch event {
      case .start: "start"
      case .retry: "retry"
      case .restart(let reason, _): reason.rawValue
      case .warning(let warning): warning.warning.rawValue
      case .probed: "probed"
      default: "other"
      }
    }.filter { $0 != "other" }
  }
}

@Suite(.serialized) struct RemoteProbeTests {
  private static let gigabyte = 1 << 30

  @Test func anIndexAtTheEndCostsHeadAndTail() async throws {
    let scratch = try ScratchDirectory()
    let index = try LargeFilm.write(to: scratch.file("film.mp4"), hole: Self.gigabyte)
    let server = try FaultServer(root: scratch.path)
    let look = await Look(server.url("film.mp4"))
    #expect(look.names == ["start", "probed"])
    #expect(look.result.code == .ok && look.result.source?.index == .last)
    #expect(look.result.size.map(Int.init) == fileSize(scratch.file("film.mp4")))
    #expect(
      try server.gets().map(\.range) == [
        "bytes=0-262143", "bytes=\(index)-\((look.result.size ?? 0) - 1)",
      ])
    #expect(look.result.received < 1 << 20 && look.result.attempts == 2)
    #expect(look.result.diskNeed.map { $0 > 2 * Int64(Self.gigabyte) } == true)
  }

  @Test func weakProofIsEnoughToLook() async throws {
    let scratch = try ScratchDirectory()
    try LargeFilm.write(to: scratch.file("film.mp4"), hole: 100 << 20)
    let server = try FaultServer(root: scratch.path)
    for fault in ["etag=weak", "etag=none", "etag=none&lm=none"] {
      try server.reset()
      let look = await Look(server.url("~\(fault)/film.mp4"))
      #expect(look.result.code == .ok && look.result.received < 1 << 20, "\(fault)")
      #expect(try server.gets().count == 2, "\(fault)")
    }
  }

  @Test func aVersionThatChangesBetweenHeadAndTailIsLookedAtAnew() async throws {
    let scratch = try ScratchDirectory()
    try LargeFilm.write(to: scratch.file("old.mp4"), of: "plain.mp4", hole: 100 << 20)
    try LargeFilm.write(to: scratch.file("new.mp4"), of: "resume_a.mp4", hole: 200 << 20)
    let server = try FaultServer(root: scratch.path)
    let look = await Look(server.url("~change=1&alt=new.mp4/old.mp4"))
    #expect(look.names == ["start", "remote_changed", "remote_changed", "probed"])
    #expect(look.result.code == .ok && look.result.warnings.count == 1)
    #expect(look.result.source?.duration == 4)
    #expect(look.result.size.map(Int.init) == fileSize(scratch.file("new.mp4")))
  }

  /// A server of zeros that lead to a far index, with other validators or sizes each time.
  private func restless(_ fields: String, total: String) throws -> ScriptedServer {
    try ScriptedServer(
      """
      total = \(total); last = min(first + 262143, total - 1)
      body = data[first:last + 1] + bytes(last + 1 - max(first, len(data)))
      send("HTTP/1.1 206 X\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n" % len(body))
      send("Content-Range: bytes %d-%d/%d\\r\\n" % (first, last, total))
      send(\(fields) + "\\r\\n"); send(body)
      """,
      setUp: """
        import struct
        whole = open("\(FixtureFile.media("plain.mp4"))", "rb").read()
        data = whole[:32] + struct.pack(">I4sQ", 1, b"mdat", 1 << 28)
        """)
  }

  @Test func aRemoteThatKeepsChangingIsGivenUp() async throws {
    let server = try restless(#"'ETag: "%d"\r\n' % count"#, total: "1 << 30")
    let look = await Look(server.url("film.mp4"))
    #expect(look.result.code == .network && look.result.source == nil)
    #expect(look.result.error?.message == "the remote file keeps changing while it is fetched")
    #expect(look.names.count { $0 == "remote_changed" } == 4)
  }

  @Test func sizesThatContradictEachOtherAreRefused() async throws {
    let server = try restless("''", total: "(1 << 30) + count")
    let look = await Look(server.url("film.mp4"))
    #expect(look.result.code == .damaged && look.result.source == nil)
    #expect(look.result.error?.message.hasPrefix("contradictory lengths") == true)
  }

  @Test func aServerWithoutRangesIsReadForwards() async throws {
    let scratch = try ScratchDirectory()
    try LargeFilm.write(to: scratch.file("film.mp4"), hole: 20 << 20)
    let server = try FaultServer(root: scratch.path)
    let look = await Look(server.url("~norange=1/film.mp4"))
    #expect(look.result.code == .ok && look.result.attempts == 1)
    #expect(look.names == ["start", "unusual", "probed"])
    #expect(look.result.warnings.first?.message.contains("read from its beginning") == true)
  }

  @Test func aServerThatIgnoresRangesHalfWayIsBegunAnew() async throws {
    let scratch = try ScratchDirectory()
    try LargeFilm.write(to: scratch.file("film.mp4"), hole: 20 << 20)
    let server = try FaultServer(root: scratch.path)
    let look = await Look(server.url("~norange=1&after=1/film.mp4"))
    #expect(look.result.code == .ok)
    #expect(look.names.contains("range_ignored"))
    #expect(try server.gets().last?.range == nil)
  }

  @Test func whatWasCutIsAskedForFromWhereItWasCut() async throws {
    let server = try FaultServer()
    let look = await Look(server.url("~drop=1000&times=1/resume_a.mp4"))
    #expect(look.names == ["start", "retry", "probed"])
    #expect(look.result.code == .ok && look.result.received == 141_246)
    #expect(try server.gets().map(\.range) == ["bytes=0-262143", "bytes=1000-141245"])
  }

  @Test func withoutRangesACutBodyIsNeverPutTogether() async throws {
    let server = try FaultServer()
    let look = await Look(server.url("~norange=1/~drop=1000&times=1/resume_a.mp4"))
    #expect(look.names == ["start", "retry", "range_ignored", "probed"])
    #expect(look.result.code == .ok && look.result.received == 142_246)
  }

  @Test(
    arguments: [
      ("nothing.mp4", .notFound), ("~status=403/plain.mp4", .denied),
      ("~status=503&retry_after=86400/plain.mp4", .busy), ("~loop=1/plain.mp4", .refused),
      ("~body=login/x.mp4", .notMedia), ("empty.mp4", .notMedia), ("no_moov.mp4", .damaged),
      ("~gzip=1/plain.mp4", .refused), ("~clen=-5/plain.mp4", .damaged),
    ] as [(String, OutcomeCode)])
  func failuresAreThoseOfARun(path: String, code: OutcomeCode) async throws {
    let server = try FaultServer()
    let look = await Look(server.url(path))
    #expect(look.result.code == code && look.result.error?.code == code)
    #expect(look.result.source == nil && look.names.last == "probed")
  }

  @Test func redirectsAndLimitsAreThoseOfARun() async throws {
    let server = try FaultServer()
    let look = await Look(server.url("~redirect=3/hevc.ts"))
    #expect(look.result.code == .ok && look.result.source?.container == "mpegts")
    #expect(look.result.source?.duration.map { abs($0 - 2.02) < 0.05 } == true)
    let limited = await Look(server.url("resume_a.mp4")) { $0.transfer.maxFileSize = 100_000 }
    #expect(limited.result.code == .refused)
    let local = await Look(FixtureFile.media("resume_a.mp4")) { $0.transfer.maxFileSize = 100_000 }
    #expect(local.result.code == .refused)
  }

  @Test func cancellingEndsItAtOnce() throws {
    let server = try FaultServer()
    let events = Monitor<[JobEvent]>([])
    let job = ProbeJob(ProbeRequest(source: server.url("~stall=2000/resume_a.mp4"))) { event in
      events.withLock { $0.append(event) }
    }
    job.start()
    try waitUntil("the request") { try server.gets().count == 1 }
    job.cancel()
    let code = events.wait(timeout: .seconds(5)) { events -> OutcomeCode? in
      if case .probed(let result) = events.last { result.code } else { nil }
    }
    #expect(code == .signal)
    try waitUntil("the server to see it") { try server.gets().first?.ended != nil }
  }
}

@Suite struct VideoProbeTests {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test func tellsWhatAVideoIs() async throws {
    let server = try FaultServer()
    let found = try await VideoProbe(url(server.url("rot90.mp4"))).inspect()
    #expect(found.container == "mp4" && found.duration == 2 && found.byteCount == 47517)
    #expect(found.streams.map(\.codec) == ["h264", "aac"])
    #expect(found.streams[0].displayWidth == 120 && found.streams[0].displayHeight == 160)
    #expect(found.resolution == .SD && found.streams[0].dynamicRange == "SDR")
    #expect(found.obstacle(to: .mp4) == nil && found.obstacle(to: .mov) == nil)
  }

  @Test func namesTheObstacle() async throws {
    let path = FixtureFile.media("vp9_opus.webm")
    let found = try await VideoProbe(URL(fileURLWithPath: path)).inspect()
    #expect(found.obstacle(to: .mp4) == nil)
    #expect(found.obstacle(to: .mov) == .missingTracks)
    #expect(found.obstacle(to: .mov)?.code == "cannot-passthrough")
  }

  @Test func whatIsNoVideoIsAnError() async throws {
    let server = try FaultServer()
    for (path, kind) in [
      ("nothing.mp4", VideoError.requestFailed), ("~body=json/x.mp4", .assetNotPlayable),
    ] {
      await #expect(throws: kind) { try await VideoProbe(url(server.url(path))).inspect() }
    }
  }

  @Test func cancellingTheTaskEndsIt() async throws {
    let server = try FaultServer()
    let probe = VideoProbe(try url(server.url("~stall=2000/resume_a.mp4")))
    let task = Task { () async -> VideoError? in
      do throws(VideoError) {
        _ = try await probe.inspect()
        return nil
      } catch {
        return error
      }
    }
    task.cancel()
    #expect(await task.value == .userCancelled)
  }
}
