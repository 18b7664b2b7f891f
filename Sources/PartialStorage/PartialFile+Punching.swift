// A part that gives back the room of what nobody reads any more. On the job's thread.

internal import CLinux
package import FetchCore
import Glibc

extension PartialFile {
  /// Gives the room of a range back to the file system; its bytes are zeros from then on.
  ///
  /// The record claims nothing from the first of them on: what is left can be finished by this run,
  /// and not be resumed by another.
  ///
  /// - Returns: false where this file system can't.
  package func punch(_ range: ByteRange) throws(FetchError) -> Bool {
    do throws(SystemError) {
      // Tried where nothing is lost: the record is worth more than a hole that can't be made.
      if !isSpent { try punch(at: descriptor.status().size, count: 1) }
      try withdrawRecord()
      try punch(at: range.lowerBound, count: range.count)
      return true
    } catch {
      if [EOPNOTSUPP, ENOSYS, EPERM].contains(error.number) { return false }
      throw error.fetchError("giving back room of \(folder.path)/\(name)")
    }
  }

  private func punch(at offset: Int64, count: Int64) throws(SystemError) {
    let descriptor = descriptor.rawValue
    _ = try retryingInterrupts("fallocate") { vf_punch_hole(descriptor, offset, count) }
  }
}

/// What of a part was released, and may go once nobody compares it any more.
///
/// Pure.
package struct ReleasedRanges: Sendable, Hashable {
  /// A transfer that goes on compares the last bytes before the gap that it fills, at most so many.
  package static let compared: Int64 = 1 << 20
  private static let blockSize: Int64 = 4096

  private var waiting = ByteRangeSet()

  package init() {}

  package mutating func insert(_ range: ByteRange) { waiting.insert(range) }

  /// Takes out what can go now, in whole blocks.
  ///
  /// - Parameters:
  ///   - present: what of the part is there.
  ///   - total: the resource's size, where it is known.
  package mutating func take(present: ByteRangeSet, total: Int64?) -> [ByteRange] {
    let isComplete = total.map(present.isComplete) ?? false
    var taken: [ByteRange] = []
    for range in waiting.ranges {
      let run = range.lowerBound + present.run(from: range.lowerBound)
      let end = min(range.upperBound, isComplete ? run : run - Self.compared)
      let lower = (range.lowerBound + Self.blockSize - 1) / Self.blockSize * Self.blockSize
      guard let blocks = ByteRange(lower, max(end, 0) / Self.blockSize * Self.blockSize) else {
        continue
      }
      taken.append(blocks)
      waiting.remove(ByteRange(range.lowerBound, blocks.upperBound) ?? blocks)
    }
    return taken
  }
}
