// What the machine gives this process. Thin: two system calls.

import Glibc

enum Processors {
  /// Descriptors and memory of an item, so that many of them don't run out of either.
  private static let descriptorsPerJob = 16

  /// Processors that are there, at least 1.
  static var available: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// The most items side by side that are tried unasked.
  static var mostJobs: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return 8 }
    return max(1, min(32, (Int(clamping: limit.rlim_cur) - 64) / descriptorsPerJob))
  }

  /// Raises the limit of descriptors for so many items side by side, as far as the process may.
  static func allowDescriptors(jobs: Int) {
    var limit = rlimit()
    let wanted = rlim_t(64 + jobs * descriptorsPerJob)
    guard getrlimit(__rlimit_resource_t(7), &limit) == 0, limit.rlim_cur < wanted else { return }
    limit.rlim_cur = min(wanted, limit.rlim_max)
    setrlimit(__rlimit_resource_t(7), &limit)
  }

  /// Processor time that the process has used so far, user and system.
  static var timeUsed: Duration {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(.zero) {
      $0 + .seconds($1.tv_sec) + .microseconds($1.tv_usec)
    }
  }
}
