// How fast a batch's bytes came lately. Pure.

/// A rate over the last seconds.
struct BatchRate {
  private static let span = Duration.seconds(5)

  private var samples: [(time: Duration, bytes: Int64)] = []

  /// Takes what has arrived by now; nil before there is anything to measure.
  mutating func rate(of bytes: Int64, at now: Duration) -> Double? {
    // An item that begins anew takes its bytes back.
    if let last = samples.last, bytes < last.bytes { samples = [] }
    if samples.last.map({ now - $0.time >= .milliseconds(200) }) ?? true {
      samples.append((now, bytes))
    }
    while samples.count > 2, now - samples[1].time > Self.span { samples.removeFirst() }
    guard let first = samples.first, now - first.time >= .milliseconds(500) else { return nil }
    return Double(bytes - first.bytes) / ((now - first.time) / .seconds(1))
  }
}
