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
  func probe(
    _ settings: Settings, _ reader: ItemReader, _ signals: SignalWatcher?
  ) -> ProcessEnding {
    let reporter = ProbeReporter(
      terminal: terminal, style: settings.style, itemCount: settings.isBatch ? 2 : 1,
      showsTable: environment.standardOutputIsTerminal && settings.style.results != .json)
    let clock = ContinuousClock()
    let began = clock.now
    var outcomes: Set<OutcomeCode> = []
    var summary = BatchSummary()
    var endedBy: Int32?

    while endedBy == nil {
      let item: BatchItem
      do throws(SystemError) {
        // A list that is a pipe is waited for here; a signal ends the process all the same.
        guard let next = try reader.next() else { break }
        item = next
      } catch {
        reporter.complain(error)
        outcomes.insert(.localIO)
        break
      }
      summary.items += 1
      reporter.begin(job: item.job, url: item.url)
      let result: ProbeResult
      switch item.content {
      case .fetch(let request):
        (result, endedBy) = probe(ProbeRequest(request), reporter, signals) { clock.now - began }
      case .bad(let error):
        var bad = ProbeResult(url: item.url, format: settings.request.format)
        bad.code = error.code
        bad.error = error
        result = bad
      case .duplicate:
        summary.skipped += 1
        continue
      }
      let exit = result.code == .signal ? 128 + (endedBy ?? 15) : result.code.exitStatus
      outcomes.insert(result.code)
      summary.count(result.code)
      if let trouble = reporter.end(result, exit: exit, bySignal: endedBy != nil) {
        reporter.complain(trouble)
        outcomes.insert(.localIO)
      }
    }

    if reader.itemsOfAll == 0, !settings.batch.allowsEmpty, outcomes.isEmpty {
      terminal.writeLine("vidfetch: the list has no item; --allow-empty lets that be")
      return .exit(OutcomeCode.usage.exitStatus)
    }
    var status = endedBy.map { 128 + $0 } ?? ExitStatus.combined(outcomes)
    if settings.isBatch {
      summary.seconds = seconds(clock.now - began)
      if let trouble = reporter.end(summary, exit: status) {
        reporter.complain(trouble)
        if endedBy == nil { status = ExitStatus.combined(outcomes.union([.localIO])) }
      }
    }
    return endedBy.map { .signal($0) } ?? .exit(status)
  }

  private func probe(
    _ request: ProbeRequest, _ reporter: ProbeReporter, _ signals: SignalWatcher?,
    now: () -> Duration
  ) -> (ProbeResult, signal: Int32?) {
    let cancel = prober(request) { [inbox] in inbox.post(.job(0, $0)) }
    let (found, signal) = follow(cancel, signals, now: now, patience: { nil }) {
      message -> ProbeResult? in
      guard case .job(_, let event) = message else { return nil }
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
