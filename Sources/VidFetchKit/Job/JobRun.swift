// The thread of one job: takes in what the transfer, the export and the person say, asks the state
// machine, and does what it decides. All blocking disk work of a job is done here.

import FetchCore
import MediaRemux
import PartialStorage

/// A job at work.
///
/// Confined to the thread that calls `run()`; others reach it through its mailbox.
final class JobRun {
  enum Message: Sendable {
    case fetch(HTTPFetch.Report)
    /// `generation` tells a remux that was cancelled for a restart from the present one.
    case remux(RemuxMessage, generation: Int)
    case cancel
  }

  /// Where the bytes come from.
  private enum Source {
    case remote(HTTPFetch, PartialFile)
    /// The part is empty: it only holds the lock of the hidden names beside the output.
    case local(FileDescriptor, FileStatus, lock: PartialFile)
  }

  private static let tick = Duration.milliseconds(100)
  /// More is not read by anybody, and a hostile source could fill the memory with it.
  private static let maximumWarnings = 200

  private let request: JobRequest
  private let cancellation: CancellationFlag
  private let onEvent: @Sendable (JobEvent) -> Void
  private let mailbox = Mailbox<Message>()
  private var machine = JobStateMachine()
  private var progress = ProgressModel()
  private var clock = StageClock()
  private var result: JobResult

  private var target: JobTarget?
  private var source: Source?
  private var waitEnds: ContinuousClock.Instant?
  private var lastProgress: ContinuousClock.Instant?
  private var restartsForNewVersion = false

  private var generation = 0
  private var session: RemuxSession?
  private var output: OutputFile?
  private var counters = RemuxCounters()
  private var outcome: RemuxOutcome?
  private var total: Int64?
  private var warned: Set<FetchWarning> = []

  init(
    _ request: JobRequest, cancellation: CancellationFlag,
    onEvent: @escaping @Sendable (JobEvent) -> Void
  ) {
    self.request = request
    self.cancellation = cancellation
    self.onEvent = onEvent
    result = JobResult(url: HTTPFetch.redacted(request.source), format: request.format)
  }

  /// Does the whole job; returns after its `.result` has been delivered.
  func run() {
    let observer = cancellation.onCancel { [mailbox] in mailbox.post(.cancel) }
    defer { cancellation.removeObserver(observer) }
    do throws(FetchError) {
      guard try prepare() else { return }
      perform(machine.handle(.begin(hasTransfer: isRemote)))
    } catch {
      announceStart()
      finish(.failed(error))
      return
    }
    while !machine.isOver {
      take(mailbox.next(timeout: Self.tick))
      if let waitEnds, waitEnds <= .now {
        self.waitEnds = nil
        perform(machine.handle(.waitEnded))
      }
      guard !machine.isOver else { break }
      syncPart()
      reportProgress()
    }
  }

  private var isRemote: Bool {
    if case .remote = source { return true }
    return false
  }

  // MARK: - Beginning

  /// Opens everything that can be opened before the first byte; false where the job is over already.
  private func prepare() throws(FetchError) -> Bool {
    let address = try SourceAddress(request.source)
    switch address {
    case .file(let path): return try prepareLocal(path)
    case .url(let text): return try prepareRemote(HTTPFetch.parse(text))
    }
  }

  private func prepareLocal(_ path: String) throws(FetchError) -> Bool {
    let (file, status) = try LocalSource.open(path)
    let (target, lock) = try openTarget(key: LocalSource.key(of: path), takesSuffix: true)
    do throws(FetchError) {
      let name = target.name(from: localProposals)
      if try target.isSatisfied(by: name, source: status) {
        lock.remove()
        return skip(to: target.path(of: name))
      }
      try DiskDemand(missing: 0, output: status.size).check(target.folder)
    } catch {
      lock.remove()
      throw error
    }
    source = .local(file, status, lock: lock)
    announceStart()
    return true
  }

