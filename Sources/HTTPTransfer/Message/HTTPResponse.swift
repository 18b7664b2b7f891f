// The head of a final response, read and checked. A value.

package import FetchCore

/// How the end of a body is marked (RFC 9112 6.3, RFC 9113 8.1).
package enum BodyFraming: Sendable, Hashable {
  case length(Int64)
  case chunked
  /// END_STREAM, without a length.
  case http2
  /// Only the connection's end: a cut can't be told from the end.
  case connectionClose

  /// Whether a cut body can be told from a whole one.
  package var provesEnd: Bool { self != .connectionClose }
}

/// What identifies a version of a resource (RFC 9110 8.8).
package struct Validators: Sendable, Hashable, Codable {
  /// With its quotes.
  package var strongETag: String?
  /// With `W/` and its quotes.
  package var weakETag: String?
  /// As the server wrote it.
  package var lastModified: String?
  /// The response's Date, as the server wrote it.
  package var date: String?

  package init(
    strongETag: String? = nil, weakETag: String? = nil, lastModified: String? = nil,
    date: String? = nil
  ) {
    self.strongETag = strongETag
    self.weakETag = weakETag
    self.lastModified = lastModified
    self.date = date
  }

  /// Whether there is nothing to recognise a version by: a weak tag is shared by versions that
  /// differ (RFC 9110 8.8.1).
  package var isEmpty: Bool { strongETag == nil && lastModified == nil }

  /// The tag's text, strong or weak, as a weak comparison takes it (RFC 9110 8.8.3.2).
  var opaqueTag: String? { strongETag ?? weakETag.map { String($0.dropFirst(2)) } }
}

/// The head of the response that redirects led to.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var finalURL: HTTPURL
  /// How many redirects were followed.
  package var redirects: Int
  /// In the order of arrival.
  package var fields: [HeaderField]
  /// `1.0`, `1.1`, `2`, as the status line says.
  package var httpVersion: String
  package var framing: BodyFraming
  package var contentLength: Int64?
  package var retryAfter: RetryAfter?
  /// Whether the job began at a public address, or behind a proxy at a name.
  package var reachedPublic: Bool?
  /// The address that answered, or its proxy's.
  package var remoteAddress: String?
  /// The request's cookies with those that the responses set.
  package var cookies: CookieJar

  package init(
    status: Int, finalURL: HTTPURL, fields: [HeaderField] = [], redirects: Int = 0,
    httpVersion: String = "1.1", framing: BodyFraming = .connectionClose,
    contentLength: Int64? = nil, retryAfter: RetryAfter? = nil
  ) {
    self.status = status
    self.finalURL = finalURL
    self.redirects = redirects
    self.fields = fields
    self.httpVersion = httpVersion
    self.framing = framing
    self.contentLength = contentLength
    self.retryAfter = retryAfter
    cookies = CookieJar()
  }

  /// The value of the first field of this name, in whatever case it is written.
  package func value(_ name: String) -> String? {
    fields.first { $0.name.hasSameName(as: name) }?.value
  }

  package func values(_ name: String) -> [String] {
    fields.filter { $0.name.hasSameName(as: name) }.map(\.value)
  }

  /// nil without the field; two of them are `.unreadable`.
  package var contentRange: ContentRange? {
    let values = values("Content-Range")
    guard let first = values.first else { return nil }
    return values.allSatisfy { $0 == first } ? ContentRange(first) : .unreadable
  }

  package var validators: Validators {
    let tag = value("ETag").flatMap(EntityTag.init)
    return Validators(
      strongETag: tag?.isWeak == false ? tag?.text : nil,
      weakETag: tag?.isWeak == true ? tag?.text : nil,
      lastModified: value("Last-Modified"), date: value("Date"))
  }

  package var contentType: String? { value("Content-Type") }
  /// The raw value; bytes that aren't UTF-8 are taken for Latin-1.
  package var contentDisposition: String? { value("Content-Disposition") }
  /// nil where there is no coding, or only `identity`.
  package var contentEncoding: String? {
    let codings = values("Content-Encoding").flatMap { $0.split(separator: ",") }
      .map { String(decoding: ASCII.trimmed(Array($0.utf8)), as: UTF8.self) }
      .filter { !$0.isEmpty && !$0.hasSameName(as: "identity") }
    return codings.isEmpty ? nil : codings.joined(separator: ", ")
  }

  /// What Accept-Ranges says: false for `none`, nil where it says nothing.
  package var acceptsRanges: Bool? {
    guard let value = value("Accept-Ranges") else { return nil }
    return !value.hasSameName(as: "none")
  }

  /// Whether the body is a range that doesn't say where the resource ends: the end of such a body,
  /// however well it is framed, isn't known to be the resource's.
  package var isRangeOfUnknownTotal: Bool {
    switch contentRange {
    case .bytes(_, _, let total): total == nil
    case .unsatisfied, .unreadable, nil: status == 206
    }
  }

  /// The size of the whole resource as this head tells it.
  package var resourceSize: Int64? {
    if let contentRange { return contentRange.total }
    return status == 206 ? nil : contentLength
  }
}

/// An entity tag (RFC 9110 8.8.3).
struct EntityTag: Sendable, Hashable {
  let text: String
  let isWeak: Bool

  init?(_ value: String) {
    let bytes = Array(value.utf8)
    let isWeak = bytes.starts(with: "W/".utf8)
    let opaque = isWeak ? bytes.dropFirst(2) : bytes[...]
    guard opaque.count >= 2, opaque.first == UInt8(ascii: "\""), opaque.last == UInt8(ascii: "\""),
      opaque.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != 0x22 && $0 != 0x7F })
    else { return nil }
    text = value
    self.isWeak = isWeak
  }
}

extension StringProtocol {
  /// Whether two field names are the same (RFC 9110 5.1): ASCII, case ignored.
  func hasSameName(as other: String) -> Bool {
    utf8.count == other.utf8.count
      && utf8.lazy.map(ASCII.lowercased).elementsEqual(other.utf8.lazy.map(ASCII.lowercased))
  }
}
