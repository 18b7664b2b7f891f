// The parsers of what servers send: tables only.

import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct MessageTests {
  // MARK: - Content-Range

  @Test(arguments: [
    ("bytes 0-9/10", ContentRange.bytes(first: 0, last: 9, total: 10)),
    ("bytes 5-9/*", .bytes(first: 5, last: 9, total: nil)),
    ("BYTES 5-9/100", .bytes(first: 5, last: 9, total: 100)),
    ("  bytes\t5 - 9 / 100 ", .unreadable),
    (" bytes  5-9/100 ", .bytes(first: 5, last: 9, total: 100)),
    ("bytes 5-9 / 100", .bytes(first: 5, last: 9, total: 100)),
    ("bytes */100", .unsatisfied(total: 100)),
    ("bytes */0", .unsatisfied(total: 0)),
    ("bytes */*", .unreadable),
    ("bytes 9-5/100", .unreadable),
    ("bytes 5-100/100", .unreadable),
    ("bytes 5-99/100", .bytes(first: 5, last: 99, total: 100)),
    ("bytes -5/100", .unreadable),
    ("bytes 5-/100", .unreadable),
    ("bytes +5-9/100", .unreadable),
    ("bytes 5-9", .unreadable),
    ("bytes=5-9/100", .unreadable),
    ("bits 5-9/100", .unreadable),
    ("bytes three-to-five", .unreadable),
    (
      "bytes 0-9223372036854775806/9223372036854775807",
      .bytes(first: 0, last: .max - 1, total: .max)
    ),
    ("bytes 0-9223372036854775807/*", .unreadable),
    ("bytes 0-99999999999999999999/*", .unreadable),
    ("", .unreadable),
    ("bytes", .unreadable),
  ])
  func contentRangesAreReadExactlyOrNotAtAll(_ text: String, _ expected: ContentRange) {
    #expect(ContentRange(text) == expected)
  }

  // MARK: - Dates

  /// 1994-11-06 08:49:37, the moment of RFC 9110 5.6.7.
  static let moment: Int64 = 784_111_777

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", moment),
    ("Sunday, 06-Nov-94 08:49:37 GMT", moment),
    ("Sun Nov  6 08:49:37 1994", moment),
    ("Sun, 06-Nov-1994 08:49:37 GMT", moment),
    ("sun, 06 nov 1994 08:49:37 gmt", moment),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
    ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
    ("Sun, 06 Nov 1994 08:49:60 GMT", moment + 23),
    ("Monday, 01-Jan-35 00:00:00 GMT", 2_051_222_400),
    ("Monday, 01-Jan-80 00:00:00 GMT", 315_532_800),
  ])
  func datesOfAllThreeFormsAreRead(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate.seconds(text, now: 1_764_000_000) == seconds)
  }

  @Test(arguments: [
    "", "yesterday-ish", "Mon, 13 Nov 114322 14:12:21 GMT", "Sun, 06 Nov 1994 08:49:37 EST",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "1994-11-06T08:49:37Z",
    "Sun, 06 Nov 1994 08:49 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", ", , , , ,",
  ])
  func whatIsNoDateIsNone(_ text: String) {
    #expect(HTTPDate.seconds(text, now: 1_764_000_000) == nil)
  }

  @Test(arguments: [
    ("2", Int64(2)), ("0", nil), ("-5", nil), ("soon", nil), ("", nil), ("2.5", nil),
    ("86400", 86400), ("99999999999999999999999", 1_000_000_000),
    ("Sun, 06 Nov 1994 08:49:40 GMT", 3), ("Sun, 06 Nov 1994 08:34:37 GMT", nil), (" 7 ", 7),
  ])
  func retryAfterIsAFutureOrNothing(_ text: String, _ wait: Int64?) {
    #expect(RetryAfter(text, now: Self.moment)?.wait(now: Self.moment) == wait)
  }

  // MARK: - Content-Disposition

  @Test(arguments: [
    ("attachment; filename=\"named clip.mp4\"", "named clip.mp4"),
    ("attachment; filename=token-clip.mp4", "token-clip.mp4"),
    ("inline; filename=\"inline clip.mp4\"", "inline clip.mp4"),
    ("attachment; filename*=UTF-8''na%C3%AFve%20%E2%82%AC%20clip.mp4", "naïve € clip.mp4"),
    ("attachment; filename=\"fallback.mp4\"; filename*=UTF-8''b%C3%A9tter.mp4", "bétter.mp4"),
    ("attachment; filename*=UTF-8''b%C3%A9tter.mp4; filename=\"fallback.mp4\"", "bétter.mp4"),
    ("attachment; filename*=ISO-8859-1''caf%E9.mp4", "café.mp4"),
    ("attachment; filename=\"fallback.mp4\"; filename*=utf8''odd.mp4", "fallback.mp4"),
    ("attachment; filename=\"fallback.mp4\"; filename*=UTF-8''%ZZ%E9.mp4", "fallback.mp4"),
    ("attachment; filename=\"fallback.mp4\"; filename*=UTF-8''%E9.mp4", "fallback.mp4"),
    ("attachment; filename=\"fallback.mp4\"; filename*=plain", "fallback.mp4"),
    ("attachment; filename=\"a \\\"quoted\\\" clip.mp4\"", "a \"quoted\" clip.mp4"),
    ("attachment; filename=\"one; two.mp4\"; size=7", "one; two.mp4"),
    ("ATTACHMENT; FileName=\"Case.mp4\"", "Case.mp4"),
    ("attachment; filename=\"%E6%98%A0%20clip.mp4\"", "%E6%98%A0%20clip.mp4"),
    ("attachment; filename=\"映像.mp4\"", "映像.mp4"),
    ("attachment; filename=\"../../escaped.mp4\"", "../../escaped.mp4"),
    ("attachment; filename=\"..\\\\..\\\\back.mp4\"", "..\\..\\back.mp4"),
    ("attachment; filename=unquoted name.mp4 ; x=y", "unquoted name.mp4"),
    ("attachment;filename = \"spaced.mp4\"", "spaced.mp4"),
    ("attachment; filename=\"open", "open"),
    ("attachment; filename=\"first.mp4\"; filename=\"second.mp4\"", "first.mp4"),
    ("attachment; x=\"; filename=trap.mp4\"; filename=right.mp4", "right.mp4"),
    ("attachment; filename=\"\"", nil), ("attachment", nil), (";;;=\"", nil), ("", nil),
    ("attachment; filename", nil), ("attachment; filename=", nil), ("\\", nil),
    (";filename=\"\\", "\\"),
  ])
  func fileNamesAreFound(_ text: String, _ name: String?) {
    #expect(ContentDisposition.filename(text) == name)
  }

  // MARK: - Heads

  private func head(_ text: String) -> ResponseHead {
    var head = ResponseHead()
    for line in text.split(separator: "|", omittingEmptySubsequences: false) {
      Array("\(line)\r\n".utf8).withUnsafeBytes { head.take($0) }
    }
    return head
  }

  @Test func aHeadIsReadLineByLine() {
    let head = head("HTTP/1.1 206 Partial Content|A: 1|a:2|B:\t x y \t|folded: one|  two||")
    #expect(head.status == 206)
    #expect(head.version == "1.1")
    #expect(head.isComplete)
    #expect(head.fields.map(\.value) == ["1", "2", "x y", "one two"])
    #expect(HTTPResponseFields(head).value("FOLDED") == "one two")
  }

  @Test func aFurtherHeadReplacesAnInterimOne() {
    let head = head("HTTP/1.1 103 Early|X: 1||HTTP/2 200 |Y: 2|")
    #expect(head.status == 200)
    #expect(head.fields.map(\.name) == ["Y"])
    #expect(head.isComplete)
    #expect(!head.isInterim)
  }

  @Test func brokenLinesAreNotFields() {
    let head = head("HTTP/1.1 200 OK|no colon|: empty|bad name: 1|good: 1|")
    #expect(head.fields.map(\.name) == ["good"])
  }

  @Test func bytesThatAreNoUTF8AreLatin1() {
    var head = ResponseHead()
    [0x58, 0x3A, 0x20, 0xE9, 0x0D, 0x0A].withUnsafeBytes { _ in }
    let line: [UInt8] = [0x58, 0x3A, 0x20, 0xE9, 0x0D, 0x0A]
    line.withUnsafeBytes { head.take($0) }
    #expect(head.fields.first?.value == "é")
  }

  @Test(arguments: [
    ("", BodyFraming.connectionClose), ("Content-Length: 7", .length(7)),
    ("Content-Length: 7|Content-Length: 7", .length(7)), ("Content-Length: 7, 7", .length(7)),
    ("Transfer-Encoding: chunked", .chunked),
    ("Transfer-Encoding: Chunked|Content-Length: 9", .chunked),
    ("Transfer-Encoding: identity|Content-Length: 9", .length(9)),
    ("Content-Length: 0", .length(0)),
  ])
  func framingIsReadFromTheHead(_ fields: String, _ framing: BodyFraming) throws {
    #expect(try head("HTTP/1.1 200 OK|\(fields)|").framing() == framing)
  }

  @Test func http2WithoutALengthEndsByItsStream() throws {
    #expect(try head("HTTP/2 200 |").framing() == .http2)
    #expect(try head("HTTP/2 200 |content-length: 4|").framing() == .length(4))
  }

  @Test(arguments: [
    "Content-Length: 7|Content-Length: 8", "Content-Length: 7, 8", "Content-Length: seven",
    "Content-Length: -7", "Content-Length: 99999999999999999999999", "Content-Length:",
    "Content-Length: +7", "Content-Length: 0x7",
  ])
  func lengthsThatContradictOrCannotBeReadAreDamage(_ fields: String) {
    #expect {
      _ = try head("HTTP/1.1 200 OK|\(fields)|").framing()
    } throws: { ($0 as? FetchError)?.code == .damaged }
  }

  @Test func aTransferCodingBesideChunkedIsRefused() {
    #expect {
      _ = try head("HTTP/1.1 200 OK|Transfer-Encoding: gzip, chunked|").framing()
    } throws: { ($0 as? FetchError)?.code == .refused }
  }

  private func HTTPResponseFields(_ head: ResponseHead) -> HTTPResponse {
    var response = HTTPResponse(status: head.status, finalURL: Samples.url)
    response.fields = head.fields
    return response
  }

  @Test(
    arguments: [
      ("\"a\"", "\"a\"", nil), ("W/\"a\"", nil, "W/\"a\""), ("a", nil, nil), ("w/\"a\"", nil, nil),
      ("\"a b\"", nil, nil), ("\"\"", "\"\"", nil), ("W/a", nil, nil), ("\"", nil, nil),
    ] as [(String, String?, String?)])
  func entityTagsAreStrongOrWeakOrNone(_ tag: String, _ strong: String?, _ weak: String?) {
    var response = HTTPResponse(status: 200, finalURL: Samples.url)
    response.fields = [HeaderField(name: "etag", value: tag)]
    #expect(response.validators.strongETag == strong)
    #expect(response.validators.weakETag == weak)
  }

  @Test func identityIsNoContentCoding() {
    var response = HTTPResponse(status: 200, finalURL: Samples.url)
    response.fields = [HeaderField(name: "Content-Encoding", value: " Identity ,")]
    #expect(response.contentEncoding == nil)
    response.fields.append(HeaderField(name: "content-encoding", value: "br"))
    #expect(response.contentEncoding == "br")
  }

  @Test func differingContentRangesAreUnreadable() {
    var response = HTTPResponse(status: 206, finalURL: Samples.url)
    response.fields = [HeaderField(name: "Content-Range", value: "bytes 0-1/9")]
    #expect(response.contentRange == .bytes(first: 0, last: 1, total: 9))
    response.fields.append(HeaderField(name: "Content-Range", value: "bytes 2-3/9"))
    #expect(response.contentRange == .unreadable)
  }
}

enum Samples {
  /// A URL that always parses.
  static let url: HTTPURL = {
    do { return try HTTPURL("http://example.com/clip.mp4") } catch {
      preconditionFailure("\(error)")
    }
  }()
}
