// A run from its words to its exit status: parse, resolve, run each item, tell what happens. The main
// thread is the only one that writes; jobs and signals reach it through the inbox.

package import FetchCore
import Glibc
package import VidFetchKit

/// The vidfetch command.
package struct Command {
  /// Starts a job; its events go to the closure, the result is the last.
  ///
  /// Returns its cancel.
  package typealias Runner =
    (JobRequest, @escaping @Sendable (JobEvent) -> Void) -> @Sendable () -> Void

  /// Starts a look at a source; its events go to the closure, `probed` is the last.
  ///
  /// Returns its cancel.
  package typealias Prober =
    (ProbeRequest, @escaping @Sendable (JobEvent) -> Void) -> @Sendable () -> Void

  /// How long a cancelled job is waited for; the signal thread has a little more patience.
  private static let cancelGrace = Duration.milliseconds(750)

  let terminal: Terminal
  let environment: CommandEnvironment
  let inbox: EventInbox
  private let runner: Runner
  let prober: Prober
  private let watchSignals: () -> Result<SignalWatcher?, SystemError>

  /// Makes a command.
  ///
  /// - Parameter watchSignals: called when options are right and the first job is about to run.
  package init(
    terminal: Terminal, environment: CommandEnvironment, inbox: EventInbox = EventInbox(),
    runner: @escaping Runner, prober: @escaping Prober = Self.probe,
    watchSignals: @escaping () -> Result<SignalWatcher?, SystemError> = { .success(nil) }
  ) {
    self.terminal = terminal
    self.environment = environment
    self.inbox = inbox
    self.runner = runner
    self.prober = prober
    self.watchSignals = watchSignals
  }

  /// Runs the process's own command line, and ends the process.
  package static func main() -> Never {
    ProcessStart.openStandardDescriptors()
    ProcessStart.ignoreWriteSignals()
    let parsed = ArgumentParser.parseProcessArguments()
    let environment = CommandEnvironment.current()
    let terminal = Terminal(environment: environment)
    let inbox = EventInbox()
    let command = Command(
      terminal: terminal, environment: environment, inbox: inbox,
      runner: { request, onEvent in
        let job = FetchJob(request, onEvent: onEvent)
        job.start()
        return { job.cancel() }
      },
      watchSignals: {
        let watcher = SignalWatcher(inbox: inbox, terminal: terminal)
        return Result { () throws(SystemError) in
          try watcher.start()
          return watcher
        }
      })
    command.run(parsed).end()
  }

  /// Carries out a parsed command line.
  package func run(_ parsed: ArgumentParser.Outcome) -> ProcessEnding {
    let width = environment.standardOutputIsTerminal ? terminal.width : 80
    switch parsed.arguments.action {
    case .shortHelp: return write(HelpText.short(width: width))
    case .longHelp: return write(HelpText.long(width: width))
    case .version: return write(VersionText.text)
    case .generate(let what): return write(GeneratedDocument.text(what))
    case .fetch: break
    }
    let settings: Settings
    do throws(UsageError) {
      if let error = parsed.error { throw error }
      settings = try Settings(parsed.arguments, environment)
    } catch {
      terminal.writeLine("vidfetch: \(error.line)")
      return .exit(OutcomeCode.usage.exitStatus)
    }
    switch watchSignals() {
    case .success(let signals):
      return settings.probes ? probe(settings, signals) : run(settings, signals)
    case .failure(let error):
      terminal.writeLine("vidfetch: no thread for signals: \(error.text)")
      return .exit(OutcomeCode.internal.exitStatus)
    }
  }

  private func write(_ document: String) -> ProcessEnding {
    guard let error = terminal.writeDocument(document) else { return .exit(0) }
    terminal.writeLine("vidfetch: standard output: \(error.text)")
    return .exit(OutcomeCode.localIO.exitStatus)
  }

  // MARK: Items

  private func run(_ settings: Settings, _ signals: SignalWatcher?) -> ProcessEnding {
    let count = settings.requests.count
    let reporter = Reporter(terminal: terminal, style: settings.style, itemCount: count)
    let clock = ContinuousClock()
    let began = clock.now
    var outcomes: [OutcomeCode] = []
    var summary = BatchSummary()
    var endedBy: Int32?

    for (index, request) in settings.requests.enumerated() {
      reporter.begin(job: index + 1, source: request.source, at: clock.now - began)
      let (result, signal) = run(request, reporter, signals) { clock.now - began }
      endedBy = signal
      let exit =
        result.code == .signal ? 128 + (signal ?? SIGTERM) : result.code.exitStatus
      let trouble = reporter.end(
        result, exit: exit, bySignal: signal != nil, at: clock.now - began)
      outcomes.append(result.code)
      summary.count(result)
      if let trouble {
        reporter.complain(trouble, fileIsInPlace: result.code == .ok)
        outcomes.append(.localIO)
      }
      if endedBy != nil { break }
    }

    var status = endedBy.map { 128 + $0 } ?? ExitStatus.combined(outcomes)
    if count > 1 {
      summary.seconds = seconds(clock.now - began)
      if let trouble = reporter.end(summary, exit: status) {
        reporter.complain(trouble, fileIsInPlace: false)
        if endedBy == nil { status = ExitStatus.combined(outcomes + [.localIO]) }
      }
    }
    return endedBy.map { .signal($0) } ?? .exit(status)
  }

  /// Runs one item to its result; the signal is the one that came meanwhile.
  private func run(
    _ request: JobRequest, _ reporter: Reporter, _ signals: SignalWatcher?,
    now: () -> Duration
  ) -> (JobResult, signal: Int32?) {
    let cancel = runner(request) { [inbox] in inbox.post(.job($0)) }
    let (found, signal) = follow(cancel, signals, now: now, patience: { reporter.patience }) {
      message -> JobResult? in
      switch message {
      case .job(.result(let result)): return result
      case .job(let event): reporter.show(event, at: now())
      case .resized: reporter.resize()
      case .continued: reporter.resume()
      case .interrupted: break
      case nil: reporter.passTime(at: now())
      }
      return nil
    }
    if let found { return (found, signal) }
    var result = JobResult(url: reporter.currentURL, format: request.format)
    result.code = .signal
    result.error = .cancelled
    return (result, signal)
  }

  /// Takes what happens until `end` finds an item's result in it; nil where it is cancelled and
  /// doesn't come.
  ///
  /// - Parameters:
  ///   - patience: how soon `end` wants to be called although nothing happens.
  ///   - end: called for each message, and with nil where time has passed without one.
  func follow<Result>(
    _ cancel: @escaping @Sendable () -> Void, _ signals: SignalWatcher?, now: () -> Duration,
    patience: () -> Duration?, until end: (EventInbox.Message?) -> Result?
  ) -> (Result?, signal: Int32?) {
    signals?.setJob(cancel)
    defer { signals?.setJob(nil) }
    var signal: Int32?
    var deadline: Duration?
    while true {
      let left = deadline.map { max($0 - now(), .zero) }
      let message = inbox.next(timeout: [left, patience()].compactMap { $0 }.min())
      if let result = end(message) { return (result, signal) }
      if case .interrupted(let number) = message {
        signal = number
        deadline = now() + Self.cancelGrace
        // The watcher has cancelled its job; one that isn't watched is cancelled here.
        if signals == nil { cancel() }
      }
      if let deadline, now() >= deadline { return (nil, signal) }
    }
  }

  func seconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
