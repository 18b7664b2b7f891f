// What people read on standard error, a line for each event. Pure. All text from outside is made safe
// here.

import FetchCore
package import VidFetchKit

/// Lines for people.
package struct MessageText: Sendable {
  package var usesColor = false
  /// Whether several items run, so that each line must say which it is about.
  package var namesItems = false

  package init(usesColor: Bool = false, namesItems: Bool = false) {
    self.usesColor = usesColor
    self.namesItems = namesItems
  }

  /// `vidfetch: ITEM: MESSAGE; RECOVERY`, or nil where nothing failed.
  package func error(_ result: JobResult) -> String? {
    error(result.code, result.error, of: result.url)
  }

  /// The same of an item that had this outcome.
  func error(_ code: OutcomeCode, _ error: FetchError?, of url: String) -> String? {
    guard code != .ok else { return nil }
    let message = error?.message ?? code.rawValue
    let recovery = error?.recovery.map { "; \($0)" } ?? ""
    return line(.red, [url, message + recovery])
  }

  /// A failure of the run rather than of an item.
  package func failure(_ text: String) -> String { line(.red, [text]) }

  /// An event as a line, or nil where there is none at this verbosity.
  package func line(for event: JobEvent, url: String, verbosity: Int) -> String? {
    guard verbosity >= 0 else { return nil }
    let item = namesItems ? [url] : []
    switch event {
    case .warning(let warning):
      return line(.yellow, ["warning"] + item + [warning.message])
    case .retry(let attempt, let wait, let error):
      let what = "retrying in \(Figures.seconds(wait)) (attempt \(attempt))"
      return line(nil, item + [what, error.message])
    case .restart(let reason, let bytes):
      return line(nil, item + ["starting over, \(Self.reason(reason))\(Self.dropped(bytes))"])
    case .log(let level, let text):
      return level <= verbosity ? line(nil, item + [text]) : nil
    case .start, .progress, .result, .probed:
      return nil
    }
  }

  /// What is said when a signal ended the run.
  package func interrupted(canResume: Bool) -> String {
    line(
      nil, [canResume ? "interrupted; run the same command again to resume" : "interrupted"])
  }

  /// What is said of an item that needed nothing.
  package func skipped(_ result: JobResult) -> String {
    let why =
      switch result.skipped {
      case .archive: "fetched before"
      case .duplicate: "listed twice"
      case .exists, nil: "exists already"
      }
    return line(nil, [result.url, "skipped, \(why)"])
  }

  /// What is said of an item that will be attempted once more.
  func postponed(_ result: JobResult) -> String {
    let message = result.error?.message ?? result.code.rawValue
    return line(nil, [result.url, "to be tried again later", message])
  }

  /// A sign of life of a batch.
  func heartbeat(_ progress: BatchProgress, running: Int) -> String {
    let total = progress.total.map { " of \($0)" } ?? ""
    var parts = ["\(progress.ended)\(total) done"]
    if progress.failed > 0 { parts.append("\(progress.failed) failed") }
    parts.append("\(running) running")
    parts.append(Figures.size(progress.bytes))
    if let rate = Figures.rate(progress.rate) { parts.append(rate) }
    if let eta = Figures.time(progress.eta) { parts.append("\(eta) left") }
    return line(nil, [parts.joined(separator: ", ")])
  }

  /// The end of a batch.
  func summary(_ summary: BatchSummary) -> String {
    var parts = ["\(summary.ok) ok"]
    if summary.skipped > 0 { parts.append("\(summary.skipped) skipped") }
    let failed = OutcomeCode.allCases.compactMap { code in
      summary.failed[code].map { (code, $0) }
    }
    if !failed.isEmpty {
      let codes = failed.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", ")
      parts.append("\(failed.reduce(0) { $0 + $1.1 }) failed (\(codes))")
    }
    parts.append(Figures.size(summary.bytes))
    let time = Figures.seconds(.seconds(summary.seconds))
    return line(
      failed.isEmpty ? nil : .red, ["\(parts.joined(separator: ", ")) in \(time)"])
  }

  private func line(_ style: TextStyle?, _ parts: [String]) -> String {
    var parts = ["vidfetch"] + parts.map(Printable.escape)
    if usesColor, let style { parts[0] = TextStyle.apply(style, to: parts[0]) }
    return parts.joined(separator: ": ")
  }

  private static func reason(_ reason: RestartReason) -> String {
    switch reason {
    case .remoteChanged: "the remote file has changed"
    case .rangeIgnored: "the server can't continue"
    case .noValidator: "the server doesn't say whether the file is still the same"
    case .partUnusable: "the partial file can't be used"
    }
  }

  private static func dropped(_ bytes: Int64) -> String {
    bytes > 0 ? " (\(Figures.size(bytes)) dropped)" : ""
  }
}
