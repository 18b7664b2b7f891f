// What a run shows: takes the events of all items and writes them in the style that was asked for.
// Main thread only.

import FetchCore
import VidFetchKit

/// The voice of a run.
final class Reporter {
  private static let heartbeat = Duration.seconds(30)

  /// Whether many items are shown together.
  let isBatch: Bool
  private let terminal: Terminal
  private let style: OutputStyle
  private let text: MessageText

  /// The items that run, in the order in which they began.
  private var voices: [ItemVoice] = []
  /// Of items that wait for another attempt: one item has one start, and one fraction that never falls.
  private var postponed: [Int: ItemVoice] = [:]
  private var batch = BatchProgress()
  private var rate = BatchRate()
  private var bytesOfEnded: Int64 = 0
  private var leastFraction = 0.0
  private var lastDrawn: Duration?
  private var isDirty = false
  private var lastHeartbeat = Duration.zero

  init(terminal: Terminal, style: OutputStyle, isBatch: Bool) {
    self.terminal = terminal
    self.style = style
    self.isBatch = isBatch
    text = MessageText(usesColor: style.usesColor, namesItems: isBatch)
  }

  /// How soon `passTime(at:)` wants to be called although nothing happens; nil for never.
  var patience: Duration? {
    switch style.progress {
    case .bar: voices.contains { $0.isShown } || isDirty ? ProgressGate.interval : nil
    case .plain: isBatch ? .seconds(1) : voices.isEmpty ? nil : ProgressGate.interval
    case .json: voices.contains { $0.gate.hasPending } ? ProgressGate.interval : nil
    case .none: nil
    }
  }

  // MARK: Items

  /// Says how many items there are in all; nil while that isn't known.
  func expect(items total: Int?) { batch.total = total }

  /// Whether nobody but this may write to standard error.
  var ownsScreen: Bool { style.progress == .bar || style.progress == .json }

  /// Hands on what a command on an item's file has said.
  func relay(_ line: String, job: Int) {
    if style.progress == .json {
      write(JSONEventWriter.output(line, job: job))
    } else {
      terminal.writeLine(Printable.escape(line))
    }
  }

  /// Begins an item, or its next attempt.
  func begin(job: Int, url: String, at now: Duration) {
    if let voice = postponed.removeValue(forKey: job) {
      voices.append(voice)
    } else {
      voices.append(ItemVoice(job: job, url: url, at: now))
    }
  }

  /// Shows an event other than the result.
  func show(_ event: JobEvent, job: Int, at now: Duration) {
    guard let index = voices.firstIndex(where: { $0.job == job }) else { return }
    switch event {
    case .start(let url, let target):
      guard voices[index].start(url: url, target: target) else { return }
    case .progress(let snapshot):
      for admitted in voices[index].gate.admit(snapshot, at: now) { draw(admitted, index, at: now) }
      return
    default: break
    }
    if style.progress == .json {
      write(JSONEventWriter.object(of: event, job: job))
      return
    }
    if case .start = event, style.progress == .plain, style.verbosity >= (isBatch ? 1 : 0) {
      terminal.writeLine(voices[index].plain.startLine(url: voices[index].url))
    }
    if let line = text.line(for: event, url: voices[index].url, verbosity: style.verbosity) {
      terminal.writeLine(line)
    }
  }

  /// Shows what had to wait for its turn, and moves what moves.
  func passTime(at now: Duration) {
    for index in voices.indices {
      if let admitted = voices[index].gate.release(at: now) {
        draw(admitted, index, at: now)
      } else if style.progress == .plain, !isBatch, voices[index].isShown,
        let line = voices[index].plain.line(for: voices[index].snapshot, at: now)
      {
        terminal.writeLine(line)
      }
    }
    switch style.progress {
    case .bar: redraw(at: now, isDue: voices.contains { $0.isShown })
    case .plain where isBatch && style.verbosity >= 0:
      guard now - lastHeartbeat >= Self.heartbeat else { return }
      lastHeartbeat = now
      terminal.writeLine(text.heartbeat(progress(at: now), running: voices.count))
    default: break
    }
  }

