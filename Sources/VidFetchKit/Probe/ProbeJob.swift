// One look at a source: what is asked, what is told, and the handle that others hold. The work is
// `ProbeRun`'s, on a thread of its own.

package import FetchCore

/// One source to look at.
package struct ProbeRequest: Sendable {
  /// As typed: `scheme://…` is a URL, all else a local path.
  package var source: String
  /// The container that decides whether the look ends well.
  package var format = ContainerFormat.mp4
  /// What would be wanted of an export.
  package var export = ExportSettings()
  package var transfer = TransferSettings()

  package init(source: String) { self.source = source }

  /// The source as it may be shown: without user name, password and what looks secret in its query.
  package var redactedSource: String { HTTPFetch.redacted(source) }
}

/// What a look at a source has come to.
package struct ProbeResult: Sendable {
  /// The source, secrets removed.
  package var url: String
  /// The container that was asked for.
  package var format: ContainerFormat
  /// `ok` where that container can hold the source.
  package var code = OutcomeCode.ok
  /// nil where `code` is `ok`.
  package var error: FetchError?
  /// What was found; nil where the source could not be looked at.
  package var source: SourceProbe?
  /// Bytes of the source, where known.
  package var size: Int64?
  /// The most bytes of disk that a run will hold at once, where the size is known.
  package var diskNeed: Int64?
  /// Bytes that were received; 0 for a local source.
  package var received: Int64 = 0
  /// Requests that were made; 0 for a local source.
  package var attempts = 0
  /// What was odd about the looking; what would be lost stands in the verdicts.
  package var warnings: [FetchWarning] = []

  package init(url: String, format: ContainerFormat) {
    self.url = url
    self.format = format
  }
}

/// A look at a source: made, started once, perhaps cancelled.
package final class ProbeJob: Sendable {
  private let request: ProbeRequest
  private let cancellation: CancellationFlag
  private let onEvent: @Sendable (JobEvent) -> Void

  /// Makes a job that has not begun.
  ///
  /// - Parameters:
  ///   - cancellation: stops the job when it is set.
  ///   - onEvent: called on the job's thread, in order, with `.probed` as the last.
  package init(
    _ request: ProbeRequest, cancellation: CancellationFlag = CancellationFlag(),
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
      try WorkerThread.start("vidfetch-probe") {
        ProbeRun(request, cancellation: cancellation, onEvent: onEvent).run()
      }
    } catch {
      var result = ProbeResult(url: request.redactedSource, format: request.format)
      result.error = error.fetchError("starting a thread")
      result.code = .localIO
      onEvent(.probed(result))
    }
  }

  /// Stops the job; its `.probed` follows at once.
  ///
  /// Any thread; idempotent.
  package func cancel() { cancellation.cancel() }
}
