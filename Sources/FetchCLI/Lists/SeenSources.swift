// Which items of a list have come before, at 16 bytes an item. Pure.

/// A set of 128-bit fingerprints in one flat array.
///
/// Open addressing with linear probing: the fingerprints are parts of a SHA-256, so that their own bits
/// are the place.
package struct SeenSources: Sendable {
  /// Beyond so many items nothing is a duplicate: the memory has an end, and a target that exists is
  /// found all the same.
  package static let most = 10_000_000

  /// Two words an item; both are 0 where there is none.
  private var words: [UInt64]
  private var mask: Int
  package private(set) var count = 0

  package init() {
    words = [UInt64](repeating: 0, count: 2 << 10)
    mask = (1 << 10) - 1
  }

  /// Takes an item in; false where it was there already.
  package mutating func insert(_ fingerprint: (UInt64, UInt64)) -> Bool {
    guard count < Self.most else { return true }
    // No room is ever used up: a probe always finds an end.
    if (count + 1) * 8 > (mask + 1) * 7 { grow() }
    guard place(fingerprint) else { return false }
    count += 1
    return true
  }

  /// The bytes that the array takes.
  package var byteCount: Int { words.count * MemoryLayout<UInt64>.size }

  private mutating func grow() {
    let old = words
    words = [UInt64](repeating: 0, count: old.count * 2)
    mask = mask << 1 | 1
    for index in stride(from: 0, to: old.count, by: 2) where old[index] | old[index + 1] != 0 {
      _ = place((old[index], old[index + 1]))
    }
  }

  private mutating func place(_ fingerprint: (UInt64, UInt64)) -> Bool {
    // All zeros is the sign for an empty place; no text is known to hash to it, or to its neighbour.
    let (high, low) = fingerprint == (0, 0) ? (0, 1) : fingerprint
    var slot = Int(truncatingIfNeeded: high) & mask
    while words[2 * slot] | words[2 * slot + 1] != 0 {
      if words[2 * slot] == high, words[2 * slot + 1] == low { return false }
      slot = (slot + 1) & mask
    }
    words[2 * slot] = high
    words[2 * slot + 1] = low
    return true
  }
}
