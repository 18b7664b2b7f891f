import Glibc

/// Tells one start of the system from another.
package enum BootIdentity {
  /// The kernel's random id of this boot; empty where it can't be read, which no record matches.
  package static let current: String = {
    guard
      let file = try? FileDescriptor.open("/proc/sys/kernel/random/boot_id", O_RDONLY),
      let bytes = try? file.bytes(at: 0, count: 64)
    else { return "" }
    return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
  }()
}