  private func prepareRemote(_ address: HTTPFetch.Address) throws(FetchError) -> Bool {
    let (target, part) = try openTarget(key: address.key, takesSuffix: nil)
    if let path = target.published(by: part.record) {
      // The run before this one had done everything but remove its part.
      result.path = path
      keepOrRemove(part, sourceName: part.record.proposedName ?? address.url.lastPathComponent)
      return skip(to: path)
    }
    do throws(FetchError) {
      if let name = target.nameIfKnown, try target.isSatisfied(by: name) {
        leave(part, keeping: true)
        return skip(to: target.path(of: name))
      }
    } catch {
      leave(part, keeping: true)
      throw error
    }
    announceStart()
    if case .unusable(let bytes) = part.found {
      emit(.restart(reason: .partUnusable, bytes: bytes))
    }
    let fetch = HTTPFetch(
      address, settings: request.transfer, part: part,
      admit: { [target] admission throws(FetchError) in try admission.check(target) },
      report: { [mailbox] in mailbox.post(.fetch($0)) })
    source = .remote(fetch, part)
    return true
  }

  /// Opens the target's folder and the part in it.
  ///
  /// A run that ends may remove its empty folder while this one opens it; then it is made again.
  private func openTarget(
    key: ResourceKey, takesSuffix: Bool?
  ) throws(FetchError) -> (JobTarget, PartialFile) {
    while true {
      let target = try JobTarget(request)
      self.target = target
      do throws(FetchError) {
        let part = try PartialFile.open(
          in: target.folder, key: key, takesSuffix: takesSuffix ?? target.isPrivate)
        return (target, part)
      } catch {
        guard target.folder.isGone, !cancellation.isCancelled else { throw error }
      }
    }
  }

  private var localProposals: [String?] {
    guard case .file(let path) = try? SourceAddress(request.source) else { return [] }
    return [path]
  }

  private func announceStart() {
    let path = target.flatMap { target in target.nameIfKnown.map { target.path(of: $0) } }
    emit(.start(url: result.url, target: path))
    emit(.progress(snapshot(.connecting, at: .zero)))
  }

  private func skip(to path: String) -> Bool {
    announceStart()
    result.path = path
    finish(.skipped)
    return false
  }

  // MARK: - What happens

  private func take(_ message: Message?) {
    switch message {
    case nil: break
    case .cancel: perform(machine.handle(.cancel))
    case .fetch(let report): take(report)
    case .remux(let message, let generation) where generation == self.generation: take(message)
    case .remux: break
    }
  }

  private func take(_ report: HTTPFetch.Report) {
    switch report {
    case .accepted(let total):
      self.total = total
      perform(machine.handle(.accepted))
      if let total { session?.send(.total(total)) }
    case .completed(let total, let isFramed):
      self.total = total
      perform(machine.handle(.transferCompleted(total: total, isFramed: isFramed)))
    case .paused(let wait, let attempt, let error):
      emit(.retry(attempt: attempt, wait: wait, error: error))
      perform(machine.handle(.transferPaused(wait)))
    case .again: perform(machine.handle(.transferPaused(.zero)))
    case .failed(let error): perform(machine.handle(.transferFailed(error)))
    case .restart(let reason, let bytes):
      emit(.restart(reason: reason, bytes: bytes))
      restartsForNewVersion = reason == .remoteChanged
      if reason == .remoteChanged {
        warn(
          FetchWarning(.remoteChanged, "the remote file changed; it is fetched from its beginning"))
      }
      perform(machine.handle(.restart))
    case .targetExists(let path):
      result.path = path
      perform(machine.handle(.targetExists))
    case .warning(let warning): warn(warning)
    case .log(let text): emit(.log(level: 2, text))
    }
  }

  private func take(_ message: RemuxMessage) {
    switch message {
    case .want: break
    case .planned(let plan): result.streams = plan.streams
    case .progress(let counters): self.counters = counters
    case .warning(let warning): warn(warning)
    case .finished(let outcome):
      self.outcome = outcome
      counters = outcome.counters
      perform(machine.handle(.exportFinished(outcome)))
    case .failed(let error): perform(machine.handle(.exportFailed(error)))
    }
  }

