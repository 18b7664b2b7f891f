// An address, parsed by the same parser that makes the connection: libcurl's. No second parser looks
// at it, so that what was checked is what is fetched. Pure: nothing here touches the network.

import CCurl
package import FetchCore
import Glibc

/// Whom a secret was given for: scheme, host and port (RFC 6454 4).
package struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  package let scheme: String
  /// In lower case; an IPv6 address in brackets.
  package let host: String
  package let port: Int

  package var description: String { "\(scheme)://\(host):\(port)" }
}

/// An http or https URL without its user information, which is kept apart.
package struct HTTPURL: Sendable, Hashable {
  /// The URL as libcurl writes it, without user information and fragment.
  ///
  /// Its query may hold secrets: show `redacted`.
  package let text: String
  package let origin: Origin
  /// As sent, percent-encoded, with dot segments removed; at least "/".
  package let path: String
  /// As sent, percent-encoded; nil where there is no "?".
  package let query: String?
  /// From `user:password@`, percent-decoded.
  package let credentials: UserCredentials?

  /// Parses an absolute URL.
  ///
  /// Spaces and non-ASCII bytes in path and query are percent-encoded.
  /// - Throws: `.refused` for another scheme than http and https, for control bytes, an empty host
  ///   and whatever else libcurl's parser refuses.
  package init(_ text: String) throws(FetchError) {
    try Self.checkBytes(text)
    let parser = try URLParser()
    try self.init(parser, setting: text)
  }

  /// Resolves a `Location` against this URL (RFC 3986 5, as libcurl does it).
  ///
  /// The result has user information only where `location` has.
  package func resolving(_ location: String) throws(FetchError) -> HTTPURL {
    try Self.checkBytes(location)
    guard !location.isEmpty else { throw FetchError(.refused, "empty redirect target") }
    let parser = try URLParser()
    try parser.set(text)
    return try HTTPURL(parser, setting: location)
  }

  private init(_ parser: URLParser, setting text: String) throws(FetchError) {
    try parser.set(text)
    guard let scheme = parser.get(CURLUPART_SCHEME), !scheme.isEmpty else {
      throw FetchError(.refused, "not a URL with a scheme")
    }
    guard scheme == "http" || scheme == "https" else {
      throw FetchError(
        .refused, "unsupported scheme \(scheme.prefix(32))",
        recovery: "only http and https can be fetched")
    }
    guard let host = parser.get(CURLUPART_HOST), !host.isEmpty,
      let port = parser.get(CURLUPART_PORT, flags: CURLU_DEFAULT_PORT).flatMap({ Int($0) })
    else { throw FetchError(.refused, "URL without a host") }
    origin = Origin(scheme: scheme, host: URLText.lowercased(host), port: port)
    path = parser.get(CURLUPART_PATH) ?? "/"
    query = parser.get(CURLUPART_QUERY)
    credentials = try Self.credentials(of: parser)
    parser.clear(CURLUPART_USER)
    parser.clear(CURLUPART_PASSWORD)
    parser.clear(CURLUPART_OPTIONS)
    parser.clear(CURLUPART_FRAGMENT)
    guard let whole = parser.get(CURLUPART_URL) else {
      throw FetchError(.refused, "malformed URL")
    }
    self.text = whole
  }

  /// - Throws: `.refused` for what would reach the server as something else than was typed.
  private static func credentials(of parser: URLParser) throws(FetchError) -> UserCredentials? {
    func decoded(_ part: CURLUPart, _ name: String) throws(FetchError) -> String? {
      guard let text = parser.get(part, flags: CURLU_URLDECODE) else {
        guard parser.get(part) == nil else {
          // libcurl decodes to nothing where a control byte would come out.
          throw FetchError(.refused, "control characters in the URL's \(name)")
        }
        return nil
      }
      guard !text.unicodeScalars.contains("\u{FFFD}") else {
        throw FetchError(.refused, "the URL's \(name) isn't UTF-8")
      }
      return text
    }
    let user = try decoded(CURLUPART_USER, "user name")
    let password = try decoded(CURLUPART_PASSWORD, "password")
    guard user != nil || password != nil else { return nil }
    return UserCredentials(user: user ?? "", password: password ?? "")
  }

  private static func checkBytes(_ text: String) throws(FetchError) {
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw FetchError(.refused, "control characters in the URL")
    }
  }

  /// The host without brackets.
  package var host: String {
    origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
  }

  /// Safe to show: no user information, and "…" for query values whose names look secret.
  package var redacted: String { URLText.redacting(query: text) }

  /// The equivalent that stands for all spellings (RFC 3986 6.2.2); the query is kept.
  package var normalized: String {
    let isDefault = origin.port == (origin.scheme == "https" ? 443 : 80)
    return origin.scheme + "://" + origin.host + (isDefault ? "" : ":\(origin.port)")
      + URLText.normalizingEscapes(path)
      + (query.map { "?" + URLText.normalizingEscapes($0) } ?? "")
  }

  /// The last segment of the path, percent-decoded; "" where the path ends in "/", or where the
  /// decoded bytes aren't UTF-8.
  package var lastPathComponent: String {
    guard let segment = path.split(separator: "/", omittingEmptySubsequences: false).last,
      let bytes = URLText.decodingEscapes(Array(segment.utf8))
    else { return "" }
    return String(validating: bytes, as: UTF8.self) ?? ""
  }

  /// The path and query as they stand in a request line.
  package var target: String { path + (query.map { "?" + $0 } ?? "") }

  /// A URL handle for one transfer.
  func makeParser() throws(FetchError) -> URLParser {
    let parser = try URLParser()
    try parser.set(text)
    return parser
  }
}

/// The owner of a `CURLU`, confined to whoever made it.
final class URLParser {
  let handle: OpaquePointer

  init() throws(FetchError) {
    guard let handle = curl_url() else { throw FetchError(.internal, "out of memory") }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// Sets the whole URL, a relative one against what is there.
  func set(_ text: String) throws(FetchError) {
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_ALLOW_SPACE)
    let result = curl_url_set(handle, CURLUPART_URL, text, flags)
    guard result == CURLUE_OK else {
      let why = curl_url_strerror(result).map { String(cString: $0) } ?? "error \(result.rawValue)"
      throw FetchError(.refused, "malformed URL", reason: why)
    }
  }

  func get(_ part: CURLUPart, flags: Int32 = 0) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else {
      return nil
    }
    defer { curl_free(value) }
    return String(cString: value)
  }

  func clear(_ part: CURLUPart) { curl_url_set(handle, part, nil, 0) }
}
