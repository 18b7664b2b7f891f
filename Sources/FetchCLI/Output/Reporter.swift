// What a run shows: takes the events of one item after the other and writes them in the style that
// was asked for. Main thread only.

import FetchCore
import VidFetchKit

/// The voice of a run.
final class Reporter {
  private let terminal: Terminal
  private let style: OutputStyle
  private let text: MessageText

  // Of the current item.
  private var job = 0
  private var url = ""
  private var title = ""
  private var began = Duration.zero
  private var gate = ProgressGate()
  private var plain = PlainProgress(title: "", now: .zero)
  private var snapshot = ProgressSnapshot()
  private var tick = 0
  private var hasBar = false

  init(terminal: Terminal, style: OutputStyle, itemCount: Int) {
    self.terminal = terminal
    self.style = style
    text = MessageText(usesColor: style.usesColor, namesItems: itemCount > 1)
  }

  /// How soon `passTime(at:)` wants to be called although nothing happens; nil for never.
  var patience: Duration? {
    hasBar || gate.hasPending || style.progress == .plain ? ProgressGate.interval : nil
  }

  /// Begins an item.
  func begin(job: Int, source: String, at now: Duration) {
    self.job = job
    url = JobRequest(source: source).redactedSource
    title = Self.title(of: url)
    began = now
    gate = ProgressGate()
    plain = PlainProgress(title: title, now: now)
    snapshot = ProgressSnapshot()
    tick = 0
    hasBar = false
  }

  /// The source of the current item without secrets.
  var currentURL: String { url }

  /// Shows an event other than the result.
  func show(_ event: JobEvent, at now: Duration) {
    switch event {
    case .start(let startURL, let target):
      url = startURL
      title = Self.title(of: target ?? startURL)
      plain.title = title
    case .progress(let snapshot):
      for admitted in gate.admit(snapshot, at: now) { draw(admitted, at: now) }
      return
    default: break
    }
    if style.progress == .json {
      write(JSONEventWriter.object(of: event, job: job))
      return
    }
    if case .start = event, style.progress == .plain, style.verbosity >= 0 {
      terminal.writeLine(plain.startLine(url: url))
    }
    if let line = text.line(for: event, url: url, verbosity: style.verbosity) {
      terminal.writeLine(line)
    }
  }

  /// Shows what had to wait for its turn, and moves what moves.
  func passTime(at now: Duration) {
    if let admitted = gate.release(at: now) {
      draw(admitted, at: now)
    } else if hasBar {
      drawBar(.running(tick: tick))
    } else if style.progress == .plain, tick > 0, let line = plain.line(for: snapshot, at: now) {
      terminal.writeLine(line)
    }
  }

  /// Draws anew in the screen's new width.
  func resize() {
    if hasBar { drawBar(.running(tick: tick)) }
  }

  /// Draws anew after the process was stopped, and others have used the screen.
  func resume() {
    terminal.forgetBar()
    resize()
  }

  /// Shows an item's end.
  ///
  /// - Parameters:
  ///   - exit: what this result alone would make the exit status.
  ///   - signal: whether a signal has ended the run.
  /// - Returns: what went wrong when the result was written to standard output.
  func end(
    _ result: JobResult, exit: Int32, bySignal: Bool, at now: Duration
  ) -> SystemError? {
    let object = JSONEventWriter.result(result, job: job, exit: exit, fraction: gate.fraction)
    if hasBar {
      hasBar = false
      drawLastBar(result, bySignal: bySignal)
    }
    if style.progress == .json {
      write(object)
    } else if result.code == .signal, bySignal {
      terminal.writeLine(text.interrupted(canResume: result.part != nil))
    } else if let line = text.error(result) {
      terminal.writeLine(line)
    } else if style.verbosity >= 0 {
      if result.skipped != nil {
        terminal.writeLine(text.skipped(result))
      } else if style.progress == .plain {
        terminal.writeLine(plain.endLine(result, elapsed: now - began))
      }
    }
    return writeResult(result, object)
  }

  /// Shows the end of a batch.
  func end(_ summary: BatchSummary, exit: Int32) -> SystemError? {
    let object = JSONEventWriter.summary(summary, exit: exit)
    if style.progress == .json { write(object) }
    return style.results == .json ? terminal.writeRecord(object.encoded, terminator: 10) : nil
  }

  /// Says why a result could not be written.
  func complain(_ error: SystemError, fileIsInPlace: Bool) {
    guard style.progress != .json else { return }
    let comfort = fileIsInPlace ? "; the file is in place all the same" : ""
    terminal.writeLine(text.failure("standard output: \(error.text)\(comfort)"))
  }

  // MARK: Drawing

  private func draw(_ snapshot: ProgressSnapshot, at now: Duration) {
    self.snapshot = snapshot
    tick += 1
    switch style.progress {
    case .json: write(JSONEventWriter.object(of: .progress(snapshot), job: job))
    case .plain:
      if style.verbosity >= 0, let line = plain.line(for: snapshot, at: now) {
        terminal.writeLine(line)
      }
    case .bar:
      hasBar = true
      drawBar(.running(tick: tick))
    case .none: break
    }
  }

  private func drawBar(_ phase: ProgressBar.Phase) {
    if case .running = phase { tick += 1 }
    terminal.showBar(barLine(snapshot, phase))
  }

  private func drawLastBar(_ result: JobResult, bySignal: Bool) {
    // An item that never got anywhere has nothing to show but its error.
    let isEmpty = result.code != .ok && snapshot.bytes == 0
    guard result.skipped == nil, !isEmpty else {
      terminal.clearBar()
      return
    }
    var last = snapshot
    if result.code == .ok {
      last.total = last.total ?? last.bytes
      last.bytes = last.total ?? last.bytes
    }
    let failure = result.code == .signal && bySignal ? ProgressBar.Phase.interrupted : .failed
    terminal.finishBar(barLine(last, result.code == .ok ? .done : failure))
  }

  private func barLine(_ snapshot: ProgressSnapshot, _ phase: ProgressBar.Phase) -> String {
    // The last columns stay free, for a terminal that wraps on the last one, and for the ^C that it
    // echoes: so neither breaks the line.
    ProgressBar(title: title, snapshot: snapshot, phase: phase, usesColor: style.usesColor)
      .line(width: terminal.width - 3)
  }

  // MARK: Records

  private func write(_ object: JSONObject?) {
    if let object { terminal.writeLine(object.encoded) }
  }

  private func writeResult(_ result: JobResult, _ object: JSONObject) -> SystemError? {
    switch style.results {
    case .json: return terminal.writeRecord(object.encoded, terminator: 10)
    case .template(let template):
      return terminal.writeRecord(template.filled(with: object), terminator: style.terminator)
    case .paths:
      guard result.code == .ok, let path = result.path else { return nil }
      return terminal.writeRecord(path, terminator: style.terminator)
    }
  }

  /// The last name of a path or URL, without a query; the whole where there is none.
  private static func title(of location: String) -> String {
    var path = Substring(location)
    if location.firstRange(of: "://") != nil {
      path = path.prefix { $0 != "?" && $0 != "#" }
    }
    return path.split(separator: "/").last.map(String.init) ?? location
  }
}
