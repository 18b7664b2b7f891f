// What stops the jobs that are running, for the thread that hears of the signal.

import FetchCore

/// The cancels of all running jobs; any thread.
final class RunningJobs: Sendable {
  private struct State {
    var cancels: [Int: @Sendable () -> Void] = [:]
    var isCancelled = false
  }

  private let state = Locked(State())

  /// Adds a job; one that comes after the end is cancelled at once.
  func add(_ job: Int, _ cancel: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.cancels[job] = cancel
      return state.isCancelled
    }
    if isLate { cancel() }
  }

  func remove(_ job: Int) {
    state.withLock { $0.cancels[job] = nil }
  }

  /// Stops them all, and those that are still to come.
  func cancelAll() {
    let cancels = state.withLock { state in
      state.isCancelled = true
      return Array(state.cancels.values)
    }
    for cancel in cancels { cancel() }
  }
}
