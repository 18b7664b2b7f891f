// The name that a server proposes (RFC 6266). What comes out is the server's wish and nothing more:
// it has to be made safe before it touches a disk or a terminal. Pure.

package enum ContentDisposition {
  /// The `filename*` (RFC 8187), else the `filename` of a Content-Disposition value.
  ///
  /// A `filename*` with an unknown charset, a broken escape or bytes that the charset doesn't know
  /// is passed over. Nil where no name, or an empty one, remains.
  package static func filename(_ text: String) -> String? {
    var plain: String?
    var extended: String?
    for (name, value, isQuoted) in parameters(Array(text.utf8)) {
      if name.elementsEqual("filename".utf8), plain == nil {
        plain = decode(value)
      } else if name.elementsEqual("filename*".utf8), extended == nil, !isQuoted || !value.isEmpty {
        extended = decodeExtended(value)
      }
    }
    return [extended, plain].lazy.compactMap { $0 }.first { !$0.isEmpty }
  }

  private typealias Parameter = (name: [UInt8], value: [UInt8], isQuoted: Bool)

  /// The parameters after the disposition type, names in lower case, quoted values without quotes.
  private static func parameters(_ bytes: [UInt8]) -> [Parameter] {
    let semicolon = UInt8(ascii: ";")
    let quote = UInt8(ascii: "\"")
    var result: [Parameter] = []
    var index = bytes.firstIndex(of: semicolon) ?? bytes.count
    while index < bytes.count {
      index += 1
      let nameEnd =
        bytes[index...].firstIndex { $0 == UInt8(ascii: "=") || $0 == semicolon } ?? bytes.count
      let name = ASCII.trimmed(bytes[index..<nameEnd]).map(ASCII.lowercased)
      index = nameEnd
      guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { continue }
      index += 1
      while index < bytes.count, ASCII.isSpace(bytes[index]) { index += 1 }
      var value: [UInt8] = []
      let isQuoted = index < bytes.count && bytes[index] == quote
      if isQuoted {
        index += 1
        while index < bytes.count, bytes[index] != quote {
          if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
          value.append(bytes[index])
          index += 1
        }
        index = bytes[min(index, bytes.count)...].firstIndex(of: semicolon) ?? bytes.count
      } else {
        let end = bytes[index...].firstIndex(of: semicolon) ?? bytes.count
        value = Array(ASCII.trimmed(bytes[index..<end]))
        index = end
      }
      result.append((name, value, isQuoted))
    }
    return result
  }

  /// `charset'language'escaped`.
  private static func decodeExtended(_ value: [UInt8]) -> String? {
    let parts = value.split(
      separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = URLText.decodingEscapes(Array(parts[2])) else { return nil }
    let charset = parts[0].map(ASCII.lowercased)
    if charset.elementsEqual("utf-8".utf8) { return String(validating: bytes, as: UTF8.self) }
    if charset.elementsEqual("iso-8859-1".utf8) { return latin1(bytes) }
    return nil
  }

  /// UTF-8 where it is, else Latin-1, which takes any byte.
  private static func decode(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self) ?? latin1(bytes)
  }

  private static func latin1(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
