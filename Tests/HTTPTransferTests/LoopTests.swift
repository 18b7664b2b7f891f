// The loop as a whole: its options, its limits, what it leaves behind.

import FetchCore
import Foundation
import Testing

@testable import HTTPTransfer

@Suite struct LoopTests {
  let server = FaultServer.shared

  @Test func theOptionsThatKeepUsSafeAreSet() {
    let options = Dictionary(
      uniqueKeysWithValues: TransferOptions.fixed.map { ($0.name, $0.value) })
    let expected: [String: TransferOption.Value] = [
      "PROTOCOLS_STR": .text("http,https"), "REDIR_PROTOCOLS_STR": .text("http,https"),
      "FOLLOWLOCATION": .long(0), "UNRESTRICTED_AUTH": .long(0), "NETRC": .long(0),
      "HTTP09_ALLOWED": .long(0), "SSL_VERIFYPEER": .long(1), "SSL_VERIFYHOST": .long(2),
      "SSLVERSION": .long(6), "HTTP_CONTENT_DECODING": .long(0), "ACCEPT_ENCODING": .text(nil),
      "NOSIGNAL": .long(1), "QUICK_EXIT": .long(1), "AUTOREFERER": .long(0),
      "DISALLOW_USERNAME_IN_URL": .long(1), "HEADEROPT": .long(1), "BUFFERSIZE": .long(524_288),
      "MAXLIFETIME_CONN": .long(600), "PROXY_SSL_VERIFYPEER": .long(1),
      "PROXY_SSL_VERIFYHOST": .long(2), "SUPPRESS_CONNECT_HEADERS": .long(1),
      "HTTP_VERSION": .long(4), "NOPROXY": .text(""),
    ]
    for (name, value) in expected { #expect(options[name] == value, "\(name)") }
  }

  @Test func everyOptionIsTakenByTheLinkedLibcurl() throws {
    var request = HTTPRequest(url: Samples.url, range: .from(5))
    request.settings.rateLimit = 1000
    request.settings.caFile = "/x"
    let fields = RequestFields(
      for: request.url, settings: request.settings, secretsOrigin: request.url.origin,
      startCredentials: nil, hopCredentials: nil, cookies: CookieJar(), ifRange: nil)
    let specific = TransferOptions.specific(
      to: request, fields: fields, proxy: nil,
      trust: TrustSource(setting: "/x", environment: TransferEnvironment()))
    #expect(CurlLibrary.problem == nil)
    let handle = try EasyHandle()
    try handle.apply(TransferOptions.fixed + specific)
    let names = Set((TransferOptions.fixed + specific).map(\.name))
    #expect(names.count == TransferOptions.fixed.count + specific.count)
    #expect(names.isSuperset(of: ["USERAGENT", "RANGE", "PROXY", "CONNECTTIMEOUT_MS", "CAINFO"]))
  }

  @Test func aRateLimitHoldsBack() async throws {
    // 300 000 bytes at 400 000 a second: the limit can't be met in a quarter of that time, however
    // fast the machine, and no slowness of the machine can fail this.
    var request = HTTPRequest(url: try server.url("/data.bin"))
    request.settings.rateLimit = 400_000
    let clock = ContinuousClock()
    let start = clock.now
    let outcome = await fetch(request, loop: TransferLoop()).outcome
    #expect(outcome.completed?.bytes == 300_000)
    #expect(clock.now - start > .milliseconds(180))
  }

  @Test func aBlockedRateCanBeOpenedWhileItRuns() async throws {
    let loop = TransferLoop()
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let recorder = Recorder(sink: MemorySink(onWrite: { _, count in continuation.yield(count) }))
    var request = HTTPRequest(url: try server.url("/data.bin"))
    request.settings.rateLimit = 2000
    let id = loop.start(request, delegate: recorder)
    var writes = stream.makeAsyncIterator()
    _ = await writes.next()
    loop.setRateLimit(id, nil)
    #expect(await recorder.outcome().completed?.bytes == 300_000)
  }

  @Test func aLoopThatIsLetGoEndsItsExchanges() async throws {
    let recorder = Recorder()
    var loop: TransferLoop? = TransferLoop()
    _ = loop?.start(HTTPRequest(url: try server.url("/~stall=10/data.bin")), delegate: recorder)
    loop = nil
    #expect(await recorder.outcome().failure?.kind == .cancelled)
  }

  @Test func cancellingDuringTheFirstCallsIsSafe() async throws {
    for _ in 0..<50 {
      let recorder = Recorder()
      let id = TransferLoop.shared.start(
        HTTPRequest(url: try server.url("/data.bin")), delegate: recorder)
      await Task.yield()
      TransferLoop.shared.cancel(id)
      _ = await recorder.outcome()
      #expect(recorder.outcomes.count == 1)
    }
  }
}
