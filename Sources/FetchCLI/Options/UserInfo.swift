// Where a URL carries `user:password@`. Pure.

/// The userinfo of a URL (RFC 3986 3.2.1).
enum UserInfo {
  /// Where the userinfo lies in `scheme://userinfo@host…`, or in a proxy's `userinfo@host`.
  static func range(in bytes: [UInt8], needsScheme: Bool = true) -> Range<Int>? {
    var start = 0
    if let separator = bytes.firstRange(of: Array("://".utf8)) {
      start = separator.upperBound
    } else if needsScheme {
      return nil
    }
    let rest = bytes[start...]
    let delimiters = Array("/?#\\".utf8)
    let authority = rest.prefix { !delimiters.contains($0) }
    var at = authority.lastIndex(of: UInt8(ascii: "@"))
    if at == nil, !looksLikeHost(authority) {
      // A password that should have been escaped: all up to the last sign may belong to it.
      at = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        .lastIndex(of: UInt8(ascii: "@"))
    }
    guard let at, at > start else { return nil }
    return start..<at
  }

  /// Whether what follows the last colon can be a port, or there is none.
  private static func looksLikeHost(_ authority: ArraySlice<UInt8>) -> Bool {
    guard authority.first != UInt8(ascii: "["),
      let colon = authority.lastIndex(of: UInt8(ascii: ":"))
    else { return true }
    return authority[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
  }
}
