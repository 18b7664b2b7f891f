// A result before it has a name, and the moment it gets one. On the job's thread, but for the
// descriptor, which the remux writes through.

internal import CLinux
package import FetchCore
import Glibc

/// An output that nobody can see until it is published whole.
///
/// Where the file system has `O_TMPFILE`, the file has no name before that, so that nothing is left
/// of it whatever happens to the process; elsewhere it has a hidden one.
package final class OutputFile: Sendable {
  package enum Publication: Sendable, Hashable {
    case published
    /// The name was taken, and nothing was changed.
    case exists
  }

  private static let syncPiece: Int64 = 16 << 20

  package let descriptor: FileDescriptor
  package let folder: Folder
  /// The hidden name, where the file needs one.
  private let hiddenName: String?
  /// The name that it may pass through to replace another; nil for one whose job holds no lock.
  private let stagingName: String?

  private init(
    descriptor: FileDescriptor, folder: Folder, hiddenName: String?, stagingName: String?
  ) {
    self.descriptor = descriptor
    self.folder = folder
    self.hiddenName = hiddenName
    self.stagingName = stagingName
  }

  /// Makes an empty output in the folder that it is going to be published in.
  ///
  /// Whoever makes one that may need a hidden name holds the lock of the stem.
  ///
  /// - Parameters:
  ///   - stem: names the hidden files of this job, such as `.KEY`.
  ///   - isNamed: does without `O_TMPFILE`, as most network file systems have to.
  package static func make(
    in folder: Folder, stem: String, isNamed: Bool = false
  ) throws(FetchError) -> OutputFile {
    let staging = stem + ".new"
    do throws(SystemError) {
      try folder.remove(staging)
    } catch {
      throw error.fetchError("making a file in \(folder.path)")
    }
    if !isNamed, let output = try nameless(in: folder, stagingName: staging) { return output }
    let hidden = stem + ".out"
    do throws(SystemError) {
      try folder.remove(hidden)
      let descriptor = try FileDescriptor.open(
        hidden, in: folder.descriptor, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
      return OutputFile(
        descriptor: descriptor, folder: folder, hiddenName: hidden, stagingName: staging)
    } catch {
      throw error.fetchError("making a file in \(folder.path)")
    }
  }

  /// Makes an empty output that nobody can see, without a name of any kind; nil where this file system
  /// or kernel has no `O_TMPFILE`.
  ///
  /// Needs no lock, and can't replace anything.
  package static func nameless(in folder: Folder) throws(FetchError) -> OutputFile? {
    try nameless(in: folder, stagingName: nil)
  }

  private static func nameless(
    in folder: Folder, stagingName: String?
  ) throws(FetchError) -> OutputFile? {
    guard access("/proc/self/fd", X_OK) == 0 else { return nil }
    do throws(SystemError) {
      let descriptor = try FileDescriptor.open(".", in: folder.descriptor, O_RDWR | vf_O_TMPFILE)
      return OutputFile(
        descriptor: descriptor, folder: folder, hiddenName: nil, stagingName: stagingName)
    } catch {
      if [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(error.number) { return nil }
      throw error.fetchError("making a file in \(folder.path)")
    }
  }

  /// Waits until the content is on the disk.
  ///
  /// - Parameter cancellation: looked at between pieces, so that a slow disk holds up nobody.
  package func sync(_ cancellation: CancellationFlag? = nil) throws(FetchError) {
    do throws(SystemError) {
      let size = try descriptor.status().size
      var offset: Int64 = 0
      while let piece = ByteRange(offset, min(size, offset + Self.syncPiece)) {
        if cancellation?.isCancelled == true { throw SystemError("fsync", errno: ECANCELED) }
        try RangeSync.finish(piece, of: descriptor.rawValue)
        offset = piece.upperBound
      }
      try descriptor.sync()
    } catch {
      if error.number == ECANCELED { throw .cancelled }
      throw error.fetchError("syncing the output in \(folder.path)")
    }
  }

  /// Gives the output its name, atomically, then makes the name durable.
  ///
  /// The content must have been synced. With `replacing`, what had the name is replaced in the same
  /// instant; without, an existing name wins.
  package func publish(as name: String, replacing: Bool) throws(FetchError) -> Publication {
    do throws(SystemError) {
      if replacing {
        try replace(name)
      } else if try !take(name) {
        return .exists
      }
      try syncFolder()
      return .published
    } catch {
      throw error.fetchError("publishing \(folder.path)/\(name)")
    }
  }

  /// Forgets an output that is not to be published; what has no name goes with its descriptor.
  package func discard() {
    if let hiddenName { try? folder.remove(hiddenName) }
    if let stagingName { try? folder.remove(stagingName) }
  }

  private func take(_ name: String) throws(SystemError) -> Bool {
    let directory = folder.descriptor.rawValue
    do throws(SystemError) {
      if let hiddenName {
        try requireOwn(hiddenName)
        do throws(SystemError) {
          _ = try retryingInterrupts("renameat2") {
            vf_rename_noreplace(directory, hiddenName, directory, name)
          }
        } catch  where error.number == EINVAL || error.number == ENOSYS {
          _ = try retryingInterrupts("linkat") {
            linkat(directory, hiddenName, directory, name, 0)
          }
          try folder.remove(hiddenName)
        }
      } else {
        try link(to: name)
      }
      return true
    } catch  where error.number == EEXIST {
      return false
    }
  }

  private func replace(_ name: String) throws(SystemError) {
    let directory = folder.descriptor.rawValue
    let old: String
    if let hiddenName {
      try requireOwn(hiddenName)
      old = hiddenName
    } else {
      guard let stagingName else { throw SystemError("renameat", errno: ENOLCK) }
      old = stagingName
      // A nameless file can't replace a name in one step, so it gets a hidden one first.
      try folder.remove(stagingName)
      try link(to: stagingName)
    }
    do throws(SystemError) {
      _ = try retryingInterrupts("renameat") { renameat(directory, old, directory, name) }
    } catch {
      try folder.remove(old)
      throw error
    }
  }

  /// Fails where another machine took this run for dead and gave the hidden name to an output of its
  /// own, which isn't whole.
  private func requireOwn(_ hidden: String) throws(SystemError) {
    let status = try descriptor.status()
    guard let named = folder.status(of: hidden), named.isSameFile(as: status) else {
      throw SystemError("renameat", errno: ENOENT)
    }
  }

  private func link(to name: String) throws(SystemError) {
    let path = "/proc/self/fd/\(descriptor.rawValue)"
    let directory = folder.descriptor.rawValue
    _ = try retryingInterrupts("linkat") {
      linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW)
    }
  }

  private func syncFolder() throws(SystemError) {
    do throws(SystemError) {
      try folder.descriptor.sync()
    } catch  where error.number == EINVAL || error.number == EROFS {
      // Some network file systems can't sync a folder; they make names durable by themselves.
    }
  }
}
