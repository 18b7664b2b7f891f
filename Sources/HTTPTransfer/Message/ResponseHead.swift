// A response head as it comes in, line by line. libcurl hands over every head of a connection, interim
// ones too; this collects one and says what it means for the body. Pure.

import FetchCore

/// A head that is being read.
struct ResponseHead: Sendable {
  private(set) var status = 0
  private(set) var version = ""
  private(set) var fields: [HeaderField] = []
  /// Whether the empty line has come.
  private(set) var isComplete = false

  /// How many bytes came as heads and trailers, and how many heads, on this hop.
  private var byteCount = 0
  private var headCount = 0

  /// Whether more heads follow (RFC 9110 15.2).
  var isInterim: Bool { status / 100 == 1 }

  /// Whether this is the last head, and whole.
  var isFinal: Bool { isComplete && !isInterim }

  /// Whether more came than any server has to say.
  var isExcessive: Bool { byteCount > 256 * 1024 || headCount > 64 }

  /// Takes a line with its line break.
  ///
  /// Fields that follow the body of a final head change nothing but the count (RFC 9110 6.5).
  mutating func take(_ line: UnsafeRawBufferPointer) {
    byteCount += line.count
    guard !isFinal else { return }
    var bytes = line[...]
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes = bytes.dropLast() }
    if bytes.starts(with: "HTTP/".utf8) {
      let counts = (byteCount, headCount + 1)
      self = ResponseHead()
      (byteCount, headCount) = counts
      let words = bytes.dropFirst(5).split(separator: 0x20, maxSplits: 2)
      version = words.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
      status = words.count > 1 ? ASCII.number(words[1]).flatMap { Int(exactly: $0) } ?? 0 : 0
    } else if bytes.isEmpty {
      isComplete = true
    } else if ASCII.isSpace(bytes.first ?? 0) {
      // Obsolete line folding (RFC 9112 5.2): one space for the fold.
      guard let last = fields.indices.last else { return }
      fields[last].value += " " + Self.text(ASCII.trimmed(bytes))
    } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex {
      let name = bytes[..<colon]
      guard name.allSatisfy(ASCII.isToken) else { return }
      let value = ASCII.trimmed(bytes[bytes.index(after: colon)...])
      fields.append(
        HeaderField(name: String(decoding: name, as: UTF8.self), value: Self.text(value)))
    }
  }

  private static func text(_ bytes: some Collection<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// All values of a list field, split at its commas.
  func list(_ name: String) -> [String] {
    fields.filter { $0.name.hasSameName(as: name) }
      .flatMap { $0.value.utf8.split(separator: UInt8(ascii: ",")) }
      .map { String(decoding: ASCII.trimmed(Array($0)), as: UTF8.self) }
      .filter { !$0.isEmpty }
  }

  /// The one Content-Length of the head.
  ///
  /// - Throws: `.damaged` where two differ or one isn't a number (RFC 9112 6.3, item 5).
  func contentLength() throws(FetchError) -> Int64? {
    let values = list("Content-Length")
    guard let first = values.first else {
      guard !fields.contains(where: { $0.name.hasSameName(as: "Content-Length") }) else {
        throw FetchError(.damaged, "the server sends an empty Content-Length")
      }
      return nil
    }
    if let other = values.first(where: { $0 != first }) {
      throw FetchError(
        .damaged,
        "contradictory lengths: the server says both \(first.prefix(24)) and "
          + "\(other.prefix(24)) bytes")
    }
    guard let length = ASCII.number(first.utf8) else {
      throw FetchError(.damaged, "unreadable Content-Length \(first.prefix(24))")
    }
    return length
  }

  /// How the end of the body is marked.
  ///
  /// - Throws: `.refused` for a transfer coding beside `chunked`; `.damaged` as `contentLength()`.
  func framing() throws(FetchError) -> BodyFraming {
    if version.hasPrefix("2") || version.hasPrefix("3") {
      return try contentLength().map { .length($0) } ?? .http2
    }
    let codings = list("Transfer-Encoding").filter { !$0.hasSameName(as: "identity") }
    if let odd = codings.first(where: { !$0.hasSameName(as: "chunked") }) {
      throw FetchError(.refused, "the server sends transfer coding \(odd.prefix(24))")
    }
    // Transfer-Encoding overrides Content-Length (RFC 9112 6.3, item 3).
    if !codings.isEmpty { return .chunked }
    return try contentLength().map { .length($0) } ?? .connectionClose
  }
}
