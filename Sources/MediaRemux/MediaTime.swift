// Time stamps from outside, made safe at one place: what the demuxer gives is looked at when it comes
// out, and what libavutil's rescaling gives when it comes back. Past here, sums and differences of a
// few stamps cannot overflow. Pure, but for the call into libavutil.

import CFFmpeg
import FetchCore

enum MediaTime {
  /// No stamp, duration or distance is larger: a nanosecond clock gets there after 36 years.
  static let limit: Int64 = 1 << 60

  @inline(__always)
  static func isSane(_ ticks: Int64) -> Bool { ticks >= -limit && ticks <= limit }

  /// Converts between time bases.
  ///
  /// Wraps `av_rescale_q`, which answers an overflow, or a time base of zero, with `Int64.min`.
  ///
  /// - Throws: `.damaged` where the value or the result is past the limit.
  @inline(__always)
  static func rescale(
    _ ticks: Int64, _ from: AVRational, _ to: AVRational
  ) throws(FetchError) -> Int64 {
    let result = av_rescale_q(ticks, from, to)
    guard isSane(result) else { throw outOfRange("a timestamp") }
    return result
  }

  /// A count of units, so many of which make a second, in ticks of a time base, rounded to nearest.
  ///
  /// - Returns: nil where the result would be past the limit.
  static func ticks(_ count: UInt64, perSecond: UInt64, in base: AVRational) -> Int64? {
    guard perSecond > 0, base.num > 0, base.den > 0 else { return nil }
    let (divisor, tooLarge) = perSecond.multipliedReportingOverflow(by: UInt64(base.num))
    let (high, low) = count.multipliedFullWidth(by: UInt64(base.den))
    guard !tooLarge, high < divisor else { return nil }
    let (quotient, remainder) = divisor.dividingFullWidth((high, low))
    guard quotient < UInt64(limit) else { return nil }
    return Int64(quotient) + (remainder >= divisor - remainder ? 1 : 0)
  }

  static func outOfRange(_ what: String, stream: Int? = nil) -> FetchError {
    let place = stream.map { " of stream \($0)" } ?? ""
    return FetchError(
      .damaged, "\(what)\(place) is out of any range: the media is damaged",
      recovery: "fetch the file again, or from another source")
  }
}
