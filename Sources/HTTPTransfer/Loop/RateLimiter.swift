// How fast bytes may come. libcurl's own limit (CURLOPT_MAX_RECV_SPEED_LARGE) looks at the clock only
// after it has read all that is there, so that a short file or a fast start knows no limit; this one
// counts every piece, and several exchanges can share it.

import FetchCore

/// A limit in bytes a second, for one exchange or for several together; any thread.
package final class RateLimiter: Sendable {
  private let bucket: Monitor<TokenBucket>

  /// - Parameter bytesPerSecond: nil for no limit.
  package init(_ bytesPerSecond: Int64?) { bucket = Monitor(TokenBucket(rate: bytesPerSecond)) }

  /// Changes the limit; nil takes it away.
  package func setRate(_ bytesPerSecond: Int64?) { bucket.withLock { $0.rate = bytesPerSecond } }

  /// The limit.
  package var rate: Int64? { bucket.peek { $0.rate } }

  /// Counts bytes that came; returns the nanoseconds to let pass before any more.
  func take(_ count: Int, now: Int64) -> Int64 { bucket.withLock { $0.take(count, now: now) } }
}

/// Bytes that may come, filled by time, emptied by bytes; it may fall below zero.
struct TokenBucket: Sendable {
  /// Bytes a second; nil for no limit.
  var rate: Int64?
  private var balance = 0.0
  private var last: Int64?

  init(rate: Int64?) { self.rate = rate }

  /// Counts bytes that came at `now`; returns the nanoseconds until the balance is even again.
  mutating func take(_ count: Int, now: Int64) -> Int64 {
    guard let rate, rate > 0 else { return 0 }
    let speed = Double(rate)
    let elapsed = Double(max(0, now - (last ?? now))) / 1e9
    last = now
    // A tenth of a second may be saved up, so that a late wake-up isn't lost.
    balance = min(balance + elapsed * speed, speed / 10) - Double(count)
    guard balance < 0 else { return 0 }
    return Int64(min(-balance / speed, 3600) * 1e9)
  }
}
