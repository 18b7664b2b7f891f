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
  /// How many names it has.
  package let links: UInt64

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    owner = status.st_uid
    mode = status.st_mode
    links = UInt64(status.st_nlink)
  }

  package var isRegularFile: Bool { mode & S_IFMT == S_IFREG }

  package var isFolder: Bool { mode & S_IFMT == S_IFDIR }

  /// Whether it is this user's.
  package var isOwn: Bool { owner == geteuid() }

  /// Whether it is a plain file of this user's that nobody else can write to, by no other name.
  package var isPrivate: Bool {
    isRegularFile && isOwn && links == 1 && mode & UInt32(S_IWGRP | S_IWOTH) == 0
  }

  /// Whether both stand for one file, by whatever names.
  package func isSameFile(as other: FileStatus) -> Bool {
    device == other.device && inode == other.inode
  }
}
