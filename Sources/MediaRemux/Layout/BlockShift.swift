// Moving all that stands behind an offset without copying it, where the file system can: blocks are
// put into the file's map, or taken out of it (fallocate(2); ext4, xfs and some others). Runs on the
// remux thread, on a file that nobody else has open.

import CLinux
import FetchCore

/// A move of a file's rest by whole blocks.
struct BlockShift: Hashable {
  /// The blocks of most file systems are this large, or smaller by a whole factor.
  ///
  /// Where they are larger, the system refuses, and the rest is copied.
  static let blockSize: Int64 = 4096
  private static let writeBackPiece: Int64 = 16 << 20

  private let start: Int64
  /// Where blocks are put in or taken out.
  let offset: Int64
  /// How many bytes: more than 0 are put in, less are taken out.
  let delta: Int64

  /// - Parameters:
  ///   - start: the first byte of what belongs to nothing, and may be put in or taken out.
  ///   - delta: how far the rest is to move; nil comes of what isn't a number of whole blocks.
  init?(from start: Int64, by delta: Int64) {
    guard start >= 0, delta != 0, delta % Self.blockSize == 0 else { return nil }
    self.start = start
    // What stands between is moved with the rest, and written again in its place.
    offset = start - start % Self.blockSize
    self.delta = delta
  }

  /// Moves the rest of a file of `size` bytes.
  ///
  /// What belongs to nothing may hold anything afterwards.
  ///
  /// - Returns: false where this file system can't, and nothing has changed.
  func perform(
    on sink: Int32, size: Int64, cancellation: CancellationFlag?
  ) throws(FetchError) -> Bool {
    do throws(SystemError) {
      let kept = try DescriptorIO.read(sink, at: offset, count: Int(start - offset))
      try writeBack(sink, size: size, cancellation)
      do throws(SystemError) {
        let (offset, count) = (offset, abs(delta))
        _ = try retryingInterrupts("fallocate") {
          delta > 0
            ? vf_insert_range(sink, offset, count) : vf_collapse_range(sink, offset, count)
        }
      } catch  where Self.refusals.contains(error.number) {
        return false
      }
      try DescriptorIO.write(sink, kept, at: offset)
      return true
    } catch {
      if error.number == ECANCELED { throw .cancelled }
      throw error.fetchError("moving the index to the front")
    }
  }

  /// No such call, no such file system, no such blocks, not for this file, not here.
  private static let refusals = [EOPNOTSUPP, ENOSYS, EINVAL, EPERM, EFBIG]

  /// Has the rest written: the call would do it at one go, and nothing could stop that.
  private func writeBack(
    _ sink: Int32, size: Int64, _ cancellation: CancellationFlag?
  ) throws(SystemError) {
    var position = offset
    while position < size {
      if cancellation?.isCancelled == true { throw SystemError("fallocate", errno: ECANCELED) }
      let count = min(Self.writeBackPiece, size - position)
      if let piece = ByteRange(offset: position, count: count) {
        try RangeSync.finish(piece, of: sink)
      }
      position += count
    }
  }
}
