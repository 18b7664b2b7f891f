// TLS and HTTP/2 against nginx.

import FetchCore
import Testing

@testable import HTTPTransfer

@Suite(
  .enabled(
    if: !Inside.isAnywhere && SecureServer.shared.isAvailable, "needs nginx and openssl"))
struct SecureTests {
  let server = SecureServer.shared
  let data = Root.shared.data

  private func request(_ path: String, port: Int? = nil, range: RequestedRange? = nil) throws
    -> HTTPRequest
  {
    var request = HTTPRequest(url: try server.url(path, port: port), range: range)
    request.settings = quickSettings()
    request.settings.caFile = server.authority
    return request
  }

  @Test func speaksHTTP2OverTLS() async throws {
    let (recorder, outcome) = await fetch(try request("/data.bin"))
    let completed = try #require(outcome.completed)
    #expect(completed.response.httpVersion == "2")
    #expect(completed.response.framing == .length(300_000))
    #expect(recorder.sink.bytes == data)
    #expect(recorder.warnings.isEmpty)
  }

  @Test func rangesOverHTTP2ArePlacedRight() async throws {
    let (recorder, outcome) = await fetch(try request("/data.bin", range: .from(299_000)))
    #expect(outcome.completed?.bytes == 1000)
    #expect(recorder.sink.bytes[299_000...] == data[299_000...])
  }

  @Test func manyStreamsOfOneConnectionKeepTheirBytesApart() async throws {
    let loop = TransferLoop()
    _ = await fetch(try request("/small.txt"), loop: loop)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<12 {
        let range = try #require(ByteRange(Int64(index) * 25_000, Int64(index + 1) * 25_000))
        let request = try request("/data.bin", range: .closed(range))
        group.addTask {
          let (recorder, outcome) = await fetch(request, loop: loop)
          #expect(outcome.completed?.bytes == 25_000)
          let bytes = Int(range.lowerBound)..<Int(range.upperBound)
          #expect(recorder.sink.bytes[bytes.lowerBound...] == Root.shared.data[bytes])
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func aLimitedStreamDoesNotHoldUpItsConnection() async throws {
    let loop = TransferLoop()
    _ = await fetch(try request("/small.txt"), loop: loop)
    var slow = try request("/data.bin")
    slow.settings.rateLimit = 200_000
    let limited = Recorder()
    _ = loop.start(slow, delegate: limited)
    let (free, outcome) = await fetch(try request("/data.bin"), loop: loop)
    #expect(outcome.completed != nil)
    #expect(free.sink.bytes == data)
    #expect(limited.outcomes.isEmpty)
    #expect(await limited.outcome().completed?.bytes == 300_000)
    #expect(limited.sink.bytes == data)
  }

  @Test func aStreamWithoutLengthEndsByItself() async throws {
    let (recorder, outcome) = await fetch(try request("/fault/~chunked=1/data.bin"))
    #expect(outcome.completed?.response.framing == .http2)
    #expect(recorder.sink.bytes == data)
  }

  @Test(arguments: ["chunked=1&drop=100000", "drop=100000"])
  func aStreamThatIsCutIsNotComplete(_ fault: String) async throws {
    let (recorder, outcome) = await fetch(try request("/fault/~\(fault)/data.bin"))
    let failure = try #require(outcome.failure)
    #expect([.http2, .cut, .reset].contains(failure.kind))
    #expect(failure.error.code == .network)
    #expect(recorder.sink.bytes == Array(data.prefix(Int(failure.bodyBytes))))
  }

  @Test(arguments: ["/data.bin", "/fault/~chunked=1/data.bin"])
  func aConnectionThatIsCutIsNotComplete(_ path: String) async throws {
    let relay = CuttingRelay(to: server.good, after: 150_000)
    let (recorder, outcome) = await fetch(try request(path, port: relay.port))
    let failure = try #require(outcome.failure)
    #expect([.http2, .cut, .reset].contains(failure.kind))
    #expect(failure.bodyBytes > 0)
    #expect(recorder.sink.bytes == Array(data.prefix(Int(failure.bodyBytes))))
  }

  @Test func aCertificateOfAnUnknownAuthorityIsRefused() async throws {
    var request = try request("/data.bin")
    request.settings.caFile = nil
    let failure = try #require(await fetch(request, loop: TransferLoop()).outcome.failure)
    #expect(failure.kind == .trust)
    #expect(failure.error.code == .tls)
    #expect(failure.error.message.contains("unknown here"))
    #expect(failure.error.recovery?.contains("--cacert") == true)
  }

  @Test func theSystemsCertificatesArePutAsideForTheEnvironments() async throws {
    var request = try request("/small.txt")
    request.settings.caFile = nil
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
      let loop = TransferLoop(environment: TransferEnvironment([name: server.authority]))
      #expect(await fetch(request, loop: loop).outcome.completed != nil)
    }
  }

  @Test func everyFaultOfACertificateHasItsWords() async throws {
    let faults = [
      (server.expired, "has expired"), (server.misnamed, "another host name"),
      (server.selfSigned, "signed by itself"),
    ]
    for (port, words) in faults {
      let failure = try #require(await fetch(try request("/data.bin", port: port)).outcome.failure)
      #expect(failure.kind == .trust)
      #expect(failure.error.code == .tls)
      #expect(failure.error.message.contains(words), "\(failure.error)")
      // Nobody is told how to look away.
      #expect("\(failure.error)".contains("insecure") == false)
    }
  }

  @Test func aMissingCertificateFileIsNamed() async throws {
    var request = try request("/data.bin")
    request.settings.caFile = "/nonexistent.pem"
    let failure = try #require(await fetch(request, loop: TransferLoop()).outcome.failure)
    #expect(failure.error.code == .tls)
    #expect(failure.error.message.contains("/nonexistent.pem"))
  }

  @Test func tlsToAServerWithoutItIsAHandshakeFailure() async throws {
    let failure = try #require(
      await fetch(try request("/data.bin", port: server.plain)).outcome.failure)
    #expect(failure.kind == .handshake)
    #expect(failure.error.code == .tls)
  }

  @Test func aDowngradeNeedsLeaveAndWarns() async throws {
    var request = try request("/down")
    let refused = await fetch(request)
    #expect(refused.outcome.failure?.kind == .redirect)
    #expect(refused.outcome.failure?.error.recovery?.contains("--allow-downgrade") == true)
    request.settings.allowDowngrade = true
    let (recorder, outcome) = await fetch(request)
    #expect(outcome.completed != nil)
    #expect(recorder.warnings.map(\.warning) == [.downgrade])
  }
}
