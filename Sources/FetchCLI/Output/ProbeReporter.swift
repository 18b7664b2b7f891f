// What a run of `--probe` shows: tables or JSON lines on standard output, all else on standard error.
// Main thread only.

import FetchCore
import VidFetchKit

/// The voice of a run that looks.
final class ProbeReporter {
  private let terminal: Terminal
  private let style: OutputStyle
  private let showsTable: Bool
  private let text: MessageText
  private var job = 0
  private var url = ""
  private var hasTable = false

  init(terminal: Terminal, style: OutputStyle, itemCount: Int, showsTable: Bool) {
    self.terminal = terminal
    self.style = style
    self.showsTable = showsTable
    text = MessageText(usesColor: style.usesColor, namesItems: itemCount > 1)
  }

  /// Begins an item.
  func begin(job: Int, url: String) {
    self.job = job
    self.url = url
  }

  /// Shows an event other than the last.
  func show(_ event: JobEvent) {
    if style.progress == .json {
      write(JSONEventWriter.object(of: event, job: job))
    } else if let line = text.line(for: event, url: url, verbosity: style.verbosity) {
      terminal.writeLine(line)
    }
  }

  /// Shows what was found, or why nothing was.
  ///
  /// - Returns: what went wrong when it was written to standard output.
  func end(_ result: ProbeResult, exit: Int32, bySignal: Bool) -> SystemError? {
    let object = JSONEventWriter.probe(result, job: job, exit: exit)
    let trouble = writeFindings(result, object)
    if style.progress == .json {
      write(object)
    } else if result.code == .signal, bySignal {
      terminal.writeLine(text.interrupted(canResume: false))
    } else if let line = text.error(result.code, result.error, of: result.url) {
      terminal.writeLine(line)
    }
    return trouble
  }

  /// Shows the end of a batch.
  func end(_ summary: BatchSummary, exit: Int32) -> SystemError? {
    let object = JSONEventWriter.summary(summary, exit: exit)
    if style.progress == .json { write(object) }
    return showsTable ? nil : terminal.writeRecord(object.encoded, terminator: 10)
  }

  /// Says why something could not be written.
  func complain(_ error: SystemError) {
    guard style.progress != .json else { return }
    terminal.writeLine(text.failure("standard output: \(error.text)"))
  }

  private func writeFindings(_ result: ProbeResult, _ object: JSONObject) -> SystemError? {
    guard showsTable else { return terminal.writeRecord(object.encoded, terminator: 10) }
    let table = ProbeTable.text(result, width: terminal.width)
    guard !table.isEmpty else { return nil }
    defer { hasTable = true }
    return terminal.writeDocument((hasTable ? "\n" : "") + table)
  }

  private func write(_ object: JSONObject?) {
    if let object { terminal.writeLine(object.encoded) }
  }
}
