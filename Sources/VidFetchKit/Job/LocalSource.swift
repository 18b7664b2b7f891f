// A source on this machine, read in place.

import FetchCore
import PartialStorage

enum LocalSource {
  /// Opens a file for reading.
  ///
  /// - Throws: `.notFound` where there is none, `.refused` for what is no regular file.
  static func open(_ path: String) throws(FetchError) -> (FileDescriptor, FileStatus) {
    let file: FileDescriptor
    let status: FileStatus
    do throws(SystemError) {
      // Opened so that a pipe does not wait for a writer.
      file = try FileDescriptor.open(path, FileDescriptor.readOnlyNonBlocking)
      status = try file.status()
    } catch {
      if error.isMissingFile {
        throw FetchError(
          .notFound, "there is no such file",
          recovery: SourceAddress.suggestion(forMissing: path) ?? "check the path")
      }
      throw FetchError(
        error.isDenied ? .denied : .localIO, "it can't be read: \(error.text)",
        recovery: "check its permissions")
    }
    guard status.isRegularFile else {
      throw FetchError(
        .refused, status.isFolder ? "it is a folder" : "it is no regular file",
        recovery: "name a file or an http(s) URL")
    }
    return (file, status)
  }

  /// Fails with `.refused` where a file is larger than allowed.
  static func check(_ status: FileStatus, limit: Int64?) throws(FetchError) {
    guard let limit, status.size > limit else { return }
    throw FetchError(
      .refused, "the file has \(status.size) bytes, more than the \(limit) that are allowed",
      recovery: "raise --max-filesize")
  }

  /// Tells versions of a file apart, as an entity tag would (RFC 9110 8.8.1): by time and size, so
  /// it is a weak one.
  static func tag(of status: FileStatus) -> String {
    "W/\"\(String(status.modified, radix: 16))-\(String(status.size, radix: 16))\""
  }

  /// Names the hidden files of a job that reads `path`.
  static func key(of path: String) -> ResourceKey {
    ResourceKey(normalizedURL: normalized(path))
  }

  /// A path in the form that stands for the file, whatever way it is written.
  static func normalized(_ path: String) -> String { "file://" + Folder.absolute(path) }
}
