// One machine's share of a list that many machines work through. An item's shard depends on its
// source alone, so a list may grow, shrink and be sorted anew without any item changing hands. Pure.

package import FetchCore

/// Shard `index` of `count`.
package struct Shard: Sendable, Hashable, CustomStringConvertible {
  package static let most = 1_000_000

  /// From 1 to `count`.
  package let index: Int
  package let count: Int

  /// - Returns: nil where there is no such shard.
  package init?(index: Int, count: Int) {
    guard (1...Self.most).contains(count), (1...count).contains(index) else { return nil }
    self.index = index
    self.count = count
  }

  /// Parses `I/N`.
  ///
  /// - Throws: `.usage`, whose message goes behind the name of the option.
  package init(_ text: String) throws(FetchError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let index = Self.number(parts[0]), let count = Self.number(parts[1]),
      let shard = Shard(index: index, count: count)
    else {
      throw FetchError(
        .usage, "needs auto, or I/N with 1 <= I <= N <= \(Self.most), not '\(text)'")
    }
    self = shard
  }

  package var description: String { "\(index)/\(count)" }

  package func contains(_ source: SourceIdentity) -> Bool {
    source.hash % UInt64(count) == UInt64(index - 1)
  }

  /// A plain number; a sign or a space is none.
  ///
  /// At most that of 31 bits, which no engine goes beyond, so that sums of two can't overflow.
  static func number(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int32(text).map(Int.init)
  }
}
