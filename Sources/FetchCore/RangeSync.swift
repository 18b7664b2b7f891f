// Parts of a file on their way to the disk, before the whole is synced. Thin: one call, and what its
// errors are worth.

internal import CLinux
import Glibc

/// Write-back of ranges of a file.
package enum RangeSync {
  /// What a call that isn't there, isn't allowed or isn't for such files fails with.
  ///
  /// It says nothing of the data, of which the sync of the whole file will.
  private static let unsupported = [ENOSYS, EINVAL, ESPIPE, EPERM, EACCES, EOPNOTSUPP]

  /// Starts it without waiting, so that a later sync finds little to do.
  ///
  /// Only a hint, so that nothing here is a failure. Wraps `sync_file_range(2)`.
  package static func begin(_ range: ByteRange, of descriptor: Int32) {
    _ = vf_start_writeback(descriptor, range.lowerBound, range.count)
  }

  /// Waits until a range is written, as far as this file system can tell.
  ///
  /// An error of the disk is told once to each opening of a file: one that is told here would not come
  /// out of a sync of that opening any more.
  package static func finish(_ range: ByteRange, of descriptor: Int32) throws(SystemError) {
    do throws(SystemError) {
      _ = try retryingInterrupts("sync_file_range") {
        vf_finish_writeback(descriptor, range.lowerBound, range.count)
      }
    } catch  where unsupported.contains(error.number) {}
  }
}
