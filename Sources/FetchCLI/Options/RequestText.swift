// The forms of headers, credentials and cookies, typed or read from a file. Pure. A complaint never
// repeats the text, which may be a secret.

package import FetchCore

/// Readers of the texts that go into a request.
package enum RequestText {
  /// `Name: value` (RFC 9110 5.1, 5.5).
  package static func header(
    _ text: String, _ option: String
  ) throws(UsageError) -> HeaderField {
    guard let colon = text.firstIndex(of: ":") else {
      throw UsageError("\(option) needs a header written 'Name: value', or @FILE")
    }
    let name = String(text[..<colon])
    guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
      throw UsageError("\(option) needs a header written 'Name: value': the name is not valid")
    }
    if ReservedHeader.contains(name) {
      throw UsageError("\(option) can't set \(name): vidfetch sends its own")
    }
    let value = trimmed(text[text.index(after: colon)...])
    if value.isEmpty { throw UsageError("\(option) gives \(name) no value") }
    if hasControls(value) { throw UsageError("\(option) can't hold control characters") }
    return HeaderField(name: name, value: value)
  }

  /// `USER:PASSWORD`; the user name can't hold a colon (RFC 7617 2).
  package static func user(
    _ text: String, _ option: String
  ) throws(UsageError) -> UserCredentials {
    guard let colon = text.firstIndex(of: ":") else {
      throw UsageError("\(option) needs USER:PASSWORD, @FILE or -")
    }
    if hasControls(text) { throw UsageError("\(option) can't hold control characters") }
    return UserCredentials(
      user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
  }

  /// `NAME=VALUE` (RFC 6265 4.2.1).
  package static func cookie(_ text: String, _ option: String) throws(UsageError) -> String {
    let cookie = trimmed(Substring(text))
    guard let equals = cookie.firstIndex(of: "="), equals != cookie.startIndex else {
      throw UsageError("\(option) needs NAME=VALUE, or @FILE")
    }
    if hasControls(cookie) { throw UsageError("\(option) can't hold control characters") }
    return cookie
  }

  /// A bearer token (RFC 6750 2.1, read generously: any visible ASCII).
  package static func bearer(_ text: String, _ option: String) throws(UsageError) -> String {
    let token = trimmed(Substring(text))
    guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw UsageError("\(option) needs a token without spaces on the first line")
    }
    return token
  }

  /// Whether a text holds what could end a header line: C0 but for the tab, and DEL.
  package static func hasControls(_ text: String) -> Bool {
    text.utf8.contains { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
    return String(text)
  }

  /// A `tchar` of RFC 9110 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
