// The thread of one job: takes in what the transfer, the export and the person say, asks the state
// machine, and does what it decides. All blocking disk work of a job is done here.

import FetchCore
import MediaRemux
import PartialStorage
import VideoArchive

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
  enum Source {
    case remote(HTTPFetch, PartialFile)
    /// The part is empty: it only holds the lock of the hidden names beside the output.
    case local(FileDescriptor, FileStatus, lock: PartialFile)
  }

  static let tick = Duration.milliseconds(100)
  /// More is not read by anybody, and a hostile source could fill the memory with it.
  static let maximumWarnings = 200

  let request: JobRequest
  private let host: String
  let cancellation: CancellationFlag
  let onEvent: @Sendable (JobEvent) -> Void
  let mailbox = Mailbox<Message>()
  var machine = JobStateMachine()
  var progress = ProgressModel()
  var clock = StageClock()
  var result: JobResult

  var target: JobTarget?
  var source: Source?
  var waitEnds: ContinuousClock.Instant?
  var lastProgress: ContinuousClock.Instant?
  var restartsForNewVersion = false

  var generation = 0
  var session: RemuxSession?
  var output: OutputFile?
  var counters = RemuxCounters()
  var outcome: RemuxOutcome?
  var total: Int64?
  /// What the export has done with, and the part still holds.
  var released = ReleasedRanges()
  /// Of the source's first bytes, where a checksum is asked for.
  var digest: SourceDigest?
  var warned: Set<FetchWarning> = []

  /// Names the source in the archive.
  var archiveKey: ResourceKey?
  /// What the archive has, where that is whole.
  var archived: ArchiveEntry?
  /// A file that is no longer what the archive has recorded.
  var changedFile: String?
  var skipReason = JobResult.SkipReason.exists
  /// Whether the result has its name.
  var isInPlace = false
  let started = WallClock.seconds()

  init(
    _ request: JobRequest, cancellation: CancellationFlag,
    onEvent: @escaping @Sendable (JobEvent) -> Void
  ) {
    self.request = request
    host = request.host
    self.cancellation = cancellation
    self.onEvent = onEvent
    result = JobResult(url: request.redactedSource, format: request.format)
  }

  /// Does the whole job; returns after its `.result` has been delivered.
  func run() {
    let observer = cancellation.onCancel { [mailbox] in mailbox.post(.cancel) }
    defer { cancellation.removeObserver(observer) }
    do throws(FetchError) {
      try beginChecksum()
      guard try prepare() else { return }
      perform(machine.handle(.begin(hasTransfer: isRemote)))
    } catch {
      announceStart()
      finish(.failed(error))
      return
    }
    while !machine.isOver {
      take(mailbox.next(timeout: checksumLags ? .zero : Self.tick))
      if let waitEnds, waitEnds <= .now {
        self.waitEnds = nil
        perform(machine.handle(.waitEnded))
      }
      guard !machine.isOver else { break }
      fetch?.tick()
      advanceChecksum()
      syncPart()
      reportProgress()
    }
  }

  var isRemote: Bool {
    if case .remote = source { return true }
    return false
  }

  // MARK: - What happens

  func take(_ message: Message?) {
    switch message {
    case nil: break
    case .cancel: perform(machine.handle(.cancel))
    case .fetch(let report): take(report)
    case .remux(let message, let generation) where generation == self.generation: take(message)
    case .remux: break
    }
  }

  func take(_ report: HTTPFetch.Report) {
    switch report {
    case .accepted(let total):
      self.total = total
      perform(machine.handle(.accepted))
      if let total { session?.send(.total(total)) }
    case .completed(let total, let isFramed):
      self.total = total
      perform(machine.handle(.transferCompleted(total: total, isFramed: isFramed)))
    case .paused(let wait, let attempt, let error):
      noteRetryAfter(error)
      emit(.retry(attempt: attempt, wait: wait, error: error))
      perform(machine.handle(.transferPaused(wait)))
    case .again: perform(machine.handle(.transferPaused(.zero)))
    case .failed(let error):
      noteRetryAfter(error)
      perform(machine.handle(.transferFailed(error)))
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
    case .notModified:
      if let archived { takeArchived(archived) }
      perform(machine.handle(.targetExists))
    case .warning(let warning): warn(warning)
    case .log(let text): emit(.log(level: 2, text))
    }
  }

  func take(_ message: RemuxMessage) {
    switch message {
    case .want(let offset): fetch?.want(offset)
    case .probed: break
    case .planned(let plan): result.streams = plan.streams
    case .progress(let counters): self.counters = counters
    case .released(let range): giveBack(range)
    case .warning(let warning): warn(warning)
    case .finished(let outcome):
      self.outcome = outcome
      counters = outcome.counters
      perform(machine.handle(.exportFinished(outcome)))
    case .failed(let error): perform(machine.handle(.exportFailed(error)))
    }
  }

  // MARK: - What is done

  func perform(_ actions: [JobStateMachine.Action]) {
    for action in actions {
      // What an action led to may have ended the job.
      if machine.isOver, !action.isEnding { return }
      switch action {
      case .request: perform(beforeRequest())
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

  /// Asks for what is missing, unless the host has asked one of us to leave it alone.
  private func beforeRequest() -> [JobStateMachine.Action] {
    guard let left = request.limits?.pauseLeft(of: host), left > .zero else {
      fetch?.request()
      return []
    }
    guard left < request.transfer.retryMaxTime else {
      return machine.handle(
        .transferFailed(
          FetchError(
            .busy, "the server wants to be left alone for \(left.components.seconds) s",
            reason: "it has said so to another item", recovery: "run the same command again then",
            retryAfter: Int(left.components.seconds))))
    }
    return machine.handle(.transferPaused(left))
  }

  private func noteRetryAfter(_ error: FetchError) {
    guard let seconds = error.retryAfter else { return }
    request.limits?.pause(host, for: .seconds(seconds))
  }

  var fetch: HTTPFetch? {
    guard case .remote(let fetch, _) = source else { return nil }
    return fetch
  }

  var part: PartialFile? {
    guard case .remote(_, let part) = source else { return nil }
    return part
  }

  /// The part, be it only a lock.
  var anyPart: PartialFile? {
    switch source {
    case .remote(_, let part): part
    case .local(_, _, let lock): lock
    case nil: nil
    }
  }

  func startExport() {
    guard let target, let source else { return }
    endExport()
    generation += 1
    let current = generation
    do throws(FetchError) {
      let output = try makeOutput(in: target.folder)
      self.output = output
      let descriptor: FileDescriptor =
        switch source {
        case .remote(_, let part): part.descriptor
        case .local(let file, _, _): file
        }
      var remux = RemuxRequest(format: request.format, settings: request.export)
      remux.releasesSource = part != nil && target.savesDisk
      let session = try RemuxSession(
        remux, source: descriptor.rawValue, sink: output.descriptor.rawValue
      ) { [mailbox] in mailbox.post(.remux($0, generation: current)) }
      self.session = session
      feed(session)
    } catch {
      perform(machine.handle(.exportFailed(error)))
    }
  }

  /// Hidden names need the part's lock; without one, an output does that needs none of them.
  private func makeOutput(in folder: Folder) throws(FetchError) -> OutputFile {
    if let anyPart, !anyPart.holdsName {
      if let output = try OutputFile.nameless(in: folder) { return output }
      try anyPart.settle()
    }
    return try OutputFile.make(in: folder, stem: outputStem)
  }

  func feed(_ session: RemuxSession) {
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
  func endExport() {
    part?.announce(to: nil)
    session = nil
    output?.discard()
    output = nil
    released = ReleasedRanges()
    counters = RemuxCounters()
  }

  var outputStem: String {
    guard let part = anyPart else { return ".vidfetch" }
    return String(part.name.dropLast(".part".count))
  }

  func resetPart() {
    endExport()
    fetch?.forget(isNew: restartsForNewVersion)
    total = nil
    result.streams = []
    result.warnings.removeAll { $0.stream != nil }
    warned = Set(result.warnings)
    do throws(FetchError) {
      try part?.restart()
      try resetChecksum()
    } catch {
      perform(machine.handle(.transferFailed(error)))
    }
  }

  /// Gives room back that the export needs no more; the source of a local job is the person's own.
  func giveBack(_ range: ByteRange) {
    guard let part, target?.savesDisk == true else { return }
    released.insert(range)
    do throws(FetchError) {
      for blocks in released.take(present: part.ranges, total: total) {
        guard try advanceChecksum(to: blocks.upperBound) else {
          // Offered again with what is released next.
          released.insert(blocks)
          continue
        }
        guard try part.punch(blocks) else {
          warn(
            FetchWarning(
              .unusual, "this file system takes no room back from a part; --low-disk saves none"))
          return
        }
      }
    } catch {
      perform(machine.handle(.storageFailed(error)))
    }
  }

  func syncPart() {
    guard let part else { return }
    part.keepAlive()
    // What no record claims need not survive a power failure.
    guard !part.isSpent else { return }
    do throws(FetchError) {
      try part.settleIfDue()
      try part.syncIfDue()
    } catch {
      perform(machine.handle(.storageFailed(error)))
    }
  }

  // MARK: - Telling

  func emit(_ event: JobEvent) { onEvent(event) }

  func warn(_ warning: FetchWarning) {
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

  func reportProgress(force: Bool = false) {
    let now = ContinuousClock.now
    if !force, let lastProgress, lastProgress.duration(to: now) < Self.tick { return }
    lastProgress = now
    emit(.progress(snapshot(stage(publishing: force), at: clock.elapsed)))
  }

  func stage(publishing: Bool) -> ProgressSnapshot.Stage {
    if publishing { return .publishing }
    if waitEnds != nil { return .waiting }
    guard let part else { return .exporting }
    guard let total else { return part.ranges.isEmpty ? .connecting : .transferring }
    return part.ranges.isComplete(total: total) ? .exporting : .transferring
  }

  func snapshot(
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
