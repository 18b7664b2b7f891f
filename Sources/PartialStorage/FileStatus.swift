import Glibc

/// What `stat(2)` tells about a file, as far as it matters here.
package struct FileStatus: Sendable, Hashable {
  package let device: UInt64
  package let inode: UInt64
  package let size: Int64
  /// Modification time in nanoseconds since 1970.
  package let modified: Int64
  package let owner: UInt32
  /// Type and permission bits.
  package let mode: UInt32

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    owner = status.st_uid
    mode = status.st_mode
  }

  package var isRegularFile: Bool { mode & S_IFMT == S_IFREG }

  package var isFolder: Bool { mode & S_IFMT == S_IFDIR }

  /// Whether both stand for one file, by whatever names.
  package func isSameFile(as other: FileStatus) -> Bool {
    device == other.device && inode == other.inode
  }
}
