// A server and the way to it, in made-up time. What is real: the requests, the responses' heads, the
// writer that brings bodies into the part, and everything that is decided about them.

import FetchCore
import TestSupport

@testable import HTTPTransfer

/// Runs exchanges with a server that follows a scenario.
///
/// SAFETY of `@unchecked Sendable`: everything of a simulation happens on one thread.
final class MadeUpNetwork: ExchangeRunner, @unchecked Sendable {
  private final class Connection {
    let id: ExchangeID
    let request: HTTPRequest
    let delegate: any ExchangeDelegate
    var response: HTTPResponse?
    var writer: BodyWriter?
    /// What is still to be sent.
    var body: ArraySlice<UInt8> = []
    var fault = Fault.none
    /// Bytes after which the fault strikes.
    var bytesLeft = Int.max
    var isServed = false

    init(_ id: ExchangeID, _ request: HTTPRequest, _ delegate: any ExchangeDelegate) {
      self.id = id
      self.request = request
      self.delegate = delegate
    }
  }

  private let time: MadeUpTime
  private let scenario: Scenario
  private let begin: Int64
  private var random: SeededNumbers
  private var running: [ExchangeID: Connection] = [:]
  private var faults: [Fault]
  private var count: UInt64 = 0
  /// The misdeeds that were done.
  private(set) var met: [Fault] = []
  private(set) var mostAtOnce = 0

  init(_ scenario: Scenario, seed: Int, time: MadeUpTime) {
    self.scenario = scenario
    self.time = time
    begin = time.now
    random = SeededNumbers(seed: UInt64(seed) &+ 77)
    faults = scenario.faults
  }

  // MARK: - ExchangeRunner

  func start(_ request: HTTPRequest, delegate: any ExchangeDelegate) -> ExchangeID {
    count += 1
    let connection = Connection(ExchangeID(number: count), request, delegate)
    running[connection.id] = connection
    time.after(2 * scenario.latency) { [self] in answer(connection) }
    return connection.id
  }

  func cancel(_ id: ExchangeID) {
    guard let connection = running[id] else { return }
    time.after(0) { [self] in fail(connection, .cancelled, .cancelled) }
  }

  // MARK: - The server

  private func isLuck(_ chance: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < chance
  }

  private func answer(_ connection: Connection) {
    guard running[connection.id] != nil else { return }
    if let most = scenario.connections, running.values.count(where: { $0.isServed }) >= most {
      switch scenario.excess {
      case .busy: return respond(connection, status: 429, [], body: [])
      case .refused:
        return fail(connection, .connectRefused, FetchError(.network, "refused"))
      case .silent: return wait(connection)
      }
    }
    connection.isServed = true
    mostAtOnce = max(mostAtOnce, running.values.count { $0.isServed })
    if let fault = faults.last, isLuck(scenario.badness) {
      faults.removeLast()
      connection.fault = fault
      met.append(fault)
    }
    switch connection.fault {
    case .emptyReply: return fail(connection, .emptyReply, FetchError(.network, "empty"))
    case .refused: return fail(connection, .connectRefused, FetchError(.network, "refused"))
    case .busy: return respond(connection, status: 429, [], body: [])
    case .busyFor: return respond(connection, status: 503, [("Retry-After", "3")], body: [])
    case .unavailable: return respond(connection, status: 503, [], body: [])
    case .forbidden: return respond(connection, status: 403, [], body: [])
    default: send(connection)
    }
  }

  /// The connection stays silent until somebody gives up.
  private func wait(_ connection: Connection) {
    time.after(30_000_000_000) { [self] in
      fail(connection, .stall, FetchError(.network, "no byte for 30 s"))
    }
  }

  private var version: Version {
    let hasChanged = scenario.changesAfter.map { time.now - begin >= $0 } ?? false
    return scenario.versions[hasChanged ? 1 : 0]
  }

