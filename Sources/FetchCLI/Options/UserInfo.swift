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
    let delimiters = Array("/?#\\".utf8)
    let end = bytes[start...].firstIndex { delimiters.contains($0) } ?? bytes.count
    guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")), at > start
    else { return nil }
    return start..<at
  }

  /// The URL without its userinfo and the `@` behind it.
  static func removed(from url: String) -> String {
    var bytes = Array(url.utf8)
    guard let range = range(in: bytes) else { return url }
    bytes.removeSubrange(range.lowerBound...range.upperBound)
    return String(decoding: bytes, as: UTF8.self)
  }
}
