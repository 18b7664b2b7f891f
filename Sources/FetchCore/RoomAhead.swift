// Room on the disk ahead of what is written. ext4 then looks for blocks once for many megabytes, not
// once for each, which takes a quarter off a write's time, and lays the file out in few pieces.

internal import CLinux

/// Which room of a file was asked for already.
///
/// Pure but for `take(_:of:)`. It is never more than the file will need, nor more than a step ahead, so
/// that a size that a server only claims takes no room from anybody.
package struct RoomAhead: Sendable, Hashable {
  package static let step: Int64 = 16 << 20
  /// A smaller file isn't worth the calls.
  package static let leastSize: Int64 = 32 << 20

  private var steps: Set<Int64> = []

  package init() {}

  /// The room to be taken before a write; nil where it was.
  ///
  /// - Parameter size: what the file will have in the end, in bytes.
  package mutating func next(for range: ByteRange, size: Int64) -> ByteRange? {
    guard size >= Self.leastSize, range.lowerBound < size else { return nil }
    let first = range.lowerBound / Self.step
    let last = (min(range.upperBound, size) - 1) / Self.step
    guard let missing = (first...last).first(where: { !steps.contains($0) }) else { return nil }
    steps.formUnion(missing...last)
    return ByteRange(missing * Self.step, min((last + 1) * Self.step, size))
  }

  /// Whether a file stands where room ahead is worth asking for.
  ///
  /// Other file systems put off the choice of blocks (xfs, btrfs), or would fill the room (tmpfs).
  package static func isWorthIt(for descriptor: Int32) -> Bool { vf_is_on_ext(descriptor) != 0 }

  /// Takes room for a range; the file keeps its size.
  ///
  /// Only a hint, so that nothing here is a failure: a disk that is full shows when it is written to.
  ///
  /// - Returns: false where it can't be had.
  package static func take(_ range: ByteRange, of descriptor: Int32) -> Bool {
    vf_preallocate(descriptor, range.lowerBound, range.count) == 0
  }
}
