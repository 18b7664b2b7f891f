// Who holds a part: which machine, and which start of it. On a file system that several machines
// share, a lock may mean nothing to the others, so the record says it too.

import Glibc

/// Tells one running system from another.
package struct HostIdentity: Sendable, Hashable, Codable {
  /// Stays the same when the machine starts anew; no two machines that share a disk have the same.
  package var machine: String
  /// The kernel's random id of this boot; empty where it can't be read.
  package var boot: String

  package init(machine: String, boot: String) {
    self.machine = machine
    self.boot = boot
  }

  /// This system.
  ///
  /// Names repeat where nobody chose them, and machine ids where an image was copied; both together
  /// hardly do. They stand as a digest, since machine-id(5) asks not to publish it.
  package static let current: HostIdentity = {
    var names = utsname()
    uname(&names)
    let name = withUnsafeBytes(of: &names.nodename) { Array($0.prefix { $0 != 0 }) }
    let id = content(of: "/etc/machine-id")
    let digest = SHA256.hexDigest(of: Array("vidfetch \(id) ".utf8) + name)
    return HostIdentity(machine: String(digest.prefix(16)), boot: BootIdentity.current)
  }()

  /// Whether both are one machine, before and after a boot or in two containers of one kernel.
  package func isSameMachine(as other: HostIdentity) -> Bool {
    machine == other.machine || (boot == other.boot && !boot.isEmpty)
  }

  private static func content(of path: String) -> String {
    guard let file = try? FileDescriptor.open(path, O_RDONLY | O_NONBLOCK),
      let bytes = try? file.bytes(at: 0, count: 64)
    else { return "" }
    return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
  }
}