  /// Draws anew in the screen's new size.
  func resize(at now: Duration) {
    lastDrawn = nil
    redraw(at: now, isDue: true)
  }

  /// Draws anew after the process was stopped, and others have used the screen.
  func resume(at now: Duration) {
    terminal.forgetBar()
    resize(at: now)
  }

  /// Shows that another run is at work on an item, which is going to be looked at again.
  func hold(_ result: JobResult, job: Int, attempt: Int, at now: Duration) {
    _ = setAside(job)
    announceAttempt(after: attempt, result, job: job, verbosity: 1, at: now)
  }

  /// Shows that an item has failed and will be attempted again; its result as JSON.
  func postpone(
    _ result: JobResult, job: Int, attempt: Int, origin: ItemOrigin, at now: Duration
  ) -> JSONObject {
    let voice = setAside(job)
    announceAttempt(after: attempt, result, job: job, verbosity: 0, at: now)
    return JSONEventWriter.result(
      result, job: job, exit: result.code.exitStatus, fraction: voice?.gate.fraction,
      origin: origin)
  }

  /// Keeps what was shown of an item for its next attempt.
  private func setAside(_ job: Int) -> ItemVoice? {
    let voice = voices.first { $0.job == job }
    voices.removeAll { $0.job == job }
    postponed[job] = voice
    return voice
  }

  private func announceAttempt(
    after attempt: Int, _ result: JobResult, job: Int, verbosity: Int, at now: Duration
  ) {
    if style.progress == .json {
      let error = result.error ?? FetchError(result.code, result.code.rawValue)
      write(
        JSONEventWriter.object(of: .retry(attempt: attempt, wait: .zero, error: error), job: job))
    } else if style.verbosity >= verbosity {
      terminal.writeLine(text.postponed(result))
    }
    isDirty = true
    redraw(at: now, isDue: true)
  }

  /// Shows an item's end; its result as JSON.
  ///
  /// - Parameters:
  ///   - exit: what this result alone would make the exit status.
  ///   - isExhausted: whether it is not worth another run, whatever its code says.
  ///   - bySignal: whether a signal has ended the run.
  func end(
    _ result: JobResult, job: Int, origin: ItemOrigin, exit: Int32, isExhausted: Bool,
    bySignal: Bool, at now: Duration
  ) -> JSONObject {
    let voice = voices.first { $0.job == job } ?? postponed[job]
    postponed[job] = nil
    let object = JSONEventWriter.result(
      result, job: job, exit: exit, fraction: voice?.gate.fraction, origin: origin,
      isExhausted: isExhausted)
    voices.removeAll { $0.job == job }
    batch.ended += 1
    if result.code != .ok { batch.failed += 1 }
    bytesOfEnded += max(0, voice?.snapshot.bytes ?? 0)
    if !isBatch, style.progress == .bar, let voice, voice.isShown {
      drawLastBar(result, voice, bySignal: bySignal)
    }
    tell(result, voice, object, bySignal: bySignal, at: now)
    isDirty = true
    if isBatch, style.progress == .bar { redraw(at: now, isDue: true) }
    return object
  }

  private func tell(
    _ result: JobResult, _ voice: ItemVoice?, _ object: JSONObject, bySignal: Bool,
    at now: Duration
  ) {
    if style.progress == .json {
      write(object)
    } else if result.code == .signal, bySignal {
      if !isBatch { terminal.writeLine(text.interrupted(canResume: result.part != nil)) }
    } else if let line = text.error(result) {
      terminal.writeLine(line)
    } else if style.verbosity >= 0 {
      if result.skipped != nil {
        terminal.writeLine(text.skipped(result))
      } else if style.progress == .plain || (isBatch && style.progress == .bar && !style.showsPaths)
      {
        let plain = voice?.plain ?? PlainProgress(title: result.url, now: now)
        terminal.writeLine(plain.endLine(result, elapsed: now - (voice?.began ?? now)))
      }
    }
  }

