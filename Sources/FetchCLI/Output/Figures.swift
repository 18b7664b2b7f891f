// Numbers as people read them on a bar and in lines. Pure. Units are decimal: 1 kB is 1000 bytes.
// Nothing here can become "inf", "nan" or negative.

/// Sizes, rates and times as text.
package enum Figures {
  private static let units = [" B", "kB", "MB", "GB", "TB", "PB", "EB"]

  /// A size with one decimal from 1 kB on, such as `45.6 MB`; a negative one counts as 0.
  package static func size(_ bytes: Int64) -> String {
    let (number, unit) = parts(bytes)
    return "\(number) \(units[unit].drop { $0 == " " })"
  }

  /// The same in a field of 8 columns.
  package static func sizeField(_ bytes: Int64) -> String {
    let (number, unit) = parts(bytes)
    return padded("\(number) \(units[unit])", to: 8)
  }

  /// A rate such as `3.2 MB/s`; nil where there is none to show.
  package static func rate(_ bytesPerSecond: Double?) -> String? {
    bytes(bytesPerSecond).map { size($0) + "/s" }
  }

  /// The same in a field of 10 columns, empty where there is none.
  package static func rateField(_ bytesPerSecond: Double?) -> String {
    padded(bytes(bytesPerSecond).map { sizeField($0) + "/s" } ?? "", to: 10)
  }

  /// Seconds as `0:12`, `12:34` or `1:23:45`; nil where there are none to show, or 100 hours and
  /// more.
  package static func time(_ seconds: Double?) -> String? {
    guard let seconds, seconds.isFinite, seconds >= 0, seconds < 360_000 - 0.5 else { return nil }
    let whole = Int(seconds.rounded())
    let tail = twoDigits(whole % 60)
    if whole < 3600 { return "\(whole / 60):\(tail)" }
    return "\(whole / 3600):\(twoDigits(whole / 60 % 60)):\(tail)"
  }

  /// Whole percent, rounded down, and below 100 for every fraction below 1.
  package static func percent(_ fraction: Double?) -> Int? {
    guard let fraction, fraction.isFinite else { return nil }
    return min(100, max(0, Int(min(1, max(0, fraction)) * 100)))
  }

  /// Seconds with one decimal, such as `1.3 s`; below a tenth in milliseconds.
  package static func seconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = max(duration, .zero).components
    if seconds == 0, attoseconds < 100_000_000_000_000_000 {
      return "\(attoseconds / 1_000_000_000_000_000) ms"
    }
    let tenths = (attoseconds + 50_000_000_000_000_000) / 100_000_000_000_000_000
    let whole = tenths == 10 ? seconds + 1 : seconds
    let rest = tenths == 10 ? 0 : tenths
    return rest == 0 ? "\(whole) s" : "\(whole).\(rest) s"
  }

  /// A bit rate such as `128 kb/s` or `4.5 Mb/s`; a negative one counts as 0.
  package static func bitRate(_ bitsPerSecond: Int64) -> String {
    if bitsPerSecond < 1000 { return "\(max(0, bitsPerSecond)) b/s" }
    if bitsPerSecond < 1_000_000 { return "\((bitsPerSecond - 500) / 1000 + 1) kb/s" }
    return "\(number(Double(bitsPerSecond) / 1e6, decimals: 1)) Mb/s"
  }

  /// A number with at most so many decimals, such as `23.976`, `25` or `44.1`.
  package static func number(_ value: Double, decimals: Int = 3) -> String {
    let scale = (0..<decimals).reduce(Int64(1)) { scale, _ in scale * 10 }
    guard value.isFinite, abs(value) < 1e12 else { return "?" }
    let scaled = Int64((abs(value) * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    let digits = "\(scaled % scale + scale)".dropFirst()
    let fraction = digits.reversed().drop { $0 == "0" }.reversed()
    return sign + "\(scaled / scale)" + (fraction.isEmpty ? "" : "." + String(fraction))
  }

  /// `text` with spaces before it up to `columns`.
  package static func padded(_ text: String, to columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - text.utf8.count)) + text
  }

  /// The number, in units of at least one and below a thousand, and the unit's index.
  private static func parts(_ bytes: Int64) -> (number: String, unit: Int) {
    let bytes = max(0, bytes)
    if bytes < 1000 { return ("\(bytes)", 0) }
    var unit = 1
    var scale: Int64 = 1000
    // Rounding to a tenth must not make a thousand of one unit where one of the next is meant.
    while unit < units.count - 1, tenths(bytes, of: scale) >= 10_000 {
      unit += 1
      scale *= 1000
    }
    let tenths = tenths(bytes, of: scale)
    return ("\(tenths / 10).\(tenths % 10)", unit)
  }

  private static func tenths(_ bytes: Int64, of scale: Int64) -> Int64 {
    bytes / scale * 10 + (bytes % scale * 10 + scale / 2) / scale
  }

  private static func bytes(_ rate: Double?) -> Int64? {
    guard let rate, rate.isFinite, rate >= 0, rate < 9e18 else { return nil }
    return Int64(rate)
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
