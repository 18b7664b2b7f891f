// What can be said of a URL's text byte by byte: escapes, and which parts not to show. Pure.

package enum URLText {
  /// ASCII letters to lower case; all else as it is.
  static func lowercased(_ text: String) -> String {
    String(decoding: text.utf8.map(ASCII.lowercased), as: UTF8.self)
  }

  /// Decodes `%XX`; nil where an escape is broken.
  static func decodingEscapes(_ bytes: [UInt8]) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%") {
        guard index + 2 < bytes.count, let high = ASCII.hexValue(bytes[index + 1]),
          let low = ASCII.hexValue(bytes[index + 2])
        else { return nil }
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return result
  }

  /// Escapes of unreserved characters decoded, all others with upper-case digits (RFC 3986 6.2.2).
  static func normalizingEscapes(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
        let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
      {
        let value = high << 4 | low
        if isUnreserved(value) {
          result.append(value)
        } else {
          result.append(UInt8(ascii: "%"))
          result.append(ASCII.upperHexDigit(high))
          result.append(ASCII.upperHexDigit(low))
        }
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte)
      || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~")]
        .contains(byte)
  }

  /// A reference as a server writes it (RFC 3986 4.1), without user information and fragment, and
  /// with "…" for query values whose names look secret; "…" for what can't be told apart.
  static func redacting(_ reference: String) -> String {
    let text = reference.prefix { $0 != "#" }
    let path = text.prefix { $0 != "?" }
    guard !path.contains("\\") else { return "…" }
    if path.hasPrefix("//") {
      // Without a scheme, but with an authority: parsed under any scheme.
      return (try? HTTPURL("http:" + reference)).map { String($0.redacted.dropFirst(5)) } ?? "…"
    }
    if path.isEmpty || path.hasPrefix("/") { return redacting(query: String(text)) }
    guard path.prefix(while: { $0 != "/" }).contains(where: { $0 == ":" || $0 == "@" }) else {
      return redacting(query: String(text))
    }
    return (try? HTTPURL(reference))?.redacted ?? "…"
  }

  /// What may be shown of a URL that can't be parsed: nothing that could be a password or a token.
  ///
  /// Where the authority ends is anybody's guess then, so that all up to the last "@" goes, and the
  /// query and the fragment; with an "@" in these nothing but the scheme stays.
  package static func redacting(unreadable url: String) -> String {
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    let shown = url[start...].prefix { $0 != "?" && $0 != "#" }
    guard !url[shown.endIndex...].contains("@") else { return url[..<start] + "…" }
    guard let sign = shown.lastIndex(of: "@") else { return String(url[..<start] + shown) }
    return String(url[..<start] + shown[shown.index(after: sign)...])
  }

  /// Replaces the values of query parameters whose names look secret by "…".
  static func redacting(query url: String) -> String {
    guard let mark = url.firstIndex(of: "?") else { return url }
    let query = url[url.index(after: mark)...]
    let parts = query.split(omittingEmptySubsequences: false) { $0 == "&" || $0 == ";" }
    // The separators, to put the text together as it was.
    var separators = query.filter { $0 == "&" || $0 == ";" }[...]
    var result = String(url[...mark])
    for part in parts {
      if let equals = part.firstIndex(of: "="), looksSecret(String(part[..<equals])) {
        result += part[...equals] + "…"
      } else {
        result += part
      }
      if let separator = separators.popFirst() { result.append(separator) }
    }
    return result
  }

  /// Whether a query parameter's or a header's name promises a secret value.
  static func looksSecret(_ name: String) -> Bool {
    let plain = decodingEscapes(Array(name.utf8)).map { String(decoding: $0, as: UTF8.self) }
    let name = lowercased(plain ?? name)
    let words = [
      "token", "signature", "secret", "passw", "auth", "credential", "session", "apikey",
      "api_key", "api-key", "access_key", "accesskey", "cookie", "jwt", "hdnea", "hdnts", "hdntl",
    ]
    let names: Set<String> = [
      "sig", "key", "pw", "pwd", "pass", "sid", "hmac", "hash", "policy", "key-pair-id", "code",
      "x-key", "st", "md5", "sign", "ticket", "pin",
    ]
    return names.contains(name) || words.contains { name.contains($0) } || name.hasPrefix("x-amz-")
      || name.hasSuffix("-key") || name.hasSuffix("_key") || name.hasSuffix("sig")
  }
}

/// The bytes of ASCII by kind.
enum ASCII {
  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }
  static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
  static func isLetter(_ byte: UInt8) -> Bool {
    lowercased(byte) >= 0x61 && lowercased(byte) <= 0x7A
  }
  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Whether the byte may stand in a token (RFC 9110 5.6.2).
  static func isToken(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - 0x30 }
    let lower = lowercased(byte)
    return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : nil
  }

  static func upperHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x41 + value - 10
  }

  /// A number of digits only, as HTTP writes lengths; nil where anything else stands there or it is
  /// over `Int64.max`.
  static func number(_ bytes: some Collection<UInt8>) -> Int64? {
    guard !bytes.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in bytes {
      guard isDigit(byte) else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int64(byte - 0x30))
      guard !overflow, !carry else { return nil }
      value = sum
    }
    return value
  }

  /// Without leading and trailing spaces and tabs.
  static func trimmed<Bytes: BidirectionalCollection<UInt8>>(
    _ bytes: Bytes
  ) -> Bytes.SubSequence {
    guard let first = bytes.firstIndex(where: { !isSpace($0) }),
      let last = bytes.lastIndex(where: { !isSpace($0) })
    else { return bytes[bytes.endIndex...] }
    return bytes[first...last]
  }
}
