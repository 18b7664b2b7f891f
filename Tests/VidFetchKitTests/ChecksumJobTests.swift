import FetchCore
import TestSupport
import Testing

@testable import VidFetchKit

/// Whole jobs with a checksum, against a real server and a real disk.
@Suite struct ChecksumJobTests {
  private func checksum(
    of name: String, _ algorithm: Checksum.Algorithm = .sha256
  ) throws -> Checksum {
    let line = try outputOfTool(["\(algorithm.rawValue)sum", FixtureFile.media(name)])
    return try #require(Checksum(algorithm, digest: line.prefix { $0 != " " }))
  }

  private let wrong = Checksum(.sha256, digest: String(repeating: "0", count: 64))

  private func request(
    _ source: String, in scratch: ScratchDirectory, _ checksum: Checksum?
  ) -> JobRequest {
    var request = JobRequest(source: source)
    request.destination = .file(scratch.file("out.mp4"))
    request.checksum = checksum
    request.transfer.retries = 0
    request.transfer.allowPrivate = true
    return request
  }

  private func run(
    _ request: JobRequest, cancelling: CancellationFlag = CancellationFlag(),
    onEvent: @escaping @Sendable (JobEvent) -> Void = { _ in }
  ) async -> JobResult {
    await withCheckedContinuation { continuation in
      FetchJob(request, cancellation: cancelling) { event in
        onEvent(event)
        if case .result(let result) = event { continuation.resume(returning: result) }
      }.start()
    }
  }

  @Test(arguments: Checksum.Algorithm.allCases)
  func sourceThatHashesToItIsPublished(algorithm: Checksum.Algorithm) async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let checksum = try checksum(of: "plain.mp4", algorithm)
    let result = await run(request(server.url("plain.mp4"), in: scratch, checksum))
    #expect(result.code == .ok, "\(String(describing: result.error))")
    #expect(scratch.names() == ["out.mp4"])
  }

  @Test func sourceThatHashesToAnythingElseLeavesNothing() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let wrong = try #require(wrong)
    let found = try checksum(of: "plain.mp4").digest
    for source in [server.url("plain.mp4"), FixtureFile.media("plain.mp4")] {
      let result = await run(request(source, in: scratch, wrong))
      #expect(result.code == .damaged)
      #expect(result.error?.message.contains(found) == true)
      #expect(result.error?.message.contains(wrong.digest) == true)
      #expect(scratch.names() == [], "\(source)")
    }
  }

  @Test func localSourceIsChecked() async throws {
    let scratch = try ScratchDirectory()
    let checksum = try checksum(of: "plain.mp4", .sha512)
    let result = await run(request(FixtureFile.media("plain.mp4"), in: scratch, checksum))
    #expect(result.code == .ok, "\(String(describing: result.error))")
  }

  /// What an earlier run left is read from its first byte on.
  @Test(arguments: [true, false])
  func partOfAnEarlierRunCounts(isRight: Bool) async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let first = await run(
      request(server.url("~drop=30000&times=1/plain.mp4"), in: scratch, nil))
    #expect(first.code == .network && first.part != nil)
    let sum = isRight ? try checksum(of: "plain.mp4") : try #require(wrong)
    let second = await run(
      request(server.url("~drop=30000&times=1/plain.mp4"), in: scratch, sum))
    #expect(second.code == (isRight ? .ok : .damaged), "\(String(describing: second.error))")
    #expect(scratch.names() == (isRight ? ["out.mp4"] : []))
    let ranges = try server.gets().map(\.range)
    #expect(ranges.count == 2 && ranges[0] == nil && ranges[1] != nil, "\(ranges)")
  }

  @Test func versionThatTakesOverIsCheckedFromItsBeginning() async throws {
    let server = try ScriptedServer(
      """
      if count == 0: send(head(200, size, 'ETag: "a"\\r\\n')); send(other[:size // 2])
      elif first is None: send(head(200, size, 'ETag: "b"\\r\\n')); send(data)
      else: send(head(200, size, 'ETag: "b"\\r\\n')); send(data)
      """,
      setUp: """
        data = open("\(FixtureFile.media("plain.mp4"))", "rb").read(); size = len(data)
        other = bytes(byte ^ 0x55 for byte in data)
        def head(status, length, fields): return (
            "HTTP/1.1 %s X\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n%s\\r\\n"
            % (status, length, fields))
        """)
    let scratch = try ScratchDirectory()
    var request = request(server.url("plain.mp4"), in: scratch, try checksum(of: "plain.mp4"))
    request.transfer.retries = 2
    let result = await run(request)
    #expect(result.code == .ok, "\(String(describing: result.error))")
  }

  @Test(arguments: [true, false])
  func bytesThatGiveTheirRoomBackWereTakenInBefore(isRight: Bool) async throws {
    let scratch = try ScratchDirectory()
    let folder = try scratch.folder("served")
    let film = folder + "/film.mp4"
    try NoisyFilm.write(to: film, frames: 120)
    let server = try NginxServer(root: folder)
    let line = try outputOfTool(["sha256sum", film])
    let right = try #require(Checksum(.sha256, digest: line.prefix { $0 != " " }))
    var request = request(
      server.url("film.mp4"), in: scratch, isRight ? right : try #require(wrong))
    request.savesDisk = true
    request.transfer.rateLimit = 5_000_000
    let result = await run(request)
    #expect(result.code == (isRight ? .ok : .damaged), "\(String(describing: result.error))")
    #expect(scratch.names() == (isRight ? ["out.mp4", "served"] : ["served"]))
  }
}
