// The numbers that options take: counts, times and sizes. Pure; nothing that isn't plain decimal
// notation is a number here, so "nan", "inf", "1e9" and "0x10" are refused.

/// Readers of the numbers that people type; each returns nil for what it doesn't understand.
package enum Quantity {
  /// The longest time that an option takes: one year.
  package static let longestTime = Duration.seconds(365 * 24 * 60 * 60)

  /// A count from 0 up to `limit`.
  package static func count(_ text: String, upTo limit: Int) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy(isDigit), let count = Int(text), count <= limit
    else { return nil }
    return count
  }

  /// Seconds, or a number with one of the units ms, s, m, h; above 0 and at most a year.
  package static func time(_ text: String) -> Duration? {
    guard let (number, unit) = split(text) else { return nil }
    let milliseconds: Double
    switch unit {
    case "ms": milliseconds = number
    case "", "s": milliseconds = number * 1000
    case "m": milliseconds = number * 60_000
    case "h": milliseconds = number * 3_600_000
    default: return nil
    }
    // The comparison comes first: a number that Int64 can't hold must not reach the conversion.
    guard milliseconds >= 1, milliseconds <= 365 * 24 * 3_600_000 else { return nil }
    return .milliseconds(Int64(milliseconds.rounded()))
  }

  /// Bytes, or a number with k, M, G or T (powers of 1000), or Ki, Mi, Gi, Ti (of 1024), and
  /// perhaps a B behind it.
  package static func bytes(_ text: String) -> Int64? {
    guard let (number, typed) = split(text) else { return nil }
    let unit = typed.hasSuffix("B") ? String(typed.dropLast()) : typed
    let factor: Double
    switch unit {
    case "": factor = 1
    case "k", "K": factor = 1e3
    case "M": factor = 1e6
    case "G": factor = 1e9
    case "T": factor = 1e12
    case "Ki", "ki": factor = 1024
    case "Mi": factor = 1_048_576
    case "Gi": factor = 1_073_741_824
    case "Ti": factor = 1_099_511_627_776
    default: return nil
    }
    let bytes = (number * factor).rounded(.down)
    // 2^63 as a Double; the largest one below it converts.
    guard bytes >= 0, bytes < 9_223_372_036_854_775_808 else { return nil }
    // "0.5" is not a number of bytes, whereas "0" is.
    if bytes == 0, number != 0 { return nil }
    return Int64(bytes)
  }

  /// A decimal number and the letters behind it.
  private static func split(_ text: String) -> (number: Double, unit: String)? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard digits.utf8.contains(where: isDigit), digits.filter({ $0 == "." }).count <= 1,
      let number = Double(digits.hasPrefix(".") ? "0\(digits)" : String(digits)), number.isFinite
    else { return nil }
    return (number, String(text.dropFirst(digits.count)))
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
}
