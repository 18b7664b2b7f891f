// HTTP's dates and the field that asks for patience. Pure: the present is an argument.

/// A moment as HTTP writes it.
package enum HTTPDate {
  /// Reads any of the three forms of RFC 9110 5.6.7 as seconds since 1970; nil for all else.
  ///
  /// - Parameter now: seconds since 1970; a year of two digits that would lie over 50 years ahead
  ///   of it belongs to the century before.
  package static func seconds(_ text: String, now: Int64) -> Int64? {
    let words = text.utf8.split { $0 == 0x20 || $0 == UInt8(ascii: ",") || $0 == 0x09 }
      .map(Array.init)
    switch words.count {
    case 6:  // Sun, 06 Nov 1994 08:49:37 GMT
      guard isZone(words[5]), words[3].count == 4 else { return nil }
      return moment(day: words[1], month: words[2], year: words[3], time: words[4])
    case 4:  // Sunday, 06-Nov-94 08:49:37 GMT
      let date = words[1].split(separator: UInt8(ascii: "-")).map(Array.init)
      guard isZone(words[3]), date.count == 3, date[2].count == 2 || date[2].count == 4,
        var year = ASCII.number(date[2])
      else { return nil }
      if date[2].count == 2 {
        let present = civilYear(now)
        year += present / 100 * 100
        if year > present + 50 { year -= 100 }
      }
      return moment(day: date[0], month: date[1], year: Array(String(year).utf8), time: words[2])
    case 5:  // Sun Nov  6 08:49:37 1994
      guard words[4].count == 4 else { return nil }
      return moment(day: words[2], month: words[1], year: words[4], time: words[3])
    default:
      return nil
    }
  }

  private static func isZone(_ word: [UInt8]) -> Bool {
    let zone = word.map(ASCII.lowercased)
    return zone.elementsEqual("gmt".utf8) || zone.elementsEqual("utc".utf8)
  }

  private static func moment(day: [UInt8], month: [UInt8], year: [UInt8], time: [UInt8]) -> Int64? {
    let months = [
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    let name = month.map(ASCII.lowercased)
    let clock = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard let month = months.firstIndex(where: { $0.utf8.elementsEqual(name) }),
      day.count <= 2, let day = ASCII.number(day), (1...31).contains(day),
      let year = ASCII.number(year), (1...9999).contains(year),
      clock.count == 3, clock.allSatisfy({ $0.count == 2 }),
      let hour = ASCII.number(clock[0]), hour < 24, let minute = ASCII.number(clock[1]),
      minute < 60, let second = ASCII.number(clock[2]), second <= 60
    else { return nil }
    return days(year: year, month: Int64(month) + 1, day: day) * 86400 + hour * 3600 + minute * 60
      + second
  }

  /// Days from 1970-01-01 in the proleptic Gregorian calendar, by counting from a March.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let shifted = (month + 9) % 12
    let leapDays = year / 4 - year / 100 + year / 400
    return year * 365 + leapDays + (shifted * 306 + 5) / 10 + day - 1 - 719_468
  }

  /// The year of a moment; approximate within a day of New Year, which is enough for its century.
  private static func civilYear(_ seconds: Int64) -> Int64 {
    1970 + Int64((Double(seconds) / 86400 / 365.2425).rounded(.down))
  }
}

/// The value of a Retry-After field (RFC 9110 10.2.3).
package enum RetryAfter: Sendable, Hashable {
  case seconds(Int64)
  /// Seconds since 1970.
  case date(Int64)

  /// Reads a field's value; nil where it is neither form, negative included.
  package init?(_ text: String, now: Int64) {
    let bytes = ASCII.trimmed(Array(text.utf8))
    if !bytes.isEmpty, bytes.allSatisfy(ASCII.isDigit) {
      // A number too long for the type still means "very long".
      self = .seconds(min(ASCII.number(bytes) ?? .max, 1_000_000_000))
    } else if let date = HTTPDate.seconds(text, now: now) {
      self = .date(date)
    } else {
      return nil
    }
  }

  /// How long to wait from `now` (seconds since 1970); nil where that moment isn't ahead.
  package func wait(now: Int64) -> Int64? {
    let seconds =
      switch self {
      case .seconds(let count): count
      case .date(let date): date - now
      }
    return seconds > 0 ? seconds : nil
  }
}
