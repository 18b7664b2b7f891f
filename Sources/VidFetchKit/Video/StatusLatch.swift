// Between a job's thread and a stream that may be read slowly: the statuses that matter are kept, and
// of the others only the newest, so that nothing grows.

import FetchCore

/// Holds the statuses that have not been read yet.
///
/// The job's thread puts, one reader takes. The first, the last two and nothing after them are
/// delivered without fail.
final class StatusLatch: Sendable {
  private struct State {
    /// Delivered in order.
    var pending: [VideoDownloaderStatus] = []
    /// Replaced by newer progress until it is read.
    var progress: VideoDownloaderStatus?
    var isClosed = false
    var reader: CheckedContinuation<VideoDownloaderStatus?, Never>?

    mutating func next() -> VideoDownloaderStatus? {
      if !pending.isEmpty { return pending.removeFirst() }
      defer { progress = nil }
      return progress
    }
  }

  private let state = Locked(State())

  /// Keeps a status until it has been read.
  func put(_ status: VideoDownloaderStatus) {
    deliver { state in
      // Progress that was not read in time is overtaken by what comes now.
      if let progress = state.progress { state.pending.append(progress) }
      state.progress = nil
      state.pending.append(status)
    }
  }

  /// Keeps a status until it has been read or a newer one comes.
  func putProgress(_ status: VideoDownloaderStatus) {
    deliver { $0.progress = status }
  }

  /// Ends the stream after what has been put.
  func close() {
    deliver { $0.isClosed = true }
  }

  /// The next status, waited for; nil after the last.
  func take() async -> VideoDownloaderStatus? {
    await withCheckedContinuation { continuation in
      let answer: VideoDownloaderStatus?? = state.withLock { state in
        if let status = state.next() { return .some(status) }
        if state.isClosed || state.reader != nil { return .some(nil) }
        state.reader = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  /// Changes the state, then serves a waiting reader outside the lock.
  private func deliver(_ change: (inout State) -> Void) {
    let served: (CheckedContinuation<VideoDownloaderStatus?, Never>, VideoDownloaderStatus?)? =
      state.withLock { state in
        guard !state.isClosed else { return nil }
        change(&state)
        guard let reader = state.reader else { return nil }
        let status = state.next()
        guard status != nil || state.isClosed else { return nil }
        state.reader = nil
        return (reader, status)
      }
    if let (reader, status) = served { reader.resume(returning: status) }
  }
}