  private func send(_ connection: Connection) {
    let version = version
    let total = version.bytes.count
    var fields: [(String, String)] = [("Date", "Sun, 06 Nov 1994 09:00:00 GMT")]
    let tag = version.tags.randomElement(using: &random)
    if let tag { fields.append(("ETag", connection.fault == .otherTag ? "\"else\"" : tag)) }
    if let date = version.lastModified { fields.append(("Last-Modified", date)) }
    if let says = scenario.saysRanges { fields.append(("Accept-Ranges", says)) }
    var range = 0..<total
    var isPart = false
    if let asked = connection.request.range, scenario.knowsRanges, connection.fault != .whole {
      let condition = connection.request.ifRange
      let holds = condition.map { $0 == tag || $0 == version.lastModified } ?? true
      if holds {
        guard asked.first < Int64(total) else {
          return respond(
            connection, status: 416, [("Content-Range", "bytes */\(total)")], body: [])
        }
        range = Int(asked.first)..<min(total, Int((asked.last ?? .max - 1) + 1))
        isPart = true
      }
    }
    guard isPart else {
      return respond(connection, status: 200, fields, body: version.bytes[range])
    }
    var saidTotal = total
    switch connection.fault {
    case .otherStart where range.lowerBound + 1 < range.upperBound:
      range = range.lowerBound + 1..<range.upperBound
    case .shorter where range.count > 1:
      range = range.lowerBound..<range.lowerBound + range.count / 2
    case .otherTotal: saidTotal += 1
    default: break
    }
    if connection.fault == .several {
      fields.append(("Content-Type", "multipart/byteranges; boundary=x"))
    } else if connection.fault != .noContentRange {
      fields.append(
        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(saidTotal)"))
    }
    respond(connection, status: 206, fields, body: version.bytes[range])
  }

  private func respond(
    _ connection: Connection, status: Int, _ fields: [(String, String)], body: ArraySlice<UInt8>
  ) {
    var response = HTTPResponse(
      status: status, finalURL: connection.request.url,
      fields: fields.map { HeaderField(name: $0.0, value: $0.1) }, framing: .chunked)
    response.retryAfter = response.value("Retry-After").flatMap { RetryAfter($0, now: 0) }
    if scenario.framing != .chunked || status != 200 {
      response.framing = .length(Int64(body.count))
      response.contentLength = Int64(body.count)
    }
    connection.response = response
    switch connection.delegate.exchange(connection.id, didReceive: response) {
    case .discard:
      finish(connection, .stopped(response))
    case .write(let sink, let offset, let end):
      let lengths = [response.contentRange?.count, response.contentLength].compactMap { $0 }
      connection.writer = BodyWriter(
        sink, at: offset, declared: lengths.min(), end: end, maxFileSize: nil)
      connection.body = body
      if [.cut, .reset, .stall].contains(connection.fault) {
        connection.bytesLeft = Int.random(in: 0...body.count, using: &random)
      }
      pour(connection)
    }
  }

  private func pour(_ connection: Connection) {
    guard running[connection.id] != nil, let writer = connection.writer,
      let response = connection.response
    else { return }
    guard connection.bytesLeft > 0 else { return strike(connection) }
    guard !connection.body.isEmpty else {
      flush(connection)
      if writer.isShort { return fail(connection, .cut, FetchError(.network, "cut")) }
      return finish(connection, .completed(response, bodyBytes: writer.written))
    }
    let speed = min(scenario.rate, scenario.linkRate / Double(running.values.count { $0.isServed }))
    let size = min(max(Int(speed / 20), 64), 16_384, connection.bytesLeft)
    let piece = connection.body.prefix(size)
    connection.body = connection.body.dropFirst(piece.count)
    connection.bytesLeft -= piece.count
    let verdict = piece.withUnsafeBytes { writer.take($0, now: time.now) }
    switch verdict {
    case .more: break
    case .limitReached:
      flush(connection)
      return finish(connection, .completed(response, bodyBytes: writer.written))
    case .failed(let kind, let error):
      return fail(connection, kind, error)
    }
    if let since = writer.waitingSince, time.now - since >= 100_000_000 { flush(connection) }
    time.after(Int64(Double(piece.count) / speed * 1e9)) { [self] in pour(connection) }
  }

  private func strike(_ connection: Connection) {
    flush(connection)
    switch connection.fault {
    case .reset: fail(connection, .reset, FetchError(.network, "reset"))
    case .stall: wait(connection)
    default: fail(connection, .cut, FetchError(.network, "cut"))
    }
  }

  private func flush(_ connection: Connection) {
    do { try connection.writer?.flush() } catch {
      fatalError("the part can't be written: \(error)")
    }
  }

  private func fail(
    _ connection: Connection, _ kind: TransferFailure.Kind, _ error: FetchError
  ) {
    guard running[connection.id] != nil else { return }
    flush(connection)
    finish(
      connection,
      .failed(
        TransferFailure(
          kind, error, response: connection.response,
          bodyBytes: connection.writer?.written ?? 0)))
  }

  private func finish(_ connection: Connection, _ outcome: ExchangeOutcome) {
    guard running.removeValue(forKey: connection.id) != nil else { return }
    connection.delegate.exchange(connection.id, didFinish: outcome)
  }
}
