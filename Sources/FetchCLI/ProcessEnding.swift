// How the process ends, and the one place where it does.

import CLinux
import Glibc

/// The end of a run.
package enum ProcessEnding: Sendable, Hashable {
  case exit(Int32)
  /// The signal is raised again, so that the caller sees a death by it.
  case signal(Int32)

  /// Ends the process.
  ///
  /// Any thread.
  ///
  /// Everything of ours has been written by then, and other threads may still be in C libraries
  /// whose atexit(3) handlers would pull the floor from under them: so none are run.
  package func end() -> Never {
    switch self {
    case .exit(let status): _exit(status)
    case .signal(let number):
      Glibc.signal(number, SIG_DFL)
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, number)
      pthread_sigmask(SIG_UNBLOCK, &set, nil)
      kill(getpid(), number)
      // Reached where the signal can't kill, as for the first process of a container.
      _exit(128 + number)
    }
  }
}

/// Preparations that a process needs before it opens anything.
enum ProcessStart {
  /// Opens /dev/null for each of the three standard descriptors that is closed, so that no file of
  /// ours gets its number.
  static func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest free number is this one, since those below are open by now.
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// Keeps what an item gives back for the next one: without it each gets its memory from the kernel
  /// anew, three hundred page faults for a small file.
  static func keepFreedMemory() {
    vf_keep_freed_memory(32 << 20, 4 << 20, 1 << 20)
  }

  /// Makes a write to a closed pipe, or beyond the limit of a file's size, an error instead of the
  /// end.
  static func ignoreWriteSignals() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    // A parent that ignores its children's end hands that on, and ours would leave no status.
    signal(SIGCHLD, SIG_DFL)
  }
}
