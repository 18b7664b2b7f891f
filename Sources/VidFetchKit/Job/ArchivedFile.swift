// Whether a file that an archive knows is still there and whole. The decision is pure; the look at the
// file blocks.

import FetchCore
import PartialStorage
import VideoArchive

/// A finished file as it was recorded.
struct ArchivedFile: Sendable, Hashable {
  enum State: Sendable, Hashable {
    case whole
    /// Its content is as it was, and its modification time is now this.
    case touched(modified: Int64)
    case gone
    case changed
  }

  /// What size and time alone tell.
  enum Judgement: Sendable, Hashable {
    case settled(State)
    /// Only the content can tell: it must have this SHA-256.
    case compares(sha256: String)
  }

  let path: String
  let size: Int64
  /// In nanoseconds since 1970.
  let modified: Int64
  let sha256: String?

  init(_ entry: ArchiveEntry) {
    path = entry.path
    size = entry.size
    modified = entry.modified
    sha256 = entry.sha256
  }

  /// Decides by what stands under the path; `size` is nil where that is no regular file.
  func judge(size: Int64?, modified: Int64) -> Judgement {
    guard size == self.size else { return .settled(.changed) }
    if modified == self.modified { return .settled(.whole) }
    // Copied back, or touched: its time tells nothing then.
    return sha256.map { .compares(sha256: $0) } ?? .settled(.changed)
  }

  /// Looks at the file.
  ///
  /// - Throws: where it is to be read and can't be, or when cancelled.
  func look(_ cancellation: CancellationFlag? = nil) throws(FetchError) -> State {
    let file: FileDescriptor
    let status: FileStatus
    do throws(SystemError) {
      file = try FileDescriptor.open(path, FileDescriptor.readOnlyNonBlocking)
      status = try file.status()
    } catch {
      return error.isMissingFile ? .gone : .changed
    }
    switch judge(size: status.isRegularFile ? status.size : nil, modified: status.modified) {
    case .settled(let state): return state
    case .compares(let wanted):
      let found = try SHA256.hexDigest(of: file, cancellation)
      return found == wanted ? .touched(modified: status.modified) : .changed
    }
  }
}
