// Which file systems an archive can stand on. In WAL mode all processes share memory that is mapped
// from a file, and rely on fcntl(2) locks: both hold between processes of one machine only, and on
// network and cluster file systems not always even there (sqlite.org/wal.html, section 1).

internal import CSQLite
package import FetchCore
import Glibc

/// The kind of file system that a folder stands on.
package struct FileSystem: Sendable, Hashable {
  /// `f_type` of statfs(2).
  package var magic: UInt32
  /// The type as the mount table has it, such as `fuse.sshfs`; asked for only where it matters.
  package var mountType: String?

  package init(magic: UInt32, mountType: String? = nil) {
    self.magic = magic
    self.mountType = mountType
  }

  /// Its name where an archive isn't safe on it; nil where it is.
  package var unsafeName: String? {
    if magic == Self.fuse {
      // A file system on a disk of this machine, such as NTFS.
      if mountType == "fuseblk" { return nil }
      guard let mountType, mountType != "fuse" else { return "FUSE" }
      return mountType.hasPrefix("fuse.")
        ? "FUSE (\(mountType.dropFirst("fuse.".count)))" : "FUSE (\(mountType))"
    }
    return Self.unsafe[magic]
  }

  static let fuse: UInt32 = 0x6573_5546

  /// linux/magic.h, and the file systems' own sources.
  private static let unsafe: [UInt32: String] = [
    0x0000_6969: "NFS",
    0x0000_517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB",
    0x0BD0_0BD0: "Lustre",
    0x4750_4653: "GPFS",
    0x00C3_6400: "Ceph",
    0x5346_414F: "AFS", 0x6B41_4653: "AFS",
    0x7375_7245: "Coda",
    0x0102_1997: "9p",
    0x0116_1970: "GFS2",
    0x7461_636F: "OCFS2",
    0x1983_0326: "BeeGFS",
    0x2003_0528: "OrangeFS",
    0xAAD7_AAEA: "PanFS",
    0x1803_1977: "WekaFS",
    0xBACB_ACBC: "a VMware shared folder",
    0x786F_4256: "a VirtualBox shared folder",
  ]

  /// Asks the system for the file system that a path stands on.
  package static func holding(_ path: String) throws(SystemError) -> FileSystem {
    errno = 0
    let magic = vf_file_system_magic(path)
    guard magic != 0 || errno == 0 else { throw SystemError.last("statfs") }
    guard magic == fuse else { return FileSystem(magic: magic) }
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemError.last("stat") }
    let device = UInt64(status.st_dev)
    return FileSystem(
      magic: magic,
      mountType: mountTable().flatMap {
        mountType(major: vf_device_major(device), minor: vf_device_minor(device), in: $0)
      })
  }

  /// The type of a device's file system in the text of `/proc/self/mountinfo` (proc(5)).
  static func mountType(major: UInt32, minor: UInt32, in table: String) -> String? {
    for line in table.split(separator: "\n") {
      let fields = line.split(separator: " ")
      // Optional fields end with a hyphen; the type follows it.
      guard fields.count > 6, fields[2] == "\(major):\(minor)",
        let hyphen = fields[6...].firstIndex(of: "-"), hyphen + 1 < fields.count
      else { continue }
      return String(fields[hyphen + 1])
    }
    return nil
  }

  private static func mountTable() -> String? {
    guard let file = fopen("/proc/self/mountinfo", "re") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < 1 << 24 {
      let count = fread(&block, 1, block.count, file)
      guard count > 0 else { break }
      bytes += block[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
