import Glibc

/// The time of day, for what others wrote as a date; durations are never taken from it.
package enum WallClock {
  /// Seconds since 1970.
  package static func seconds() -> Int64 { Int64(time(nil)) }
}
