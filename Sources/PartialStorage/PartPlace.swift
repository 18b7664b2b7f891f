// Where a part's bytes stand: in its file, or in memory as long as a file isn't worth it.

internal import CLinux
import FetchCore
import Glibc

/// The place of a part's bytes.
enum PartPlace: Sendable {
  /// Only here, under no name and no lock.
  case memory(FileDescriptor)
  /// Readers go on with the memory; what comes is written to both.
  case both(memory: FileDescriptor, FileDescriptor)
  case disk(FileDescriptor)

  /// What readers use.
  var readable: FileDescriptor {
    switch self {
    case .memory(let memory), .both(let memory, _): memory
    case .disk(let file): file
    }
  }

  var memory: FileDescriptor? {
    switch self {
    case .memory(let memory), .both(let memory, _): memory
    case .disk: nil
    }
  }

  /// The part's own file, which carries its lock.
  var file: FileDescriptor? {
    switch self {
    case .memory: nil
    case .both(_, let file), .disk(let file): file
    }
  }

  /// What is written beside what readers use.
  var copy: FileDescriptor? {
    guard case .both(_, let file) = self else { return nil }
    return file
  }
}

extension FileDescriptor {
  /// Makes an empty file in memory, which goes with its descriptor.
  ///
  /// Wraps `memfd_create(2)`.
  static func inMemory() throws(SystemError) -> FileDescriptor {
    FileDescriptor(
      owning: try retryingInterrupts("memfd_create") { vf_memory_file("vidfetch-part") })
  }
}
