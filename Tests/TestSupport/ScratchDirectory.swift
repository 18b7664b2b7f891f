// A folder that is there for one test and gone after it.

private import FetchCore
package import Foundation

/// A new, empty folder under the system's temp directory, removed with the value.
package final class ScratchDirectory: Sendable {
  /// Absolute, without links in it.
  package let path: String

  package init() throws {
    var template = Array("/tmp/vidfetch-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ProcessTrouble.cannotStart("mkdtemp", errno) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // A value that a static holds is never released.
    removeAtExit(path)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
    foldersToRemove.withLock { [path] in _ = $0.remove(path) }
  }

  /// The path of `name` inside.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Makes a folder inside and returns its path.
  package func folder(_ name: String, mode: mode_t = 0o755) throws -> String {
    let made = file(name)
    try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
    chmod(made, mode)
    return made
  }

  /// Writes a file inside and returns its path.
  @discardableResult
  package func write(_ name: String, _ text: String) throws -> String {
    try text.write(toFile: file(name), atomically: false, encoding: .utf8)
    return file(name)
  }

  /// The names in a folder inside, hidden ones too, sorted.
  package func names(in folder: String = ".") -> [String] {
    folderNames(file(folder))
  }
}

/// The names in a folder, hidden ones too, sorted; none if there is no such folder.
package func folderNames(_ path: String) -> [String] {
  ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
}

/// Every path below a folder that is not a folder itself, relative and sorted.
package func filesBelow(_ path: String) -> [String] {
  let paths = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
  return paths.filter { name in
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
      && !isFolder.boolValue
  }.sorted()
}

/// The size of a file in bytes; nil where there is none.
package func fileSize(_ path: String) -> Int? {
  var status = stat()
  return lstat(path, &status) == 0 ? Int(status.st_size) : nil
}

/// The whole of a file; empty where there is none.
package func fileBytes(_ path: String) -> Data {
  FileManager.default.contents(atPath: path) ?? Data()
}

/// Removes a folder when the process exits normally.
///
/// The paths are handed over through a global because atexit(3) calls back without a context.
func removeAtExit(_ path: String) {
  foldersToRemove.withLock { _ = $0.insert(path) }
  _ = removalAtExit
}

/// Asks for the removal once.
private let removalAtExit = atexit {
  for path in foldersToRemove.withLock({ $0 }) {
    try? FileManager.default.removeItem(atPath: path)
  }
}

private let foldersToRemove = Locked<Set<String>>([])
