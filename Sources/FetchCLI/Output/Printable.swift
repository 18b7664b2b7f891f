// Text from outside, made safe for a terminal: a server chooses names and messages, and neither may
// move the cursor, change colours, reverse the reading order or break the line. Pure.

/// Escaping of what a terminal would act on or not show.
package enum Printable {
  /// `text` with control, format and line-separating characters written as `\u{…}`.
  ///
  /// Escaped are the general categories Cc (C0, DEL, C1), Cf (bidirectional controls, zero-width
  /// characters, tags), Zl and Zp. A Swift string is valid Unicode already: what wasn't has become
  /// U+FFFD where it was decoded.
  package static func escape(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var result = ""
    result.reserveCapacity(text.utf8.count + 16)
    for scalar in text.unicodeScalars {
      if isUnsafe(scalar) {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Whether a terminal would do something else with it than show it.
  package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    // Nearly every scalar that is asked about is plain ASCII.
    if scalar.value < 0x7F { return scalar.value < 0x20 }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
