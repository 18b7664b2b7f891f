import FetchCLI
import Foundation
import Testing

@Suite struct TimestampTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_709_164_799_999, "2024-02-28T23:59:59.999Z"),
      (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (.max, "9999-12-31T23:59:59.999Z"),
      (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (.min, "0000-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func writesUTC(milliseconds: Int64, text: String) throws {
    let time = Timestamp(milliseconds: milliseconds)
    #expect(time.text == text)
    #expect(Timestamp(text) == time)
  }

  /// Foundation's calendar is the judge.
  @Test func everyDayOfFourCenturiesIsTheCalendars() throws {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    for day in stride(from: Int64(-50_000), through: 96_100, by: 1) {
      let seconds = day * 86_400 + 86_399 - (day & 1) * 43_200
      let date = Date(timeIntervalSince1970: Double(seconds))
      let text = Timestamp(milliseconds: seconds * 1000).text
      guard text != date.formatted(format) else { continue }
      Issue.record("\(text) is \(date.formatted(format))")
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01t00:00:00.5z", 500),
      ("1970-01-01 01:00:00+01:00", 0), ("1969-12-31T18:30:00.0009-05:30", 0),
      ("1970-01-01T00:00:00.123456789Z", 123), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ] as [(String, Int64)])
  func readsAnyDateTimeOfRFC3339(text: String, milliseconds: Int64) {
    #expect(Timestamp(text)?.milliseconds == milliseconds)
  }

  @Test(arguments: [
    "", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z",
    "2023-02-29T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
    "1970-01-01T00:00:61Z", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00+1:00",
    "1970-01-01T00:00:00Zx", "+970-01-01T00:00:00Z", "１970-01-01T00:00:00Z",
  ])
  func readsNothingElse(text: String) {
    #expect(Timestamp(text) == nil)
  }
}
