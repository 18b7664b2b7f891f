// One open file: owner of its descriptor. Blocking calls; never used from a task.

internal import CLinux
package import FetchCore
import Glibc

/// The owner of one file descriptor.
///
/// It is closed by `close()`, which shows errors, or else when the last reference goes. Reading and
/// writing are positioned, so several threads may use one descriptor at once.
package final class FileDescriptor: Sendable {
  /// Valid while this object lives and has not been closed.
  ///
  /// Borrow it, never close it.
  package let rawValue: Int32

  /// Takes over an open descriptor.
  package init(owning rawValue: Int32) { self.rawValue = rawValue }

  deinit { if rawValue >= 0 { _ = Glibc.close(rawValue) } }

  package static let readOnlyNonBlocking = O_RDONLY | O_NONBLOCK | O_NOCTTY

  /// Opens a path relative to a folder, always with `O_CLOEXEC`.
  ///
  /// Wraps `openat(2)`.
  package static func open(
    _ path: String, in folder: FileDescriptor? = nil, _ flags: Int32, mode: UInt32 = 0o666
  ) throws(SystemError) -> FileDescriptor {
    let directory = folder?.rawValue ?? AT_FDCWD
    let descriptor = try retryingInterrupts("openat") {
      vf_openat(directory, path, flags | O_CLOEXEC, mode)
    }
    return FileDescriptor(owning: descriptor)
  }

  /// Reads up to `buffer.count` bytes; 0 at the end of the file.
  ///
  /// Wraps `pread(2)`.
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(SystemError) -> Int {
    try retryingInterrupts("pread") {
      pread(rawValue, buffer.baseAddress, buffer.count, Int(offset))
    }
  }

  /// Reads the bytes from `offset` on, at most `count`; fewer only at the end of the file.
  package func bytes(at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      var got = 0
      var failure: SystemError?
      bytes.withUnsafeMutableBytes { buffer in
        do throws(SystemError) {
          got = try read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]),
            at: offset + Int64(filled))
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      if got == 0 { break }
      filled += got
    }
    bytes.removeLast(count - filled)
    return bytes
  }

  /// Writes all of `buffer`.
  ///
  /// Wraps `pwrite(2)`.
  package func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
    var written = 0
    while written < buffer.count {
      guard let base = buffer.baseAddress else { return }
      let start = base + written
      let count = buffer.count - written
      let position = offset + Int64(written)
      written += try retryingInterrupts("pwrite") { pwrite(rawValue, start, count, Int(position)) }
    }
  }

  package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
    var failure: SystemError?
    bytes.withUnsafeBytes { buffer in
      do throws(SystemError) { try write(buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Wraps `fstat(2)`.
  package func status() throws(SystemError) -> FileStatus {
    var result = stat()
    _ = try retryingInterrupts("fstat") { fstat(rawValue, &result) }
    return FileStatus(result)
  }

  package func truncate(to size: Int64) throws(SystemError) {
    _ = try retryingInterrupts("ftruncate") { ftruncate(rawValue, Int(size)) }
  }

  /// Sets the permission bits.
  package func setMode(_ mode: UInt32) throws(SystemError) {
    _ = try retryingInterrupts("fchmod") { fchmod(rawValue, mode & 0o777) }
  }

  /// Waits until data and metadata are on the disk.
  ///
  /// An error is final: a second call would lie.
  package func sync() throws(SystemError) {
    _ = try retryingInterrupts("fsync") { fsync(rawValue) }
  }

  /// Like `sync()`, without metadata that reading does not need.
  package func syncData() throws(SystemError) {
    _ = try retryingInterrupts("fdatasync") { fdatasync(rawValue) }
  }

  /// Gives back the lock that `tryLock()` took.
  ///
  /// Closing does not always do that: a child that is just being made may hold the same open file
  /// until it runs its program.
  package func unlock() { _ = flock(rawValue, LOCK_UN) }

  /// Takes a lock that keeps exclusive ones away, and ends with this descriptor; false where it can't be
  /// had at once.
  package func shareLock() -> Bool { flock(rawValue, LOCK_SH | LOCK_NB) == 0 }

  /// Takes an exclusive lock that ends with this descriptor; false where another process holds it.
  package func tryLock() throws(SystemError) -> Bool {
    do {
      _ = try retryingInterrupts("flock") { flock(rawValue, LOCK_EX | LOCK_NB) }
      return true
    } catch  where error.number == EWOULDBLOCK {
      return false
    }
  }
}
