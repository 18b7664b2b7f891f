// Real answers of a misbehaving server to a resume, and what they are judged to be.

import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct ResumeTests {
  let server = DataServer.shared

  enum Verdict: String, Sendable {
    case append, compare, complete, plain, restart, changed, contradiction, reject, failed

    init(_ decision: RangeDecision) {
      self =
        switch decision {
        case .append(_, _, _, let compares): compares ? .compare : .append
        case .alreadyComplete, .notModified: .complete
        case .tryPlainRange: .plain
        case .restartFromZero: .restart
        case .remoteChanged: .changed
        case .contradiction: .contradiction
        case .rejectRange: .reject
        case .failed: .failed
        }
    }
  }

  /// The head that a request meets; no body is taken.
  private func head(_ request: HTTPRequest) async throws -> HTTPResponse {
    let (recorder, _) = await fetch(request, Recorder(disposition: { _, _ in .discard }))
    return try #require(recorder.responses.first)
  }

  /// Resumes after `have` bytes of what the first request, without faults, found.
  private func resume(
    _ path: String, have: Int64, isPlain: Bool = false
  ) async throws -> RangeDecision {
    let first = try await head(HTTPRequest(url: try server.url(path)))
    let plan = try #require(
      ResumePolicy.plan(have: have, validators: first.validators, isPlain: isPlain))
    var request = HTTPRequest(url: try server.url(path), range: .from(plan.start))
    request.ifRange = plan.ifRange
    let expected = RangeExpectation(
      asked: request.range, ifRange: plan.ifRange, overlap: plan.overlap,
      total: first.resourceSize, isTotalOfThisRun: true, validators: first.validators,
      isPlain: isPlain)
    return RangeCheck.judge(try await head(request), expected)
  }

  @Test(arguments: [
    ("", Verdict.append), ("~cr=star/", .append), ("~cr=short:50/", .append),
    ("~slice200=1/", .append), ("~ifrange=ignore/", .append), ("~cr=none/", .reject),
    ("~cr=bad/", .reject), ("~cr=early:10/", .reject), ("~cr=shift:10/", .reject),
    ("~cr=total:500/", .contradiction), ("~norange=1/", .restart), ("~norange=lie/", .plain),
    ("~r416=1/", .restart), ("~r416=bare/", .restart), ("~etag=weak/", .compare),
    ("~etag=rotate/", .plain), ("~etag=none/", .compare),
    ("~status=503&after=1/", .failed),
  ])
  func anAnswerIsWorthWhatItProves(_ fault: String, _ verdict: Verdict) async throws {
    let path = "/\(fault)data.bin?" + DataServer.mark()
    #expect(Verdict(try await resume(path, have: 100_000)) == verdict)
  }

  @Test(arguments: [
    ("~norange=lie/", Verdict.restart), ("~etag=rotate/", .compare), ("", .compare),
  ])
  func thePlainRangeSettlesIt(_ fault: String, _ verdict: Verdict) async throws {
    let path = "/\(fault)data.bin?" + DataServer.mark()
    #expect(Verdict(try await resume(path, have: 100_000, isPlain: true)) == verdict)
  }

  @Test(arguments: ["", "~r416=1/", "~r416=bare/"])
  func allThereIsComplete(_ fault: String) async throws {
    let path = "/\(fault)data.bin?" + DataServer.mark()
    #expect(Verdict(try await resume(path, have: 300_000)) == .complete)
  }

  @Test func aLengthThatWasALieIsAContradictionWithBothNumbers() async throws {
    let decision = try await resume("/~clen=%2B500/data.bin", have: 300_000)
    guard case .contradiction(let error) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(error.code == .damaged)
    #expect(error.message.contains("300500") && error.message.contains("300000"))
  }

  /// Other bytes of the same size and, as it happens, the same second: only the bytes can tell.
  @Test func anotherVersionIsNeverAppendedUnseen() async throws {
    for fault in ["", "&ifrange=ignore", "&etag=weak"] {
      let path = "/~change=1&alt=other.bin\(fault)/data.bin?" + DataServer.mark()
      let verdict = Verdict(try await resume(path, have: 100_000))
      #expect([.plain, .changed, .compare].contains(verdict), "\(fault): \(verdict)")
    }
  }
}
