// Time and chance, as a transfer's decisions need them. Tests give their own, and don't wait.

import FetchCore

/// Where a transfer's decisions get the time and their jitter from.
package struct TransferClock: Sendable {
  /// Nanoseconds that never go back.
  package var now: @Sendable () -> Int64
  /// Seconds since 1970.
  package var date: @Sendable () -> Int64
  /// 0 up to 1, evenly spread.
  package var jitter: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Int64, date: @escaping @Sendable () -> Int64,
    jitter: @escaping @Sendable () -> Double
  ) {
    self.now = now
    self.date = date
    self.jitter = jitter
  }

  /// The system's.
  package static let system = TransferClock(
    now: { Monotonic.now }, date: { WallClock.seconds() },
    jitter: { Double.random(in: 0..<1) })
}
