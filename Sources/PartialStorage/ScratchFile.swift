// Bytes of a resource that are only looked at: a file with holes that has no name, so that nothing is
// left of it however the process ends. The transfer thread writes, others read what was announced.

internal import CLinux
package import FetchCore
import Glibc

/// A nameless file, and which bytes of it are there.
package final class ScratchFile: ByteSink {
  private struct State {
    var present = ByteRangeSet()
    var received: Int64 = 0
    var onPresent: (@Sendable (ByteRange) -> Void)?
  }

  package let descriptor: FileDescriptor
  private let state = Locked(State())

  /// Makes an empty one.
  ///
  /// - Parameter folder: the path of one that exists, such as `/tmp`.
  package init(in folder: String) throws(FetchError) {
    do throws(SystemError) {
      descriptor = try Self.make(in: folder)
    } catch {
      throw error.fetchError("making a file in \(folder)")
    }
  }

  /// The bytes that are there.
  package var present: ByteRangeSet { state.withLock { $0.present } }

  /// Bytes that were written, those that came twice counted twice.
  package var received: Int64 { state.withLock { $0.received } }

  /// Calls `onPresent` on the transfer thread for each range that can be read from now on.
  package func announce(to onPresent: @escaping @Sendable (ByteRange) -> Void) {
    state.withLock { $0.onPresent = onPresent }
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FetchError) {
    guard let range = ByteRange(offset: offset, count: Int64(bytes.count)) else { return }
    do throws(SystemError) {
      try descriptor.write(bytes, at: offset)
    } catch {
      throw error.fetchError("writing what is read of the source")
    }
    let onPresent = state.withLock { state in
      state.present.insert(range)
      state.received += range.count
      return state.onPresent
    }
    onPresent?(range)
  }

  private static func make(in folder: String) throws(SystemError) -> FileDescriptor {
    do throws(SystemError) {
      return try FileDescriptor.open(folder, O_RDWR | O_EXCL | vf_O_TMPFILE, mode: 0o600)
    } catch  where [EOPNOTSUPP, EISDIR, EINVAL].contains(error.number) {
      return try makeNamed(in: folder)
    }
  }

  /// For file systems without `O_TMPFILE`: there the file has a name for an instant.
  private static func makeNamed(in folder: String) throws(SystemError) -> FileDescriptor {
    for _ in 0..<100 {
      let path = "\(folder)/.vidfetch-\(String(UInt64.random(in: .min ... .max), radix: 16))"
      do throws(SystemError) {
        let file = try FileDescriptor.open(
          path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        unlink(path)
        return file
      } catch  where error.number == EEXIST {}
    }
    throw SystemError("open", errno: EEXIST)
  }
}
