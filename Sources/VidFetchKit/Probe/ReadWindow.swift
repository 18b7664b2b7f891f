// How much of a remote source is asked for at once when only its head and its index are wanted. Pure.

import FetchCore

/// Chooses the next range.
///
/// What is read at one place after the other grows, so that a large index takes few requests; a jump
/// begins small again. At most `largest` bytes are fetched beyond what is needed.
struct ReadWindow: Sendable {
  static let smallest: Int64 = 256 << 10
  static let largest: Int64 = 1 << 20
  /// A rest of the source up to this size isn't worth a request of its own.
  private static let crumb: Int64 = 64 << 10

  private var size = smallest
  private var end: Int64?

  /// The range that begins with the byte that is waited for.
  ///
  /// - Parameters:
  ///   - present: what is there, and isn't fetched again.
  ///   - total: the source's size, where it is known.
  /// - Returns: nil where there is nothing to ask for at `offset`.
  mutating func range(
    from offset: Int64, present: ByteRangeSet, total: Int64?
  ) -> ByteRange? {
    size = offset == end ? min(size * 2, Self.largest) : Self.smallest
    let (sum, overflow) = offset.addingReportingOverflow(size)
    var upper = overflow ? Int64.max : sum
    if let total, total - upper <= Self.crumb { upper = total }
    if let next = present.ranges.first(where: { $0.upperBound > offset }) {
      upper = min(upper, next.lowerBound)
    }
    guard let range = ByteRange(offset, upper) else { return nil }
    end = range.upperBound
    return range
  }
}
