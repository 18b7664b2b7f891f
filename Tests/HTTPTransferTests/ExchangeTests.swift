import FetchCore
import HTTPTransfer
import Testing

@Suite struct ExchangeTests {
  let server = DataServer.shared
  let data = Root.shared.data

  @Test func deliversEveryByteOfAPlainFile() async throws {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try server.url("/data.bin")))
    let completed = try #require(outcome.completed)
    #expect(completed.bytes == 300_000)
    #expect(completed.response.status == 200)
    #expect(completed.response.framing == .length(300_000))
    #expect(completed.response.validators.strongETag != nil)
    #expect(recorder.sink.bytes == data)
    #expect(recorder.sink.writes.first == 256 * 1024)
    #expect(recorder.outcomes.count == 1)
  }

  @Test func writesARangeAtItsOffset() async throws {
    var request = HTTPRequest(url: try server.url("/data.bin"), range: .from(200_000))
    request.settings = quickSettings()
    let (recorder, outcome) = await fetch(request)
    let completed = try #require(outcome.completed)
    #expect(completed.bytes == 100_000)
    #expect(
      completed.response.contentRange == .bytes(first: 200_000, last: 299_999, total: 300_000))
    #expect(recorder.sink.bytes[200_000...] == data[200_000...])
  }

  @Test func asksForAClosedRangeOnly() async throws {
    let range = try #require(ByteRange(1000, 2000))
    let request = HTTPRequest(url: try server.url("/data.bin"), range: .closed(range))
    let (recorder, outcome) = await fetch(request)
    #expect(outcome.completed?.bytes == 1000)
    #expect(recorder.sink.bytes[1000...] == data[1000..<2000])
  }

  @Test(arguments: ["drop=100000", "rst=100000", "chunked=1&drop=100000", "clen=%2B500"])
  func aCutBodyFailsWithEveryReceivedByteWritten(_ fault: String) async throws {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try server.url("/~\(fault)/data.bin")))
    let failure = try #require(outcome.failure)
    #expect([.cut, .reset].contains(failure.kind))
    #expect(failure.error.code == .network)
    let count = Int(failure.bodyBytes)
    #expect(recorder.sink.bytes == Array(data.prefix(count)))
    if !fault.hasPrefix("rst") { #expect(count >= 100_000) }
    #expect(failure.response?.status == 200)
  }

  @Test func aChunkedBodyIsCompleteByItsLastChunk() async throws {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try server.url("/~chunked=1/data.bin")))
    #expect(outcome.completed?.response.framing == .chunked)
    #expect(recorder.sink.bytes == data)
  }

  @Test func aBodyThatEndsByClosingSaysSo() async throws {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try server.url("/~close=1/data.bin")))
    #expect(outcome.completed?.response.framing == .connectionClose)
    #expect(outcome.completed?.response.framing.provesEnd == false)
    #expect(recorder.sink.bytes == data)
  }

  @Test func silenceEndsWithAStall() async throws {
    var request = HTTPRequest(url: try server.url("/~stall=5000/data.bin"))
    request.settings.stallTimeout = .milliseconds(300)
    let (recorder, outcome) = await fetch(request, loop: TransferLoop())
    #expect(outcome.failure?.kind == .stall)
    #expect(outcome.failure?.error.code == .network)
    #expect(outcome.failure?.bodyBytes == 5000)
    #expect(recorder.sink.bytes == Array(data.prefix(5000)))
  }

  @Test func silenceBeforeTheHeadIsAStallToo() async throws {
    var request = HTTPRequest(url: try server.url("/~delay=20/data.bin"))
    request.settings.stallTimeout = .milliseconds(300)
    let (_, outcome) = await fetch(request, loop: TransferLoop())
    #expect(outcome.failure?.kind == .stall)
    #expect(outcome.failure?.response == nil)
  }

  @Test func aSlowStreamsBytesAreWrittenBeforeTheBlockIsFull() async throws {
    // The server sends 1000 bytes and is then silent: only a flush by time can bring them.
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let sink = MemorySink(onWrite: { _, count in continuation.yield(count) })
    let recorder = Recorder(sink: sink)
    let id = TransferLoop.shared.start(
      HTTPRequest(url: try server.url("/~stall=1000/data.bin")), delegate: recorder)
    var writes = stream.makeAsyncIterator()
    #expect(await writes.next() == 1000)
    TransferLoop.shared.cancel(id)
    #expect(await recorder.outcome().failure?.kind == .cancelled)
  }

  @Test func cancellingWritesWhatCameAndEndsAtOnce() async throws {
    let clock = ContinuousClock()
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let sink = MemorySink(onWrite: { _, count in continuation.yield(count) })
    let recorder = Recorder(sink: sink)
    let id = TransferLoop.shared.start(
      HTTPRequest(url: try server.url("/~stall=70000/data.bin")), delegate: recorder)
    var writes = stream.makeAsyncIterator()
    _ = await writes.next()
    let start = clock.now
    TransferLoop.shared.cancel(id)
    let failure = try #require(await recorder.outcome().failure)
    #expect(failure.error.isCancellation)
    #expect(failure.bodyBytes == 70000)
    // Far above the usual millisecond, far below any timeout that could be behind it.
    #expect(clock.now - start < .seconds(2))
    TransferLoop.shared.cancel(id)
  }

  @Test func discardStopsWithoutAnError() async throws {
    let recorder = Recorder(disposition: { _, _ in .discard })
    let (_, outcome) = await fetch(HTTPRequest(url: try server.url("/data.bin")), recorder)
    guard case .stopped(let response) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(response.contentLength == 300_000)
    #expect(recorder.sink.bytes.isEmpty)
  }

  @Test func aLimitEndsWithExactlySoManyBytes() async throws {
    let recorder = Recorder(disposition: {
      .write(to: $1, at: 0, until: BodyEnd(123_456 + Int64($0.status - 200)))
    })
    let (_, outcome) = await fetch(HTTPRequest(url: try server.url("/data.bin")), recorder)
    #expect(outcome.completed?.bytes == 123_456)
    #expect(recorder.sink.bytes == Array(data.prefix(123_456)))
  }

  @Test func theSinksErrorIsTheOutcome() async throws {
    let error = FetchError(.diskFull, "no space left")
    let recorder = Recorder(sink: MemorySink(failure: error))
    let (_, outcome) = await fetch(HTTPRequest(url: try server.url("/data.bin")), recorder)
    #expect(outcome.failure?.kind == .sink)
    #expect(outcome.failure?.error == error)
    #expect(outcome.failure?.bodyBytes == 0)
  }

  @Test(arguments: ["gzip=1", "gzip=label"])
  func aContentCodingIsRefusedBeforeAByteIsWritten(_ fault: String) async throws {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try server.url("/~\(fault)/data.bin")))
    #expect(outcome.failure?.kind == .contentCoding)
    #expect(outcome.failure?.error.code == .refused)
    #expect(outcome.failure?.error.message.contains("gzip") == true)
    #expect(recorder.responses.isEmpty)
    #expect(recorder.sink.bytes.isEmpty)
  }

  @Test func noCodingIsAskedFor() async throws {
    let mark = DataServer.mark()
    let (_, outcome) = await fetch(
      HTTPRequest(url: try server.url("/~gzip=asked/data.bin?\(mark)")))
    #expect(outcome.completed != nil)
    #expect(try await server.log(mark).first?.headers["Accept-Encoding"] == nil)
    #expect(
      try await server.log(mark).first?.headers["User-Agent"] == "vidfetch/\(vidfetchVersion)")
  }

  @Test func surplusBytesOfALengthAreNotWritten() async throws {
    let (recorder, outcome) = await fetch(
      HTTPRequest(url: try server.url("/~oversize=999/data.bin")))
    #expect(outcome.completed?.bytes == 300_000)
    #expect(recorder.sink.bytes == data)
  }

  @Test(arguments: ["", "~chunked=1/"])
  func aFileOverTheLimitIsRefused(_ prefix: String) async throws {
    var request = HTTPRequest(url: try server.url("/\(prefix)data.bin"))
    request.settings.maxFileSize = 200_000
    let (recorder, outcome) = await fetch(request)
    #expect(outcome.failure?.kind == .tooLarge)
    #expect(outcome.failure?.error.code == .refused)
    #expect(outcome.failure?.error.message.contains("200000") == true)
    #expect(recorder.sink.bytes.count <= 200_000)
  }

  @Test func aFileAtTheLimitIsFetched() async throws {
    for prefix in ["", "~chunked=1/"] {
      var request = HTTPRequest(url: try server.url("/\(prefix)data.bin"))
      request.settings.maxFileSize = 300_000
      #expect(await fetch(request).outcome.completed?.bytes == 300_000)
    }
  }

  @Test(arguments: [(404, OutcomeCode.notFound), (403, .denied), (503, .busy), (418, .refused)])
  func anErrorsStatusIsTheFailure(_ status: Int, _ code: OutcomeCode) async throws {
    let (recorder, outcome) = await fetch(
      HTTPRequest(url: try server.url("/~status=\(status)&retry_after=7/data.bin")))
    #expect(outcome.failure?.kind == .status(status))
    #expect(outcome.failure?.error.code == code)
    #expect(outcome.failure?.response?.retryAfter == .seconds(7))
    #expect(recorder.responses.first?.status == status)
    #expect(recorder.sink.bytes.isEmpty)
  }

  @Test func aConnectionServesTheNextRequest() async throws {
    let loop = TransferLoop()
    let mark = DataServer.mark()
    for path in ["/small.txt", "/missing", "/~redirect=2/small.txt", "/small.txt"] {
      let outcome = await fetch(
        HTTPRequest(url: try server.url(path + "?\(mark)=1")), loop: loop
      ).outcome
      if path != "/missing" { #expect(outcome.completed != nil) }
    }
    #expect(Set(try await server.log(mark).map(\.conn)).count == 1)
  }

  @Test func nothingListensMeansRefused() async throws {
    // Port 1 of loopback has no listener.
    let (_, outcome) = await fetch(HTTPRequest(url: try HTTPURL("http://127.0.0.1:1/x")))
    #expect(outcome.failure?.kind == .connectRefused)
    #expect(outcome.failure?.error.code == .network)
    #expect(outcome.failure?.error.message == "127.0.0.1:1 refuses the connection")
  }

  @Test func anUnknownHostIsNotResolved() async throws {
    let (_, outcome) = await fetch(HTTPRequest(url: try HTTPURL("http://nothing.invalid/x")))
    #expect(outcome.failure?.kind == .resolve)
    #expect(outcome.failure?.error.code == .network)
  }

  @Test func manyExchangesShareOneLoop() async throws {
    let outcomes = try await withThrowingTaskGroup(of: ExchangeOutcome.self) { group in
      for index in 0..<24 {
        let url = try server.url("/data.bin?many=\(index)")
        group.addTask {
          let (recorder, outcome) = await fetch(HTTPRequest(url: url))
          #expect(recorder.sink.bytes == Root.shared.data)
          return outcome
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.allSatisfy { $0.completed?.bytes == 300_000 })
  }
}
