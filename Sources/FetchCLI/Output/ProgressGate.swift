// Decides which snapshots are shown: the first one says 0, the fraction never falls and stays below 1,
// and at most ten a second pass. Pure; the clock is the caller's.

package import VidFetchKit

/// The gate that one item's snapshots pass.
package struct ProgressGate: Sendable {
  package static let interval = Duration.milliseconds(100)

  private var lastShown: Duration?
  private var highest: Double?
  private var pending: ProgressSnapshot?

  package init() {}

  /// The last fraction that was let through.
  package var fraction: Double? { highest }

  /// Whether a snapshot waits for its turn.
  package var hasPending: Bool { pending != nil }

  /// Takes a snapshot; returns those to show now, which is none where the last one is too recent.
  package mutating func admit(
    _ snapshot: ProgressSnapshot, at now: Duration
  ) -> [ProgressSnapshot] {
    pending = snapshot
    guard lastShown == nil else { return release(at: now).map { [$0] } ?? [] }
    lastShown = now
    highest = 0
    if snapshot.fraction == 0 {
      pending = nil
      return [snapshot]
    }
    // What a reader sees first is 0, whatever came first here; the rest follows in its turn.
    var first = ProgressSnapshot()
    first.fraction = 0
    first.total = snapshot.total
    return [first]
  }

  /// The snapshot that waits, where its turn has come.
  package mutating func release(at now: Duration) -> ProgressSnapshot? {
    guard var snapshot = pending else { return nil }
    if let lastShown, now - lastShown < Self.interval { return nil }
    pending = nil
    lastShown = now
    if let fraction = snapshot.fraction {
      let known = fraction.isFinite ? fraction : 0
      let shown = max(highest ?? 0, min(max(known, 0), 1.0.nextDown))
      snapshot.fraction = shown
      highest = shown
    }
    return snapshot
  }
}
