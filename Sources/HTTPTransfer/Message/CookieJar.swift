// The cookies of one job. Stricter than RFC 6265: a cookie goes back to the very origin (scheme, host
// and port) that set it and to no other, whatever its Domain says. Pure: the present is an argument.

/// Cookies by the origin that set them.
package struct CookieJar: Sendable, Hashable {
  private struct Cookie: Sendable, Hashable {
    var name: String
    var value: String
    var path: String
  }

  private var cookies: [Origin: [Cookie]] = [:]

  package init() {}

  package var isEmpty: Bool { cookies.isEmpty }

  /// Takes a Set-Cookie value of a response from `url`.
  mutating func store(_ setCookie: String, from url: HTTPURL, now: Int64) {
    let parts = setCookie.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
      .map { ASCII.trimmed(Array($0)) }
    guard let pair = parts.first, let equals = pair.firstIndex(of: UInt8(ascii: "=")),
      pair.count <= 4096
    else { return }
    let name = String(decoding: ASCII.trimmed(pair[..<equals]), as: UTF8.self)
    let value = String(decoding: ASCII.trimmed(pair[(equals + 1)...]), as: UTF8.self)
    guard !name.isEmpty, (name + value).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      return
    }
    var path = Self.defaultPath(url.path)
    var isExpired = false
    var hasMaxAge = false
    for part in parts.dropFirst() {
      let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard halves.count == 2 else { continue }
      let attribute = String(decoding: ASCII.trimmed(halves[0]), as: UTF8.self)
      let text = String(decoding: ASCII.trimmed(halves[1]), as: UTF8.self)
      if attribute.hasSameName(as: "Path"), text.hasPrefix("/") {
        path = text
      } else if attribute.hasSameName(as: "Max-Age"), let age = Int64(text) {
        hasMaxAge = true
        isExpired = age <= 0
      } else if attribute.hasSameName(as: "Expires"), !hasMaxAge {
        isExpired = HTTPDate.seconds(text, now: now).map { $0 <= now } ?? false
      }
    }
    var list = cookies[url.origin] ?? []
    list.removeAll { $0.name == name && $0.path == path }
    if !isExpired { list.append(Cookie(name: name, value: value, path: path)) }
    // More than this is no login but an attack on memory.
    cookies[url.origin] = list.isEmpty ? nil : Array(list.suffix(100))
  }

  /// `NAME=VALUE` pairs for a request to `url`, those with the longest path first (RFC 6265 5.4).
  func pairs(for url: HTTPURL) -> [(name: String, value: String)] {
    (cookies[url.origin] ?? [])
      .filter { Self.matches(url.path, $0.path) }
      .sorted { $0.path.utf8.count > $1.path.utf8.count }
      .map { ($0.name, $0.value) }
  }

  private static func defaultPath(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  private static func matches(_ path: String, _ cookiePath: String) -> Bool {
    path == cookiePath
      || path.hasPrefix(cookiePath)
        && (cookiePath.hasSuffix("/") || path.dropFirst(cookiePath.count).hasPrefix("/"))
  }
}
