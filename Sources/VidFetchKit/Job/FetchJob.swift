// One job from a source to a published file: the handle that others hold. The work is `JobRun`'s, on
// a thread of its own.

package import FetchCore

/// A job: made, started once, perhaps cancelled.
package final class FetchJob: Sendable {
  private let request: JobRequest
  private let cancellation: CancellationFlag
  private let onEvent: @Sendable (JobEvent) -> Void

  /// Makes a job that has not begun.
  ///
  /// - Parameters:
  ///   - cancellation: stops the job when it is set.
  ///   - onEvent: called on the job's thread, in order, with `.result` as the last.
  package init(
    _ request: JobRequest, cancellation: CancellationFlag = CancellationFlag(),
    onEvent: @escaping @Sendable (JobEvent) -> Void
  ) {
    self.request = request
    self.cancellation = cancellation
    self.onEvent = onEvent
  }

  /// Starts the job on a thread of its own, which keeps what it needs; this object may go.
  package func start() {
    let (request, cancellation, onEvent) = (request, cancellation, onEvent)
    do throws(SystemError) {
      try WorkerThread.start("vidfetch-job") {
        JobRun(request, cancellation: cancellation, onEvent: onEvent).run()
      }
    } catch {
      var result = JobResult(url: "", format: request.format)
      result.error = error.fetchError("starting a thread")
      result.code = .localIO
      onEvent(.result(result))
    }
  }

  /// Stops whichever stages are running; the result follows within a second.
  ///
  /// Any thread; idempotent.
  package func cancel() { cancellation.cancel() }
}