  // MARK: - What is done

  private func perform(_ actions: [JobStateMachine.Action]) {
    for action in actions {
      // What an action led to may have ended the job.
      if machine.isOver, !action.isEnding { return }
      switch action {
      case .request: fetch?.request()
      case .wait(let wait): waitEnds = .now + wait
      case .cancelTransfer: fetch?.cancel()
      case .startExport: startExport()
      case .endSource(let total, let isFramed):
        session?.send(.ended(total: total, isFramed: isFramed))
      case .cancelExport: session?.send(.cancel)
      case .resetPart: resetPart()
      case .publish: publish()
      case .finish(let outcome): finish(outcome)
      }
    }
  }

  private var fetch: HTTPFetch? {
    guard case .remote(let fetch, _) = source else { return nil }
    return fetch
  }

  private var part: PartialFile? {
    guard case .remote(_, let part) = source else { return nil }
    return part
  }

  /// The part, be it only a lock.
  private var anyPart: PartialFile? {
    switch source {
    case .remote(_, let part): part
    case .local(_, _, let lock): lock
    case nil: nil
    }
  }

  private func startExport() {
    guard let target, let source else { return }
    endExport()
    generation += 1
    let current = generation
    do throws(FetchError) {
      let output = try OutputFile.make(in: target.folder, stem: outputStem)
      self.output = output
      let descriptor: FileDescriptor =
        switch source {
        case .remote(_, let part): part.descriptor
        case .local(let file, _, _): file
        }
      let session = try RemuxSession(
        RemuxRequest(format: request.format, indexFirst: request.indexFirst),
        source: descriptor.rawValue, sink: output.descriptor.rawValue
      ) { [mailbox] in mailbox.post(.remux($0, generation: current)) }
      self.session = session
      feed(session)
    } catch {
      perform(machine.handle(.exportFailed(error)))
    }
  }

  private func feed(_ session: RemuxSession) {
    switch source {
    case .remote(_, let part):
      if let total { session.send(.total(total)) }
      part.announce { session.send(.have($0)) }
    case .local(_, let status, _):
      total = status.size
      session.send(.total(status.size))
      if let all = ByteRange(0, status.size) { session.send(.have(all)) }
      session.send(.ended(total: status.size, isFramed: true))
    case nil: break
    }
  }

  /// Lets go of an export that is silent.
  private func endExport() {
    part?.announce(to: nil)
    session = nil
    output?.discard()
    output = nil
    counters = RemuxCounters()
  }

  private var outputStem: String {
    guard let part = anyPart else { return ".vidfetch" }
    return String(part.name.dropLast(".part".count))
  }

  private func resetPart() {
    endExport()
    fetch?.forget(isNew: restartsForNewVersion)
    total = nil
    result.streams = []
    result.warnings.removeAll { $0.stream != nil }
    warned = Set(result.warnings)
    do throws(FetchError) {
      try part?.restart()
    } catch {
      perform(machine.handle(.transferFailed(error)))
    }
  }

  private func syncPart() {
    guard let part else { return }
    do throws(FetchError) {
      try part.syncIfDue()
    } catch {
      perform(machine.handle(.storageFailed(error)))
    }
  }

  private func publish() {
    reportProgress(force: true)
    do throws(FetchError) {
      guard let target, let output, let outcome else {
        throw FetchError(.internal, "there is nothing to publish")
      }
      if let part, let total, !part.ranges.isComplete(total: total) {
        throw FetchError(.internal, "the export ended before the download had")
      }
      let name = target.name(from: fetch?.proposals ?? localProposals)
      try output.sync(cancellation)
      let path = try target.publish(output, as: name) { name throws(FetchError) in
        guard let part else { return }
        do throws(SystemError) {
          let status = try output.descriptor.status()
          part.updateRecord { $0.publication = .init(name: name, status) }
        } catch {
          throw error.fetchError("publishing \(target.path(of: name))")
        }
      }
      guard let path else {
        result.path = target.path(of: name)
        perform(machine.handle(.publishedByAnother))
        return
      }
      result.path = path
      result.bytes = outcome.bytes
      result.duration = outcome.duration
      result.completeBy = outcome.completeBy
      result.streams = outcome.plan.streams
      if let anyPart { keepOrRemove(anyPart, sourceName: fetch?.sourceName ?? "") }
      perform(machine.handle(.published))
    } catch {
      perform(machine.handle(.publishFailed(error)))
    }
  }

