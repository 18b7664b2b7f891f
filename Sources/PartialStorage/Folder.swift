// A folder that results and parts live in. Everything in it is reached through its descriptor, so
// that a folder swapped for a symbolic link half-way changes nothing.

internal import CLinux
package import FetchCore
import Glibc

/// An open folder.
package final class Folder: Sendable {
  package let descriptor: FileDescriptor
  /// As it was asked for, made absolute; for messages and results.
  package let path: String
  /// The folders that had to be made, outermost first.
  private let made: [String]
  /// Whether no run that made this folder removes it while this object lives, be it empty.
  let isHeld: Bool

  private init(descriptor: FileDescriptor, path: String, made: [String]) {
    self.descriptor = descriptor
    self.path = path
    self.made = made
    isHeld = descriptor.shareLock()
  }

  /// Opens a folder that must exist.
  ///
  /// - Throws: `.output` where it is missing, no folder, or can't be searched.
  package static func existing(_ path: String) throws(FetchError) -> Folder {
    do throws(SystemError) {
      let descriptor = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
      return Folder(descriptor: descriptor, path: absolute(path), made: [])
    } catch {
      var failure = error.fetchError("opening the folder \(path)")
      if error.number == ENOENT {
        failure = FetchError(
          .output, "the folder \(path) does not exist", recovery: "make it, or use -d, which does")
      }
      throw failure
    }
  }

  /// Opens a folder, making it and its parents where they are missing.
  package static func made(_ path: String) throws(FetchError) -> Folder {
    let whole = absolute(path)
    var missing: [String] = []
    var prefix = whole
    while access(prefix, F_OK) != 0, errno == ENOENT, prefix != "/" {
      missing.insert(prefix, at: 0)
      prefix = parent(of: prefix)
    }
    var made: [String] = []
    for folder in missing {
      if mkdir(folder, 0o777) == 0 {
        made.append(folder)
      } else if errno != EEXIST {
        let failure = SystemError.last("mkdir").fetchError("making the folder \(folder)")
        for folder in made.reversed() { rmdir(folder) }
        throw failure
      }
    }
    let folder = try existing(whole)
    return Folder(descriptor: folder.descriptor, path: folder.path, made: made)
  }

  /// Opens the private folder under the temp directory: `vidfetch-UID`, mode 0700, owned by us.
  ///
  /// - Throws: `.output` where something else stands there, since anybody can write to `/tmp`.
  package static func privateTemporary(in temporary: String) throws(FetchError) -> Folder {
    let path = absolute(temporary) + "/vidfetch-\(geteuid())"
    var wasMade = false
    if mkdir(path, 0o700) == 0 {
      wasMade = true
    } else if errno != EEXIST {
      throw SystemError.last("mkdir").fetchError("making the folder \(path)")
    }
    do throws(SystemError) {
      let descriptor = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      let status = try descriptor.status()
      guard status.owner == geteuid(), status.mode & 0o077 == 0 else {
        throw SystemError("open", errno: EPERM)
      }
      return Folder(descriptor: descriptor, path: path, made: wasMade ? [path] : [])
    } catch {
      throw FetchError(
        .output, "\(path) is not a private folder of this user",
        reason: "it must be a folder, owned by this user, with mode 0700",
        recovery: "remove it, or use -o or -d")
    }
  }

  /// Removes the folders that this object made, where they are empty and nobody is about to put
  /// something into them; to be called when this object is needed no more.
  package func removeIfMadeAndEmpty() {
    guard !made.isEmpty else { return }
    descriptor.unlock()
    for folder in made.reversed() {
      let held = try? FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      // Where a folder can't be locked at all, it is only its being empty that counts.
      guard let held, (try? held.tryLock()) ?? true, rmdir(folder) == 0 else { return }
    }
  }

  /// Whether a name is taken, by whatever it is.
  package func contains(_ name: String) -> Bool { status(of: name) != nil }

  /// What stands under a name, symbolic links not followed; nil where nothing does.
  package func status(of name: String) -> FileStatus? {
    var result = stat()
    return fstatat(descriptor.rawValue, name, &result, AT_SYMLINK_NOFOLLOW) == 0
      ? FileStatus(result) : nil
  }

  /// What stands behind a name, symbolic links followed; nil where nothing does.
  package func resolvedStatus(of name: String) -> FileStatus? {
    var result = stat()
    return fstatat(descriptor.rawValue, name, &result, 0) == 0 ? FileStatus(result) : nil
  }

  /// Whether the folder itself has been removed under us.
  package var isGone: Bool { (try? descriptor.status().links) == 0 }

  /// Whether a file that was found here can be taken for one that this user made.
  ///
  /// Some file systems (FAT, CIFS, FUSE) show every file with one owner and one mode; there, what
  /// looks like a file that has just been made here is as good as any.
  package func trusts(_ status: FileStatus) -> Bool {
    if status.isPrivate { return true }
    guard status.isRegularFile, let own = lookOfOwnFile(), !own.isPrivate else { return false }
    return status.owner == own.owner && status.mode == own.mode && status.links <= own.links
  }

  /// The file system's own time, in nanoseconds since 1970; on a shared one that is the server's.
  package func now() -> Int64? { lookOfOwnFile()?.modified }

  /// How a file of this user's looks here that nobody else may read or write.
  private func lookOfOwnFile() -> FileStatus? {
    // Other threads and other machines look as well.
    let name = ".vidfetch-look-\(UInt64.random(in: .min ... .max))"
    guard
      let file = try? FileDescriptor.open(
        name, in: descriptor, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    else { return nil }
    defer { try? remove(name) }
    return try? file.status()
  }

  /// Removes a name; one that is not there counts as removed.
  package func remove(_ name: String) throws(SystemError) {
    do {
      _ = try retryingInterrupts("unlinkat") { unlinkat(descriptor.rawValue, name, 0) }
    } catch  where error.number == ENOENT {}
  }

  /// Bytes that this user can still write.
  package func availableBytes() throws(SystemError) -> Int64 {
    var result = statvfs()
    _ = try retryingInterrupts("fstatvfs") { fstatvfs(descriptor.rawValue, &result) }
    let (bytes, overflow) = Int64(clamping: result.f_bavail)
      .multipliedReportingOverflow(by: Int64(clamping: result.f_frsize))
    return overflow ? .max : bytes
  }

  /// Fails before any byte is written where nothing can be made here.
  package func requireWritable() throws(FetchError) {
    guard faccessat(descriptor.rawValue, ".", W_OK | X_OK, AT_EACCESS) != 0 else { return }
    throw SystemError.last("faccessat").fetchError("preparing to write to the folder \(path)")
  }

  package static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The path from the root on, without the components that say nothing.
  package static func absolute(_ path: String) -> String {
    var whole = path
    if !path.hasPrefix("/"), let current = getcwd(nil, 0) {
      defer { free(current) }
      whole = String(cString: current) + "/" + path
    }
    // `..` stays: what it means depends on symbolic links.
    let components = whole.split(separator: "/").filter { $0 != "." }
    return "/" + components.joined(separator: "/")
  }
}
