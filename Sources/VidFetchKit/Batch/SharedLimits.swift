// What the jobs of one batch have in common: one rate for all of them, and the patience that a host
// has asked of one.

import FetchCore
import HTTPTransfer
import PartialStorage

/// Limits that several jobs keep together; any thread.
package final class SharedLimits: Sendable {
  let rate: RateLimiter
  /// Hashes of paths, and of the sources whose results they are.
  private let claims = Locked<[UInt64: UInt64]>([:])
  private let pauses = Locked<[String: ContinuousClock.Instant]>([:])

  /// - Parameter bytesPerSecond: over all jobs; nil for no limit.
  package init(bytesPerSecond: Int64?) { rate = RateLimiter(bytesPerSecond) }

  /// Takes a path for one item's result; false where another item has it already.
  ///
  /// For runs that may replace or skip what exists: what another item has just made is neither old
  /// nor in the way.
  func claim(_ path: String, for key: ResourceKey) -> Bool {
    let name = SourceIdentity.hash(of: path)
    let owner = SourceIdentity.hash(of: key.digest)
    return claims.withLock { claims in
      if let other = claims[name] { return other == owner }
      claims[name] = owner
      return true
    }
  }

  /// Whether another item of the run has made the file at this path.
  func isClaimed(_ path: String, against key: ResourceKey) -> Bool {
    let name = SourceIdentity.hash(of: path)
    let owner = SourceIdentity.hash(of: key.digest)
    return claims.withLock { $0[name].map { $0 != owner } ?? false }
  }

  /// Notes that a host has asked to be left alone for so long (RFC 9110 10.2.3).
  func pause(_ host: String, for time: Duration) {
    let end = ContinuousClock.now + time
    pauses.withLock { pauses in
      pauses[host] = max(pauses[host] ?? end, end)
    }
  }

  /// How long a host still is to be left alone; zero where it isn't.
  package func pauseLeft(of host: String) -> Duration {
    pauses.withLock { pauses in
      guard let end = pauses[host] else { return .zero }
      let left = ContinuousClock.now.duration(to: end)
      if left <= .zero { pauses[host] = nil }
      return max(left, .zero)
    }
  }
}
