// Counters in, one honest snapshot out. Pure: the time is given, nothing is read.

import FetchCore

/// How far one job is, made of what its stages count.
///
/// The fraction never falls: after a restart it stands still until it is passed again. It stays
/// below 1, which only a file that is in place can claim.
package struct ProgressModel: Sendable {
  /// What counts as the present when a rate is asked for.
  static let window = Duration.seconds(5)
  /// The largest fraction of an unfinished job; a thousandth is the finest step that anybody sees.
  static let ceiling = 0.999

  private struct Sample {
    var time: Duration
    var received: Int64
  }

  private var samples: [Sample] = []
  private var download = 0.0
  private var export = 0.0
  private var fraction = 0.0

  package init() {}

  /// Takes the counters at one moment and tells how far the job is.
  ///
  /// - Parameters:
  ///   - time: since the job's start; must not fall.
  ///   - present: bytes of the source that are there.
  ///   - received: bytes that came over the network in this run, those that were dropped included.
  ///   - total: the source's size, where known.
  ///   - position: how far into the source the export is.
  package mutating func snapshot(
    stage: ProgressSnapshot.Stage, time: Duration, present: Int64, received: Int64, total: Int64?,
    position: Int64
  ) -> ProgressSnapshot {
    var snapshot = ProgressSnapshot()
    snapshot.stage = stage
    snapshot.bytes = total.map { min(present, $0) } ?? present
    snapshot.total = total
    snapshot.rate = rate(at: time, received: received)
    if let total, total > 0 {
      download = max(download, min(1, Double(present) / Double(total)))
      export = max(export, min(1, Double(position) / Double(total)))
      fraction = max(fraction, min(Self.ceiling, (download + export) / 2))
      snapshot.download = download
      snapshot.export = export
      snapshot.fraction = fraction
      if let rate = snapshot.rate, rate >= 1, present < total {
        snapshot.eta = Double(total - present) / rate
      }
    }
    return snapshot
  }

  /// Bytes a second over the window; nil until a quarter of a second has been seen.
  private mutating func rate(at time: Duration, received: Int64) -> Double? {
    samples.append(Sample(time: time, received: received))
    // One sample from before the window stays, so that the window is always covered.
    let edge = time - Self.window
    if let first = samples.lastIndex(where: { $0.time <= edge }), first > 0 {
      samples.removeFirst(first)
    }
    guard let first = samples.first else { return nil }
    let elapsed = (time - first.time) / .seconds(1)
    guard elapsed >= 0.25 else { return nil }
    return max(0, Double(received - first.received) / elapsed)
  }
}
