// How many items of a batch run side by side, where nobody has said: more of them for as long as more
// comes of it. Pure; the caller brings the measurements.

/// The number of items side by side, found by trying.
///
/// It begins with two for each processor, and four at least, since an item waits for the network and
/// for the disk as long as it works. A larger number is tried for some seconds, and kept where
/// at least a tenth more comes of it; otherwise the one before comes back, and the next trial waits.
package struct JobCount: Sendable {
  /// What has happened up to a moment.
  package struct Sample: Sendable {
    package var time: Duration
    /// Items that ended.
    package var items: Int
    /// Bytes that arrived.
    package var bytes: Int64
    /// Of the process, user and system.
    package var processorTime: Duration

    package init(time: Duration, items: Int, bytes: Int64, processorTime: Duration) {
      self.time = time
      self.items = items
      self.bytes = bytes
      self.processorTime = processorTime
    }
  }

  /// The shortest time that a number is judged by.
  static let window = Duration.seconds(2)
  /// Fewer ended items, or bytes, say nothing about a number.
  private static let leastItems = 16
  private static let leastBytes: Int64 = 4 << 20
  /// An item is worth these bytes, so that many small ones count as much as a few large ones.
  private static let bytesPerItem = 262_144.0
  private static let gain = 1.1
  private static let shortestPause = Duration.seconds(15)
  private static let longestPause = Duration.seconds(240)

  package private(set) var count: Int
  private let most: Int
  private let processors: Int
  private var begin: Sample?
  /// The best number so far and what came of it in a second.
  private var best: (count: Int, rate: Double)?
  private var pause = shortestPause
  private var pausedUntil: Duration?

  /// - Parameters:
  ///   - processors: how many the process may use.
  ///   - most: the largest number that is tried.
  package init(processors: Int, most: Int) {
    self.processors = max(1, processors)
    self.most = max(1, most)
    count = min(max(4, 2 * self.processors), self.most)
  }

  /// Takes a measurement.
  ///
  /// - Parameter isStarved: whether fewer items ran than might have; then nothing can be learnt.
  /// - Returns: whether the number has changed.
  package mutating func measure(_ sample: Sample, isStarved: Bool) -> Bool {
    guard !isStarved, let start = begin else {
      begin = sample
      return false
    }
    let time = sample.time - start.time
    guard time >= Self.window else { return false }
    let items = sample.items - start.items
    let bytes = sample.bytes - start.bytes
    // A slow link needs longer until anything can be told.
    guard items >= Self.leastItems || bytes >= Self.leastBytes || time >= Self.window * 5 else {
      return false
    }
    begin = sample
    let seconds = time / .seconds(1)
    let rate = (Double(bytes) + Double(items) * Self.bytesPerItem) / seconds
    let load = (sample.processorTime - start.processorTime) / .seconds(1) / seconds
    return judge(rate, isBusy: load >= 0.85 * Double(processors), at: sample.time)
  }

  private mutating func judge(_ rate: Double, isBusy: Bool, at now: Duration) -> Bool {
    if let best, best.count != count, rate < best.rate * Self.gain {
      // The trial brought nothing.
      count = best.count
      pausedUntil = now + pause
      pause = min(pause * 2, Self.longestPause)
      return true
    }
    if best.map({ $0.count != count }) ?? false { pause = Self.shortestPause }
    best = (count, rate)
    // More items can't have the processors that are in use already.
    guard !isBusy, count < most, pausedUntil.map({ $0 <= now }) ?? true else { return false }
    count = min(most, count * 2)
    return true
  }
}