  /// Shows the end of a batch; the summary as JSON.
  func end(_ summary: BatchSummary, exit: Int32, bySignal: Bool) -> JSONObject {
    terminal.clearBar()
    let object = JSONEventWriter.summary(summary, exit: exit)
    if style.progress == .json {
      write(object)
    } else if style.verbosity >= 0 {
      if bySignal { terminal.writeLine(text.interrupted(canResume: true)) }
      terminal.writeLine(text.summary(summary))
    }
    return object
  }

  /// Says what went wrong with the run rather than with an item.
  func complain(_ trouble: String) {
    guard style.progress != .json else {
      write(JSONEventWriter.trouble(trouble))
      return
    }
    terminal.writeLine(text.failure(trouble))
  }

  // MARK: Drawing

  private func draw(_ snapshot: ProgressSnapshot, _ index: Int, at now: Duration) {
    voices[index].snapshot = snapshot
    let isFirst = !voices[index].isShown
    voices[index].isShown = true
    switch style.progress {
    case .json: write(JSONEventWriter.object(of: .progress(snapshot), job: voices[index].job))
    case .plain:
      if !isBatch, style.verbosity >= 0, let line = voices[index].plain.line(for: snapshot, at: now)
      {
        terminal.writeLine(line)
      }
    case .bar:
      isDirty = true
      // One item's snapshots have passed the gate; many items' draw together.
      redraw(at: now, isDue: !isBatch || isFirst)
    case .none: break
    }
  }

  private func redraw(at now: Duration, isDue: Bool) {
    guard style.progress == .bar else { return }
    if isBatch {
      guard isDue || isDirty else { return }
      if let lastDrawn, now - lastDrawn < ProgressGate.interval { return }
      lastDrawn = now
      isDirty = false
      let items = voices.filter(\.isShown).map { (title: $0.title, snapshot: $0.snapshot) }
      terminal.show(
        BatchBar.lines(
          progress(at: now), items: items, width: terminal.width - 3,
          // What was said last stays in sight above the block.
          rows: max(1, terminal.rows * 2 / 3), usesColor: style.usesColor))
    } else if isDue, let index = voices.indices.first, voices[index].isShown {
      isDirty = false
      let tick = voices[index].advance()
      terminal.showBar(barLine(voices[index], voices[index].snapshot, .running(tick: tick)))
    }
  }

  private func progress(at now: Duration) -> BatchProgress {
    var progress = batch
    progress.runningFraction = voices.reduce(0) { $0 + ($1.snapshot.fraction ?? 0) }
    progress.bytes = voices.reduce(bytesOfEnded) { $0 + max(0, $1.snapshot.bytes) }
    progress.rate = rate.rate(of: progress.bytes, at: now)
    progress.elapsed = now
    // An item that begins anew takes nothing back of what was shown.
    progress.least = leastFraction
    leastFraction = progress.fraction ?? leastFraction
    return progress
  }

  private func drawLastBar(_ result: JobResult, _ voice: ItemVoice, bySignal: Bool) {
    // An item that never got anywhere has nothing to show but its error.
    let isEmpty = result.code != .ok && voice.snapshot.bytes == 0
    guard result.skipped == nil, !isEmpty else {
      terminal.clearBar()
      return
    }
    var last = voice.snapshot
    if result.code == .ok {
      last.total = last.total ?? last.bytes
      last.bytes = last.total ?? last.bytes
    }
    let failure = result.code == .signal && bySignal ? ProgressBar.Phase.interrupted : .failed
    terminal.finishBar(barLine(voice, last, result.code == .ok ? .done : failure))
  }

  private func barLine(
    _ voice: ItemVoice, _ snapshot: ProgressSnapshot, _ phase: ProgressBar.Phase
  ) -> String {
    // The last columns stay free, for a terminal that wraps on the last one, and for the ^C that it
    // echoes: so neither breaks the line.
    ProgressBar(title: voice.title, snapshot: snapshot, phase: phase, usesColor: style.usesColor)
      .line(width: terminal.width - 3)
  }

  private func write(_ object: JSONObject?) {
    if let object { terminal.writeLine(object.encoded) }
  }
}
