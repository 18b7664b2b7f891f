// What a source's text stands for. Pure.

package import FetchCore
import HTTPTransfer

/// A source as typed: an address on the network, or a file here.
package enum SourceAddress: Sendable, Hashable {
  /// The URL's text, unchecked.
  case url(String)
  /// A path, absolute or relative.
  case file(String)

  /// Reads a source: `scheme://…` is a URL, all else a path; `file://` is a path in URL form.
  ///
  /// - Throws: `.refused` for a `file:` URL of another host, or one with a broken escape.
  package init(_ text: String) throws(FetchError) {
    guard let scheme = Self.scheme(of: text) else {
      self = .file(text)
      return
    }
    guard scheme == "file" else {
      self = .url(text)
      return
    }
    var rest = text.dropFirst("file://".count)
    if let end = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) { rest = rest[..<end] }
    let host = rest.prefix { $0 != "/" }
    guard host.isEmpty || host.lowercased() == "localhost" else {
      throw FetchError(
        .refused, "a file: URL can't name another host",
        recovery: "use file:///path, or just the path")
    }
    guard let path = Self.decoded(rest.dropFirst(host.count)), !path.isEmpty else {
      throw FetchError(.refused, "the file: URL has no readable path")
    }
    self = .file(path)
  }

  /// What to say of a missing file that looks like an address without its scheme.
  package static func suggestion(forMissing path: String) -> String? {
    let host = path.prefix { $0 != "/" }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard path.contains("/"), labels.count >= 2, labels.allSatisfy({ !$0.isEmpty }),
      host.utf8.allSatisfy({ $0 < 0x80 && ($0 == 0x2D || $0 == 0x2E || $0 == 0x3A || isWord($0)) })
    else { return nil }
    return "did you mean https://\(path)?"
  }

  /// What may be shown of a path: `user:password@` at the head of its first component is a URL's that
  /// was mistyped, and is left out.
  package static func withoutSecrets(path: String) -> String {
    let bytes = Array(path.utf8)
    var start = bytes.prefix { $0 == 0x20 || $0 == 0x09 }.count
    let scheme = bytes[start...].prefix { isWord($0) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }
    if ["http", "https", "ftp", "file"].contains(
      String(decoding: scheme, as: UTF8.self).lowercased()), scheme.endIndex < bytes.count,
      bytes[scheme.endIndex] == 0x3A
    {
      start = scheme.endIndex + 1
    }
    start += bytes[start...].prefix { $0 == 0x2F }.count
    let component = bytes[start...].prefix { $0 != 0x2F }
    guard let sign = component.lastIndex(of: 0x40), component[..<sign].contains(0x3A) else {
      return path
    }
    return String(decoding: bytes[..<start] + bytes[(sign + 1)...], as: UTF8.self)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  /// The scheme in lower case, where the text begins with one and `://` (RFC 3986 3.1).
  private static func scheme(of text: String) -> String? {
    guard let mark = text.firstRange(of: "://") else { return nil }
    let scheme = text[..<mark.lowerBound].utf8
    guard let first = scheme.first, isWord(first), !(0x30...0x39).contains(first),
      scheme.allSatisfy({ isWord($0) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E })
    else { return nil }
    return text[..<mark.lowerBound].lowercased()
  }

  /// Percent-decoded text; nil for a broken escape, a NUL, or bytes that are no text.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      guard byte == 0x25 else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst(), let low = rest.popFirst(),
        let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16), value != 0
      else { return nil }
      bytes.append(value)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
