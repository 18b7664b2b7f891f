// One job from a source to a published file.

private import FetchCore

/// A job: made, started once, perhaps cancelled.
package final class FetchJob: Sendable {
  private let request: JobRequest
  private let onEvent: @Sendable (JobEvent) -> Void

  /// Makes a job that has not begun.
  package init(_ request: JobRequest, onEvent: @escaping @Sendable (JobEvent) -> Void) {
    self.request = request
    self.onEvent = onEvent
  }

  /// Starts the job on a thread of its own; `onEvent` is called there, with `.result` as the last.
  package func start() {
  }

  /// Stops whichever stages are running; the result follows within a second. Any thread; idempotent.
  package func cancel() {
  }
}
