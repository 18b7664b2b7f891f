// The loop as a whole: its options, its limits, what it leaves behind.

import FetchCore
import Foundation
import Testing

@testable import HTTPTransfer

@Suite struct LoopTests {
  let server = DataServer.shared

  @Test func theOptionsThatKeepUsSafeAreSet() throws {
    let options = Dictionary(
      uniqueKeysWithValues: TransferOptions.fixed.map { ($0.name, $0.value) })
    let expected: [String: TransferOption.Value] = [
      "PROTOCOLS_STR": .text("http,https"), "REDIR_PROTOCOLS_STR": .text("http,https"),
      "FOLLOWLOCATION": .long(0), "UNRESTRICTED_AUTH": .long(0), "NETRC": .long(0),
      "HTTP09_ALLOWED": .long(0), "SSL_VERIFYPEER": .long(1), "SSL_VERIFYHOST": .long(2),
      "SSLVERSION": .long(6), "HTTP_CONTENT_DECODING": .long(0), "ACCEPT_ENCODING": .text(nil),
      "NOSIGNAL": .long(1), "QUICK_EXIT": .long(1), "AUTOREFERER": .long(0),
      "DISALLOW_USERNAME_IN_URL": .long(1), "HEADEROPT": .long(1),
      "MAXLIFETIME_CONN": .long(600), "PROXY_SSL_VERIFYPEER": .long(1),
      "PROXY_SSL_VERIFYHOST": .long(2), "SUPPRESS_CONNECT_HEADERS": .long(1),
      "HTTP_VERSION": .long(4), "NOPROXY": .text(""),
    ]
    for (name, value) in expected { #expect(options[name] == value, "\(name)") }
    #expect(TransferOptions.receiveBuffer(for: nil, rate: nil) == 512 * 1024)
    #expect(TransferOptions.receiveBuffer(for: .from(7), rate: nil) == 512 * 1024)
    // Sixteen of them are no more than four others.
    let piece = RequestedRange.closed(try #require(ByteRange(offset: 7, count: 1 << 30)))
    #expect(TransferOptions.receiveBuffer(for: piece, rate: nil) == 128 * 1024)
    #expect(TransferOptions.receiveBuffer(for: piece, rate: 1 << 20) == (1 << 20) / 10)
    #expect(TransferOptions.receiveBuffer(for: nil, rate: 100) == 1024)
  }

  @Test func everyOptionIsTakenByTheLinkedLibcurl() throws {
    var request = HTTPRequest(url: Samples.url, range: .from(5))
    request.settings.caFile = "/x"
    let fields = RequestFields(
      for: request.url, settings: request.settings, secretsOrigin: request.url.origin,
      startCredentials: nil, hopCredentials: nil, cookies: CookieJar(), ifRange: nil)
    let specific = TransferOptions.specific(
      to: request, fields: fields, proxy: nil,
      trust: TrustSource(setting: "/x", environment: TransferEnvironment()), rate: 5)
    #expect(CurlLibrary.problem == nil)
    let handle = try EasyHandle()
    try handle.apply(TransferOptions.fixed + specific)
    let names = Set((TransferOptions.fixed + specific).map(\.name))
    #expect(names.count == TransferOptions.fixed.count + specific.count)
    #expect(names.isSuperset(of: ["USERAGENT", "RANGE", "PROXY", "CONNECTTIMEOUT_MS", "CAINFO"]))
  }

  @Test func theBucketLetsTheRateThroughAndNoMore() {
    var bucket = TokenBucket(rate: 1000)
    #expect(bucket.take(100, now: 0) == 100_000_000)
    #expect(bucket.take(100, now: 100_000_000) == 100_000_000)
    // A long silence saves up a tenth of a second and no more.
    #expect(bucket.take(100, now: 9_000_000_000) == 0)
    #expect(bucket.take(1000, now: 9_000_000_000) == 1_000_000_000)
    bucket.rate = nil
    #expect(bucket.take(.max, now: 9_000_000_000) == 0)
  }

  @Test(arguments: ["/data.bin", "/~chunked=1/data.bin"])
  func aRateLimitHoldsBack(_ path: String) async throws {
    // 300 000 bytes at 200 000 a second take 1.5 s less what may come at once. A slow machine only
    // makes it longer.
    var request = HTTPRequest(url: try server.url(path))
    request.settings.rateLimit = 200_000
    request.settings.stallTimeout = .seconds(60)
    let clock = ContinuousClock()
    let start = clock.now
    let (recorder, outcome) = await fetch(request, loop: TransferLoop())
    #expect(outcome.completed?.bytes == 300_000)
    #expect(recorder.sink.bytes == Root.shared.data)
    #expect(clock.now - start > .milliseconds(1300))
  }

  @Test func exchangesShareALimiter() async throws {
    let limiter = RateLimiter(400_000)
    let loop = TransferLoop()
    let clock = ContinuousClock()
    let start = clock.now
    let url = try server.url("/data.bin")
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var request = HTTPRequest(url: url)
          request.limiter = limiter
          #expect(await fetch(request, loop: loop).outcome.completed?.bytes == 300_000)
        }
      }
    }
    #expect(clock.now - start > .milliseconds(1300))
  }

  @Test func aPauseOfOurOwnIsNoStall() async throws {
    // Each kilobyte is followed by a second and a half of waiting.
    let range = try #require(ByteRange(0, 2100))
    var request = HTTPRequest(url: try server.url("/data.bin"), range: .closed(range))
    request.settings.rateLimit = 700
    request.settings.stallTimeout = .seconds(1)
    let outcome = await fetch(request, loop: TransferLoop()).outcome
    #expect(outcome.completed?.bytes == 2100)
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

  @Test func brokenPipesDoNotSignalTheHost() async throws {
    let (_, outcome) = await fetch(HTTPRequest(url: try server.url("/small.txt")))
    #expect(outcome.completed != nil)
    let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    let statuses = tasks.compactMap { task -> String? in
      try? String(contentsOfFile: "/proc/self/task/\(task)/status", encoding: .utf8)
    }
    let loops = statuses.filter { $0.hasPrefix("Name:\tvidfetch-http") }
    #expect(!loops.isEmpty)
    for status in loops {
      let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") } ?? ""
      let mask = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) ?? 0
      #expect(mask & (1 << UInt64(SIGPIPE - 1)) != 0)
    }
  }
}
