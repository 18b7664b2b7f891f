// A small file system of a chosen kind, mounted for one test. What it needs of the machine is asked
// once, so that tests are skipped by name elsewhere.

private import Foundation

/// A mounted file system, unmounted with the value.
package final class MountedDisk: Sendable {
  package enum Kind: String, Sendable, CaseIterable, Hashable {
    case tmpfs
    /// In a file, through a loop device.
    case ext4
  }

  package let path: String
  private let scratch: ScratchDirectory

  /// Whether this machine lets us have one.
  package static func isPossible(_ kind: Kind) -> Bool { possible.contains(kind) }

  private static let possible = Set(
    Kind.allCases.filter { kind in
      geteuid() == 0 && (try? MountedDisk(kind, megabytes: 16)) != nil
    })

  package init(_ kind: Kind, megabytes: Int) throws {
    scratch = try ScratchDirectory()
    path = try scratch.folder("disk")
    switch kind {
    case .tmpfs:
      try outputOfTool(["mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "none", path])
    case .ext4:
      let image = scratch.file("image")
      try outputOfTool(["truncate", "-s", "\(megabytes)M", image])
      try outputOfTool(["mkfs.ext4", "-q", "-F", "-b", "4096", image])
      try outputOfTool(["mount", "-o", "loop", image, path])
    }
  }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  deinit { _ = try? runTool(["umount", "-l", path]) }
}