  /// After success: the source goes, or gets the name that the person asked for.
  private func keepOrRemove(_ part: PartialFile, sourceName: String) {
    if request.keepsSource, !part.ranges.isEmpty, let path = result.path {
      do throws(FetchError) {
        try part.publish(
          as: OutputName.sourceName(for: path.lastComponent, source: sourceName),
          replacing: request.existingTarget == .overwrite,
          mode: part.folder.status(of: path.lastComponent)?.mode ?? 0o644)
      } catch {
        warn(FetchWarning(.unusual, "the source was not kept: \(error.message)"))
      }
    }
    part.remove()
  }

  // MARK: - Ending

  private func finish(_ outcome: JobStateMachine.Outcome) {
    if session != nil || output != nil { endExport() }
    switch outcome {
    case .succeeded: break
    case .skipped:
      result.skipped = .exists
      if let anyPart { leave(anyPart, keeping: true) }
    case .failed(let error):
      result.error = error
      result.code = error.code
      result.path = nil
      if let part = anyPart {
        let keeps = error.code.keepsPart && part.record.hasValidator && !part.ranges.isEmpty
        leave(part, keeping: keeps)
        if keeps { result.part = target?.path(of: part.name) }
      }
      target?.folder.removeIfMadeAndEmpty()
    }
    result.attempts = fetch?.attempts ?? 0
    result.timings = clock.seconds()
    emit(.result(result))
  }

  private func leave(_ part: PartialFile, keeping: Bool) {
    if keeping, !part.ranges.isEmpty { part.flushRecord() } else { part.remove() }
  }

  // MARK: - Telling

  private func emit(_ event: JobEvent) { onEvent(event) }

  private func warn(_ warning: FetchWarning) {
    guard result.warnings.count <= Self.maximumWarnings, warned.insert(warning).inserted else {
      return
    }
    var warning = warning
    if result.warnings.count == Self.maximumWarnings {
      warning = FetchWarning(.unusual, "there are more warnings than anybody would read")
    }
    result.warnings.append(warning)
    emit(.warning(warning))
  }

  private func reportProgress(force: Bool = false) {
    let now = ContinuousClock.now
    if !force, let lastProgress, lastProgress.duration(to: now) < Self.tick { return }
    lastProgress = now
    emit(.progress(snapshot(stage(publishing: force), at: clock.elapsed)))
  }

  private func stage(publishing: Bool) -> ProgressSnapshot.Stage {
    if publishing { return .publishing }
    if waitEnds != nil { return .waiting }
    guard let part else { return .exporting }
    guard let total else { return part.ranges.isEmpty ? .connecting : .transferring }
    return part.ranges.isComplete(total: total) ? .exporting : .transferring
  }

  private func snapshot(
    _ stage: ProgressSnapshot.Stage, at time: Duration
  ) -> ProgressSnapshot {
    clock.enter(stage)
    var present: Int64 = 0
    var received: Int64 = 0
    switch source {
    case .remote(_, let part):
      present = part.ranges.byteCount
      received = part.received
    case .local(_, let status, _):
      // Nothing is downloaded: all of it is here once the job has begun.
      present = session == nil ? 0 : status.size
    case nil: break
    }
    return progress.snapshot(
      stage: stage, time: time, present: present, received: received, total: total,
      position: counters.sourcePosition)
  }
}

extension String {
  /// What follows the last slash.
  fileprivate var lastComponent: String {
    lastIndex(of: "/").map { String(self[index(after: $0)...]) } ?? self
  }
}
