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
    ProcessStart.keepFreedMemory()
    let typed = ArgumentParser.parseProcessArguments()
    let environment = CommandEnvironment.current()
    let parsed = typed.completed(by: environment)
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
    var settings: Settings
    do throws(UsageError) {
      if let error = parsed.error { throw error }
      settings = try Settings(parsed.arguments, environment)
    } catch {
      terminal.writeLine("vidfetch: \(error.line)")
      return .exit(OutcomeCode.usage.exitStatus)
    }
    if settings.reports {
      let format =
        settings.reportFormat
        ?? .standard(onTerminal: environment.standardOutputIsTerminal)
      return Report.write(
        files: settings.items.arguments, format: format, terminal: terminal, width: width)
    }
    if settings.listsHistory { return history(&settings) }
    let reader: ItemReader
    do throws(UsageError) {
      reader = try openItems(settings)
    } catch {
      terminal.writeLine("vidfetch: \(error.line)")
      return .exit(OutcomeCode.usage.exitStatus)
    }
    switch watchSignals() {
    case .success(let signals):
      return settings.probes
        ? probe(settings, reader, signals) : run(&settings, reader, signals)
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

  private func openItems(_ settings: Settings) throws(UsageError) -> sending ItemReader {
    do throws(SystemError) {
      return try settings.items.open()
    } catch {
      throw UsageError("--input can't read \(settings.items.list ?? ""): \(error.text)")
    }
  }

  private func run(
    _ settings: inout Settings, _ reader: sending ItemReader, _ signals: SignalWatcher?
  ) -> ProcessEnding {
    let file: ResultsFile?
    var earlier = EarlierAttempts()
    do throws(FetchError) {
      if let path = settings.resultsPath, settings.batch.maxAttempts != nil {
        try Report.readIfThere(path) { earlier.add($0) }
      }
      file = try settings.resultsPath.map { path throws(FetchError) in try ResultsFile(path: path) }
      try settings.openArchive()
      reader.remember(in: settings.request.archive)
    } catch {
      terminal.writeLine("vidfetch: \(Printable.escape(error.text))")
      return .exit(error.code.exitStatus)
    }
    let results = ResultSink(
      terminal: terminal, style: settings.style, file: file, inOrder: settings.batch.inOrder)
    let batch = BatchRun(
      settings, terminal: terminal, inbox: inbox, results: results, earlier: earlier,
      runner: runner)
    return batch.run(reader, signals)
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
