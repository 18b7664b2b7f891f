// Where an archive may stand: a regular file, or a name that is free, on a file system of this machine.

import FetchCore
import Glibc

enum ArchivePlace {
  private enum Finding: Hashable {
    case file
    case nothing
    /// A file that is too short for the head of any database, but not empty.
    case scrap
    case other
  }

  /// - Throws: `.output` where the path can't be an archive's.
  static func check(
    _ path: String, _ fileSystem: (String) throws(SystemError) -> FileSystem
  ) throws(FetchError) {
    let (place, holding): (Finding, FileSystem)
    do throws(SystemError) {
      place = try look(path)
      holding = try fileSystem(place == .nothing ? parent(of: path) : path)
    } catch {
      throw error.fetchError("opening the archive \(path)")
    }
    guard place != .other else {
      throw FetchError(
        .output, "the archive \(path) is no regular file", recovery: "give it another name")
    }
    // Here, since SQLite takes a file of one byte for an empty one.
    guard place != .scrap else { throw ArchiveOpening.Obstacle.otherFile.error(path) }
    guard let name = holding.unsafeName else { return }
    throw FetchError(
      .output, "the archive \(path) would stand on \(name)",
      reason: "the locks and the shared memory of its database are safe on a local disk only",
      recovery: "put it on a local disk, or give each machine an archive of its own and collect "
        + "what happened by --results")
  }

  private static func look(_ path: String) throws(SystemError) -> Finding {
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFREG else { return .other }
      return (1..<ArchiveOpening.headSize).contains(Int(status.st_size)) ? .scrap : .file
    }
    guard errno == ENOENT else { throw SystemError.last("stat") }
    // A link that leads nowhere would have the file made wherever it points.
    return lstat(path, &status) == 0 ? .other : .nothing
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// The path from the root on.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    return String(cString: current) + "/" + path
  }
}
