// Time that nobody sets, as nanoseconds; and the date, where HTTP needs it.

import Glibc

enum Monotonic {
  /// Nanoseconds of CLOCK_MONOTONIC.
  static var now: Int64 { read(CLOCK_MONOTONIC) }

  /// Seconds since 1970.
  static var date: Int64 { read(CLOCK_REALTIME) / 1_000_000_000 }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  static func nanoseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    // About 292 years fit; more is for ever as well.
    return min(seconds, 9_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  static func milliseconds(_ duration: Duration) -> Int64 {
    min(nanoseconds(duration) / 1_000_000, Int64(Int32.max))
  }
}
