// Moments as RFC 3339 writes them, always in UTC. Pure but for `now()`.

import Glibc

/// A moment of the wall clock, to the millisecond.
package struct Timestamp: Sendable, Hashable, Comparable {
  /// Milliseconds since 1970.
  package let milliseconds: Int64

  /// The first and the last moment that four digits of a year can name.
  private static let range = -62_167_219_200_000...Int64(253_402_300_799_999)

  /// A moment before the year 0 or after 9999 becomes the nearest that can be written.
  package init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
  }

  /// The present.
  package static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }

  // MARK: Text

  /// The moment as `2026-11-30T13:58:57.123Z`.
  package var text: String {
    let parts = parts
    return "\(parts.date)T\(parts.minute):\(parts.second).\(Self.digits(parts.fraction, 3))Z"
  }

  /// The date and the time of day, to the minute: `2026-11-30` and `13:58`.
  package var minute: (date: String, time: String) { (parts.date, parts.minute) }

  /// Reads a date-time of RFC 3339 in any time zone; nil for all else.
  ///
  /// A leap second counts as the second after it.
  package init?(_ text: String) {
    var bytes = Array(text.utf8)[...]
    guard let year = Self.number(&bytes, 4), Self.take(&bytes, "-"),
      let month = Self.number(&bytes, 2), (1...12).contains(month), Self.take(&bytes, "-"),
      let day = Self.number(&bytes, 2), (1...Self.days(in: month, of: year)).contains(day),
      Self.take(&bytes, "T") || Self.take(&bytes, "t") || Self.take(&bytes, " "),
      let hour = Self.number(&bytes, 2), hour < 24, Self.take(&bytes, ":"),
      let minute = Self.number(&bytes, 2), minute < 60, Self.take(&bytes, ":"),
      let second = Self.number(&bytes, 2), second <= 60
    else { return nil }
    var fraction: Int64 = 0
    if Self.take(&bytes, ".") {
      let digits = bytes.prefix { (0x30...0x39).contains($0) }
      guard !digits.isEmpty else { return nil }
      bytes = bytes.dropFirst(digits.count)
      var known = digits.prefix(3) + [UInt8](repeating: 0x30, count: max(0, 3 - digits.count))
      fraction = Self.number(&known, 3) ?? 0
    }
    guard let offset = Self.offset(&bytes), bytes.isEmpty else { return nil }
    let days = Self.daysSince1970(year: year, month: month, day: day)
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
    self.init(milliseconds: seconds * 1000 + fraction)
  }

  private var parts: (date: String, minute: String, second: String, fraction: Int64) {
    let seconds = Self.floor(milliseconds, by: 1000)
    let days = Self.floor(seconds, by: 86_400)
    let ofDay = seconds - days * 86_400
    let (year, month, day) = Self.date(daysSince1970: days)
    return (
      "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))",
      "\(Self.digits(ofDay / 3600, 2)):\(Self.digits(ofDay / 60 % 60, 2))",
      Self.digits(ofDay % 60, 2), milliseconds - seconds * 1000
    )
  }

  private static func digits(_ number: Int64, _ count: Int) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }

  private static func take(_ bytes: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
    guard bytes.first == UInt8(ascii: character) else { return false }
    bytes.removeFirst()
    return true
  }

  private static func number(_ bytes: inout ArraySlice<UInt8>, _ count: Int) -> Int64? {
    let digits = bytes.prefix(count)
    guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    bytes = bytes.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// Minutes east of Greenwich: `Z`, or a sign, hours and minutes.
  private static func offset(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    if take(&bytes, "Z") || take(&bytes, "z") { return 0 }
    let isEast = take(&bytes, "+")
    guard isEast || take(&bytes, "-"), let hours = number(&bytes, 2), hours < 24,
      take(&bytes, ":"), let minutes = number(&bytes, 2), minutes < 60
    else { return nil }
    return (isEast ? 1 : -1) * (hours * 60 + minutes)
  }

  // MARK: The calendar

  // Years begin with March here, so that the day that comes and goes is a year's last.

  private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month > 2 ? year : year - 1
    let era = floor(year, by: 400)
    let ofEra = year - era * 400
    let ofYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  private static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let days = days + 719_468
    let era = floor(days, by: 146_097)
    let ofEra = days - era * 146_097
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    return (
      era * 400 + year + (month < 10 ? 0 : 1), month < 10 ? month + 3 : month - 9,
      ofYear - (153 * month + 2) / 5 + 1
    )
  }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    let next = month == 12 ? (year + 1, Int64(1)) : (year, month + 1)
    return daysSince1970(year: next.0, month: next.1, day: 1)
      - daysSince1970(year: year, month: month, day: 1)
  }

  /// The quotient, rounded down for negative numbers too.
  private static func floor(_ number: Int64, by divisor: Int64) -> Int64 {
    let quotient = number / divisor
    return number % divisor < 0 ? quotient - 1 : quotient
  }
}
