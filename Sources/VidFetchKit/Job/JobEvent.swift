// What a job tells while it runs. The command line draws and writes these, the library's stream is
// made of them.

package import FetchCore

/// One thing that happened in a job.
///
/// Delivered in order, on the job's own thread: first `start`, then `progress` with fraction 0, last
/// `result`, once. A probe has no `progress`, and `probed` in place of `result`.
package enum JobEvent: Sendable {
  case start(url: String, target: String?)
  /// The next attempt begins after `wait`. `attempt` counts from 1 since the last new byte.
  case retry(attempt: Int, wait: Duration, error: FetchError)
  /// What was there is dropped, and the transfer begins from nothing.
  case restart(reason: RestartReason, bytes: Int64)
  case warning(FetchWarning)
  case progress(ProgressSnapshot)
  /// Text for `-v` (level 1) and `-vv` (level 2); secrets removed.
  case log(level: Int, String)
  case result(JobResult)
  case probed(ProbeResult)
}

/// Why bytes that were there are fetched again.
///
/// The raw values are part of the JSON output.
package enum RestartReason: String, Sendable, Hashable, Codable {
  case remoteChanged = "remote_changed"
  case rangeIgnored = "range_ignored"
  case noValidator = "no_validator"
  case partUnusable = "part_unusable"
}

/// How far a job is, at one moment.
package struct ProgressSnapshot: Sendable, Hashable {
  package enum Stage: String, Sendable, Hashable, Codable {
    case connecting, transferring, waiting, exporting, publishing
  }

  package var stage = Stage.connecting
  /// (download + export) / 2, 0 up to but not including 1; nil where the size is unknown.
  package var fraction: Double?
  /// The two halves, 0…1, each nil where unknown.
  package var download: Double?
  package var export: Double?
  /// Bytes of the source that are present.
  package var bytes: Int64 = 0
  /// Bytes of the source, where known.
  package var total: Int64?
  /// Bytes a second lately; nil before there is anything to measure.
  package var rate: Double?
  /// Seconds to go; nil where it can't be told.
  package var eta: Double?

  package init() {}
}

/// How a job ended.
package struct JobResult: Sendable {
  package enum SkipReason: String, Sendable, Hashable, Codable {
    case exists, archive, duplicate
  }

  /// The source, secrets removed.
  package var url: String
  package var code = OutcomeCode.ok
  /// nil where `code` is `ok`.
  package var error: FetchError?
  package var skipped: SkipReason?
  /// Absolute, where a file is in place.
  package var path: String?
  /// The output's size.
  package var bytes: Int64?
  /// The output's SHA-256, in hexadecimal, where it was taken.
  package var sha256: String?
  /// Seconds of the output.
  package var duration: Double?
  package var format: ContainerFormat
  package var completeBy: CompletionProof?
  package var streams: [StreamReport] = []
  /// What passed through each kept stream; empty but after success.
  package var ledger: [StreamLedger] = []
  package var warnings: [FetchWarning] = []
  /// Seconds per stage; keys are the raw values of `ProgressSnapshot.Stage`, `total`, and after success
  /// `verifying`, which is a part of the export.
  package var timings: [String: Double] = [:]
  /// Requests that were made for the body, the first included; 0 for a local source.
  package var attempts = 0
  /// The part that was kept for the next run, where there is one.
  package var part: String?

  package init(url: String, format: ContainerFormat) {
    self.url = url
    self.format = format
  }
}
