// The JSON output: events and results to lines. Pure; the doc comment is the format's specification.

import FetchCore
package import VidFetchKit

/// Makes the objects of `--json` and `--progress=json`.
///
/// One object a line, UTF-8, ended by a line feed and written at once. What is unknown is absent:
/// there is no `null`, and no number that isn't finite. New keys, events and names may be added to
/// version 1; a reader skips those that it doesn't know. Characters that a terminal acts on are
/// written as `\uXXXX`. The order of keys is stable.
///
/// Every object begins with
/// - `v`: 1, the version of this format
/// - `event`: `start`, `retry`, `restart`, `warning`, `progress`, `output`, `result`, `summary`, or `probe`
///   (see `probe(_:job:exit:)`)
/// - `job`: the item's number on the command line, from 1; `"batch"` in the summary
///
/// `--progress=json` writes all of them to standard error, which then carries nothing else, save
/// for one plain line where the command line itself is wrong (exit 2, no result). `--json` writes
/// each `result`, and the `summary`, to standard output.
///
/// `start`, first and once a job:
/// - `url`: the source as it was typed, secrets removed
/// - `target`: the path to come, where it is known beforehand
///
/// `retry`, before a wait:
/// - `attempt`: from 1, counted since the last new byte
/// - `wait`: seconds
/// - `code`, `message`: why, as in a result
///
/// `restart`, where bytes that were there are fetched again:
/// - `reason`: `remote_changed`, `range_ignored`, `no_validator`, `part_unusable`
/// - `bytes`: how many are dropped
///
/// `warning`:
/// - `warning`: its name
/// - `stream`: the index of the source's stream that it is about
/// - `message`: a sentence
///
/// `output`, where a command runs on the item's file:
/// - `text`: a line that it has said
///
/// `progress`, at most ten a second; the first says `"fraction":0`:
/// - `stage`: `connecting`, `transferring`, `waiting`, `exporting`, `publishing`
/// - `fraction`: (download + export) / 2; never falls, stays below 1
/// - `download`, `export`: the two halves, 0 to 1
/// - `bytes`: of the source that are present; `total`: of the source
/// - `rate`: bytes a second lately; `eta`: seconds to go
///
/// `result`, last and once a job:
/// - `url`: as in `start`
/// - `id`: stands for the URL with its secrets: 16 hex digits
/// - `name`, `list`, `line`: what the list calls the item; the list, and the line in it, from 1
/// - `redacted`: true where `url` lacks something that a fetch needs
/// - `code`: the name of the outcome, `ok` included; `exit`: its number
/// - `fraction`: 1 where it is ok, else the last one
/// - `skipped`: `exists`, `archive` or `duplicate`, where nothing had to be done
/// - `retryable`: whether the same command may succeed later
/// - `path`: the file in place, absolute
/// - `bytes`, `duration`: of that file; seconds
/// - `format`: `mp4` or `mov`
/// - `complete_by`: `structure` or `framing`: how it is known that nothing is missing
/// - `streams`: of the source, each with `index`, `type`, `codec`, `action` (`kept`, `converted`,
///   `dropped`), and where there is one `reason`, `language`, `width`, `height`, `sample_rate`,
///   `channels`, `attached_picture`
/// - `warnings`: each with the keys of the event
/// - `timings`: stage to seconds, and `total`
/// - `attempts`: requests made for the body
/// - `part`: the partial file that the next run continues
/// - `message`, `reason`, `recovery`, `retry_after` (seconds): on failure
///
/// `summary`, last of several items:
/// - `ok`, `skipped`: how many; `failed`: code to count
/// - `bytes`: of all files in place; `seconds`: of the run; `exit`: of the process
package enum JSONEventWriter {
  /// The version that every object carries.
  package static let version = 1

  /// The keys of a result but for the envelope, which are the keys of `--print` too.
  package static let resultKeys = [
    "url", "id", "name", "list", "line", "redacted", "code", "exit", "fraction", "skipped",
    "retryable", "path", "bytes", "duration", "format", "complete_by", "streams", "warnings",
    "timings", "attempts", "sha256", "part", "message", "reason", "recovery", "retry_after",
  ]

  /// The object of an event; nil for those that aren't part of the format.
  ///
  /// - Parameter exit: what the item's result alone would make the process's exit status.
  /// - Parameter fraction: the last one that was shown, for a result that isn't ok.
  /// - Parameter origin: of the item, for its result.
  package static func object(
    of event: JobEvent, job: Int, exit: Int32 = 0, fraction: Double? = nil,
    origin: ItemOrigin = ItemOrigin()
  ) -> JSONObject? {
    switch event {
    case .start(let url, let target):
      var object = envelope("start", job)
      object.add("url", url)
      object.add("target", target)
      return object
    case .retry(let attempt, let wait, let error):
      var object = envelope("retry", job)
      object.add("attempt", attempt)
      object.add("wait", seconds(wait), decimals: 3)
      object.add("code", error.code.rawValue)
      object.add("message", error.message)
      return object
    case .restart(let reason, let bytes):
      var object = envelope("restart", job)
      object.add("reason", reason.rawValue)
      object.add("bytes", bytes)
      return object
    case .warning(let warning):
      var object = envelope("warning", job)
      add(warning, to: &object)
      return object
    case .progress(let snapshot):
      var object = envelope("progress", job)
      object.add("stage", snapshot.stage.rawValue)
      object.add("fraction", below1(snapshot.fraction), decimals: 6)
      object.add("download", half(snapshot.download), decimals: 6)
      object.add("export", half(snapshot.export), decimals: 6)
      object.add("bytes", max(0, snapshot.bytes))
      object.add("total", snapshot.total.flatMap { $0 < 0 ? nil : $0 })
      object.add("rate", positive(snapshot.rate), decimals: 0)
      object.add("eta", positive(snapshot.eta), decimals: 1)
      return object
    case .log:
      return nil
    case .result(let result):
      return self.result(result, job: job, exit: exit, fraction: fraction, origin: origin)
    case .probed(let result):
      return probe(result, job: job, exit: exit)
    }
  }

  /// The object of a result.
  ///
  /// - Parameter isExhausted: whether it has had all the attempts that it gets.
  package static func result(
    _ result: JobResult, job: Int, exit: Int32, fraction: Double?,
    origin: ItemOrigin = ItemOrigin(), isExhausted: Bool = false
  ) -> JSONObject {
    var object = envelope("result", job)
    object.add("url", result.url)
    origin.add(to: &object)
    object.add("code", result.code.rawValue)
    object.add("exit", exit)
    object.add("fraction", result.code == .ok ? 1 : below1(fraction), decimals: 6)
    object.add("skipped", result.skipped?.rawValue)
    object.add("retryable", result.code.isRetryable && !isExhausted)
    object.add("path", result.path)
    object.add("bytes", result.bytes)
    object.add("duration", positive(result.duration), decimals: 6)
    object.add("format", result.format.rawValue)
    object.add("complete_by", result.completeBy?.rawValue)
    let ledger = Dictionary(result.ledger.map { ($0.index, $0) }) { first, _ in first }
    object.add(
      "streams", .array(result.streams.map { .object(stream($0, ledger[$0.index])) }))
    object.add("warnings", list(result.warnings))
    var timings = JSONObject()
    for (stage, seconds) in result.timings.sorted(by: { $0.key < $1.key }) {
      timings.add(stage, positive(seconds), decimals: 6)
    }
    object.add("timings", .object(timings))
    object.add("attempts", result.attempts)
    object.add("sha256", result.sha256)
    object.add("part", result.part)
    if let error = result.error { add(error, to: &object) }
    return object
  }

  /// The object of a batch's summary.
  package static func summary(_ summary: BatchSummary, exit: Int32) -> JSONObject {
    var object = JSONObject()
    object.add("v", version)
    object.add("event", "summary")
    object.add("job", "batch")
    object.add("ok", summary.ok)
    object.add("skipped", summary.skipped)
    var failed = JSONObject()
    for code in OutcomeCode.allCases { failed.add(code.rawValue, summary.failed[code]) }
    object.add("failed", .object(failed))
    object.add("bytes", summary.bytes)
    object.add("seconds", positive(summary.seconds), decimals: 3)
    object.add("exit", exit)
    return object
  }

  /// A line that a command on an item's file has said.
  static func output(_ text: String, job: Int) -> JSONObject {
    var object = envelope("output", job)
    object.add("text", text)
    return object
  }

  /// Trouble of the run rather than of an item.
  static func trouble(_ message: String) -> JSONObject {
    var object = JSONObject()
    object.add("v", version)
    object.add("event", "warning")
    object.add("job", "batch")
    object.add("warning", FetchWarning.Name.unusual.rawValue)
    object.add("message", message)
    return object
  }

  static func envelope(_ event: String, _ job: Int) -> JSONObject {
    var object = JSONObject()
    object.add("v", version)
    object.add("event", event)
    object.add("job", job)
    return object
  }

  private static func add(_ warning: FetchWarning, to object: inout JSONObject) {
    object.add("warning", warning.warning.rawValue)
    object.add("stream", warning.stream)
    object.add("message", warning.message)
  }

  static func list(_ warnings: [FetchWarning]) -> JSONValue {
    .array(
      warnings.map { warning in
        var object = JSONObject()
        add(warning, to: &object)
        return .object(object)
      })
  }

  static func add(_ error: FetchError, to object: inout JSONObject) {
    object.add("message", error.message)
    object.add("reason", error.reason)
    object.add("recovery", error.recovery)
    object.add("retry_after", error.retryAfter)
  }

  private static func stream(_ stream: StreamReport, _ ledger: StreamLedger?) -> JSONObject {
    var object = JSONObject()
    object.add("index", stream.index)
    object.add("type", stream.type.rawValue)
    object.add("codec", stream.codec)
    object.add("action", stream.action.rawValue)
    object.add("reason", stream.reason)
    object.add("language", stream.language)
    object.add("width", stream.width)
    object.add("height", stream.height)
    object.add("sample_rate", stream.sampleRate)
    object.add("channels", stream.channels)
    object.add("attached_picture", stream.attachedPicture)
    guard let ledger else { return object }
    object.add("packets", ledger.packets)
    object.add("payload_bytes", ledger.bytes)
    object.add("duration", positive(ledger.duration), decimals: 6)
    object.add("first", ledger.first.flatMap { $0.isFinite ? $0 : nil }, decimals: 6)
    object.add("last", ledger.last.flatMap { $0.isFinite ? $0 : nil }, decimals: 6)
    object.add("sha256", ledger.sha256)
    return object
  }

  /// Rounding must not make the last value before the end a 1.
  private static func below1(_ fraction: Double?) -> Double? {
    guard let fraction, fraction.isFinite else { return nil }
    return min(max(fraction, 0), 0.999_999)
  }

  private static func half(_ fraction: Double?) -> Double? {
    guard let fraction, fraction.isFinite else { return nil }
    return min(max(fraction, 0), 1)
  }

  private static func positive(_ value: Double?) -> Double? {
    guard let value, value.isFinite, value >= 0 else { return nil }
    return value
  }

  private static func seconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
