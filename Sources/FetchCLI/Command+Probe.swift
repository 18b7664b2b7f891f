// A run of `--probe`: looks at one source after the other, and says what was found.

import FetchCore
package import VidFetchKit

extension Command {
  /// Starts a look by the library's engine.
  package static func probe(
    _ request: ProbeRequest, _ onEvent: @escaping @Sendable (JobEvent) -> Void
  ) -> @Sendable () -> Void {
    let job = ProbeJob(request, onEvent: onEvent)
    job.start()
    return { job.cancel() }
  }

  /// Looks at each source; the exit status follows the rule of a batch.
  func probe(_ settings: Settings, _ signals: SignalWatcher?) -> ProcessEnding {
    let count = settings.requests.count
    let reporter = ProbeReporter(
      terminal: terminal, style: settings.style, itemCount: count,
      showsTable: environment.standardOutputIsTerminal && settings.style.results != .json)
    let clock = ContinuousClock()
    let began = clock.now
    var outcomes: [OutcomeCode] = []
    var summary = BatchSummary()
    var endedBy: Int32?

    for (index, request) in settings.requests.enumerated() {
      reporter.begin(job: index + 1, url: request.redactedSource)
      let (result, signal) = probe(ProbeRequest(request), reporter, signals) { clock.now - began }
      endedBy = signal
      let exit = result.code == .signal ? 128 + (signal ?? 15) : result.code.exitStatus
      outcomes.append(result.code)
      summary.count(result.code)
      if let trouble = reporter.end(result, exit: exit, bySignal: signal != nil) {
        reporter.complain(trouble)
        outcomes.append(.localIO)
      }
      if endedBy != nil { break }
    }

    var status = endedBy.map { 128 + $0 } ?? ExitStatus.combined(outcomes)
    if count > 1 {
      summary.seconds = seconds(clock.now - began)
      if let trouble = reporter.end(summary, exit: status) {
        reporter.complain(trouble)
        if endedBy == nil { status = ExitStatus.combined(outcomes + [.localIO]) }
      }
    }
    return endedBy.map { .signal($0) } ?? .exit(status)
  }

  private func probe(
    _ request: ProbeRequest, _ reporter: ProbeReporter, _ signals: SignalWatcher?,
    now: () -> Duration
  ) -> (ProbeResult, signal: Int32?) {
    let cancel = prober(request) { [inbox] in inbox.post(.job($0)) }
    let (found, signal) = follow(cancel, signals, now: now, patience: { nil }) {
      message -> ProbeResult? in
      guard case .job(let event) = message else { return nil }
      if case .probed(let result) = event { return result }
      reporter.show(event)
      return nil
    }
    if let found { return (found, signal) }
    var result = ProbeResult(url: request.redactedSource, format: request.format)
    result.code = .signal
    result.error = .cancelled
    return (result, signal)
  }
}

extension ProbeRequest {
  /// The look at what a job would fetch.
  fileprivate init(_ job: JobRequest) {
    self.init(source: job.source)
    format = job.format
    export = job.export
    transfer = job.transfer
  }
}
