import FetchCore

/// How long a job has spent in each of its stages.
struct StageClock: Sendable {
  private let start = ContinuousClock.now
  private var stage: ProgressSnapshot.Stage?
  private var entered = ContinuousClock.now
  private var spent: [ProgressSnapshot.Stage: Duration] = [:]

  var elapsed: Duration { start.duration(to: .now) }

  mutating func enter(_ next: ProgressSnapshot.Stage) {
    guard next != stage else { return }
    settle()
    stage = next
  }

  /// Seconds by stage, rounded to milliseconds, and their `total`.
  mutating func seconds() -> [String: Double] {
    settle()
    var seconds = ["total": Self.rounded(elapsed)]
    for (stage, time) in spent { seconds[stage.rawValue] = Self.rounded(time) }
    return seconds
  }

  private mutating func settle() {
    let now = ContinuousClock.now
    if let stage { spent[stage, default: .zero] += entered.duration(to: now) }
    entered = now
  }

  private static func rounded(_ time: Duration) -> Double {
    (time / .milliseconds(1)).rounded() / 1000
  }
}
