// How long a hop may take, without a wait; and servers that would take for ever.

import FetchCore
import TestSupport
import Testing

@testable import HTTPTransfer

@Suite struct HopClockTests {
  static let second: Int64 = 1_000_000_000

  private func clock() -> HopClock {
    var clock = HopClock(stallTimeout: .seconds(30))
    clock.requestBegins(0)
    return clock
  }

  private func due(_ clock: HopClock, _ seconds: Int64) -> HopClock.Due {
    var clock = clock
    return clock.due(seconds * Self.second, roundStart: seconds * Self.second)
  }

  @Test func silenceIsAStall() {
    var clock = clock()
    #expect(due(clock, 30) == .nothing)
    #expect(due(clock, 31) == .stalled)
    clock.bytesCame(25 * Self.second)
    #expect(due(clock, 55) == .nothing)
    #expect(due(clock, 56) == .stalled)
  }

  @Test func aHeadThatTricklesInMustEnd() {
    var clock = clock()
    for time in 1...200 { clock.bytesCame(Int64(time) * Self.second) }
    #expect(due(clock, 201) == .stalled)
    clock.headIsComplete()
    #expect(due(clock, 201) == .nothing)
  }

  @Test func anUnwantedBodyIsNotWaitedFor() {
    var clock = clock()
    clock.headIsComplete()
    clock.drainBegins(Self.second)
    clock.bytesCame(2 * Self.second)
    #expect(due(clock, 2) == .nothing)
    #expect(due(clock, 3) == .drainIsOver)
    #expect(clock.next == 3 * Self.second)
  }

  @Test func aPauseIsNoSilence() {
    var clock = clock()
    clock.headIsComplete()
    clock.pause(until: 100 * Self.second)
    #expect(due(clock, 99) == .nothing)
    #expect(clock.next == 100 * Self.second)
    #expect(clock.due(100 * Self.second, roundStart: 100 * Self.second) == .pauseIsOver)
    #expect(due(clock, 130) == .nothing)
    #expect(due(clock, 131) == .stalled)
  }

  @Test func headsAreCounted() {
    func take(_ text: String, into head: inout ResponseHead) {
      Array((text + "\r\n").utf8).withUnsafeBytes { head.take($0) }
    }
    var head = ResponseHead()
    for _ in 0..<64 {
      take("HTTP/1.1 103 Early Hints", into: &head)
      take("", into: &head)
    }
    #expect(!head.isExcessive)
    take("HTTP/1.1 103 Early Hints", into: &head)
    #expect(head.isExcessive)

    head = ResponseHead()
    take("HTTP/1.1 200 OK", into: &head)
    take("", into: &head)
    for _ in 0..<300 { take("Trailer: " + String(repeating: "x", count: 1000), into: &head) }
    #expect(head.isExcessive)
    #expect(head.fields.isEmpty)
  }
}

@Suite struct EndlessServerTests {
  private func fetch(
    _ server: ScriptedServer, stallTimeout: Duration = .milliseconds(300)
  ) async throws -> ExchangeOutcome {
    var request = HTTPRequest(url: try HTTPURL(server.url("x")))
    request.settings.stallTimeout = stallTimeout
    return await HTTPTransferTests.fetch(request, loop: TransferLoop()).outcome
  }

  @Test func interimHeadsAreNoProgress() async throws {
    let server = try ScriptedServer(
      "while True: send('HTTP/1.1 103 Early Hints\\r\\nLink: </a>\\r\\n\\r\\n'); time.sleep(0.05)")
    #expect(try await fetch(server).failure?.kind == .stall)
  }

  @Test(arguments: [
    "while True: send('HTTP/1.1 103 Early Hints\\r\\n\\r\\n')",
    "send('HTTP/1.1 200 OK\\r\\n')\nwhile True: send('X: ' + 'y' * 999 + '\\r\\n')",
    """
    send('HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\na\\r\\n0\\r\\n')
    while True: send('X: ' + 'y' * 999 + '\\r\\n')
    """,
  ])
  func headersWithoutEndAreRefused(_ script: String) async throws {
    let outcome = try await fetch(ScriptedServer(script), stallTimeout: .seconds(60))
    #expect(outcome.failure?.error.code == .refused, "\(outcome)")
  }

  @Test func trailersAreNoProgress() async throws {
    let server = try ScriptedServer(
      """
      send('HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\na\\r\\n0\\r\\n')
      while True: send('X: y\\r\\n'); time.sleep(0.05)
      """)
    #expect(try await fetch(server).failure?.kind == .stall)
  }

  /// The bodies come byte by byte, for hours.
  @Test func theBodyOfARedirectOrAnErrorHoldsNothingUp() async throws {
    let slow = "\nwhile True: send('x'); time.sleep(0.05)"
    let server = try ScriptedServer(
      """
      if request.startswith('GET /x'):
          send('HTTP/1.1 302 F\\r\\nLocation: /y\\r\\nContent-Length: 60000\\r\\n\\r\\n')
      else:
          send('HTTP/1.1 404 N\\r\\nContent-Length: 60000\\r\\n\\r\\n')
      """ + slow)
    let outcome = try await fetch(server)
    #expect(outcome.failure?.kind == .status(404))
    #expect(outcome.failure?.response?.redirects == 1)
  }
}
