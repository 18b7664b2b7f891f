// The thread of one look at a source: hands the bytes that the demuxer waits for from the network to
// the remux, until that has seen enough. Nothing that it makes has a name on disk.

import FetchCore
import HTTPTransfer
import MediaRemux
import PartialStorage

/// A probe at work.
///
/// Confined to the thread that calls `run()`; others reach it through its mailbox.
final class ProbeRun {
  private enum Message: Sendable {
    case fetch(ProbeFetch.Report)
    /// `generation` tells a remux that was called off from the present one.
    case remux(RemuxMessage, generation: Int)
    case cancel
  }

  private struct Remote {
    var fetch: ProbeFetch
    var cache: ScratchFile
    var window = ReadWindow()
    /// Whether an exchange runs, or has ended with a report that is still to be taken in.
    var isAsking = false
    /// The byte that the demuxer waits for.
    var wanted: Int64?
  }

  private let request: ProbeRequest
  private let cancellation: CancellationFlag
  private let onEvent: @Sendable (JobEvent) -> Void
  private let mailbox = Mailbox<Message>()

  private var result: ProbeResult
  private var remote: Remote?
  /// Also asked by the transfer thread: what is known of a source must reach its remux before the
  /// bytes do.
  private let session = Locked<RemuxSession?>(nil)
  private var generation = 0
  private var waitEnds: ContinuousClock.Instant?
  private var isOver = false

  init(
    _ request: ProbeRequest, cancellation: CancellationFlag,
    onEvent: @escaping @Sendable (JobEvent) -> Void
  ) {
    self.request = request
    self.cancellation = cancellation
    self.onEvent = onEvent
    result = ProbeResult(url: request.redactedSource, format: request.format)
  }

  /// Looks at the source; returns after its `.probed` has been delivered.
  func run() {
    let observer = cancellation.onCancel { [mailbox] in mailbox.post(.cancel) }
    defer { cancellation.removeObserver(observer) }
    onEvent(.start(url: result.url, target: nil))
    attempt { () throws(FetchError) in try begin() }
    while !isOver {
      let patience = waitEnds.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
      let message = mailbox.next(timeout: patience)
      attempt { () throws(FetchError) in
        try take(message)
        if let waitEnds, waitEnds <= .now {
          self.waitEnds = nil
          try bring()
        }
      }
    }
  }

  /// Does something whose failure is the probe's.
  private func attempt(_ body: () throws(FetchError) -> Void) {
    do throws(FetchError) { try body() } catch { finish(error) }
  }

  private func begin() throws(FetchError) {
    switch try SourceAddress(request.source) {
    case .file(let path):
      let (file, status) = try LocalSource.open(path)
      try LocalSource.check(status, limit: request.transfer.maxFileSize)
      learn(total: status.size)
      let session = try startRemux(of: file)
      session.send(.total(status.size))
      if let all = ByteRange(0, status.size) { session.send(.have(all)) }
      session.send(.ended(total: status.size, isFramed: true))
    case .url(let text):
      let address = try HTTPFetch.parse(text)
      let cache = try ScratchFile(in: JobTarget.temporaryDirectory)
      let fetch = ProbeFetch(
        address.url, settings: request.transfer, cache: cache,
        report: { [mailbox, session] report in
          if case .accepted(let total, let isSequential) = report {
            let remux = session.withLock { $0 }
            if isSequential { remux?.send(.onlyForwards) }
            if let total { remux?.send(.total(total)) }
          }
          mailbox.post(.fetch(report))
        })
      remote = Remote(fetch: fetch, cache: cache)
      try startRemux(filling: cache)
    }
  }

  // MARK: - The remux

  /// Starts a remux on a cache; its first wish makes the first request.
  private func startRemux(filling cache: ScratchFile) throws(FetchError) {
    let session = try startRemux(of: cache.descriptor)
    cache.announce { session.send(.have($0)) }
  }

  private func startRemux(of file: FileDescriptor) throws(FetchError) -> RemuxSession {
    generation += 1
    let session = try RemuxSession(.probe(request.export), source: file.rawValue) {
      [mailbox, generation] message in
      mailbox.post(.remux(message, generation: generation))
      // The remux may outlive this run by a moment; the file stays open until its last message.
      withExtendedLifetime(file) {}
    }
    self.session.withLock { $0 = session }
    return session
  }

  private func tellRemux(_ command: RemuxCommand) {
    session.withLock { $0 }?.send(command)
  }

  // MARK: - What happens

  private func take(_ message: Message?) throws(FetchError) {
    switch message {
    case nil: break
    case .cancel: throw .cancelled
    case .fetch(let report): try take(report)
    case .remux(let message, let generation) where generation == self.generation:
      try take(message)
    case .remux: break
    }
  }

  private func take(_ message: RemuxMessage) throws(FetchError) {
    switch message {
    case .want(let offset):
      remote?.wanted = offset
      try bring()
    case .probed(let source):
      result.source = source
      warnOfWaste()
      finish(source.verdict(for: request.format)?.refusal)
    case .failed(let error): throw error
    case .planned, .progress, .released, .warning, .finished: break
    }
  }

  private func take(_ report: ProbeFetch.Report) throws(FetchError) {
    if report.endsExchange { remote?.isAsking = false }
    switch report {
    case .accepted(let total, _):
      if let total { learn(total: total) }
    case .warning(let warning): warn(warning)
    case .log(let text): onEvent(.log(level: 2, text))
    case .ended: try bring()
    case .completed(let total, let isFramed):
      learn(total: total)
      tellRemux(.ended(total: total, isFramed: isFramed))
    case .paused(let wait, let attempt, let error):
      onEvent(.retry(attempt: attempt, wait: wait, error: error))
      waitEnds = .now + wait
    case .restart(let reason):
      if reason == .remoteChanged {
        warn(FetchWarning(.remoteChanged, "the remote file changed while it was looked at"))
      }
      try beginAnew(reason)
    case .failed(let error): throw error
    }
  }

  /// Sees to it that the byte comes that the demuxer waits for.
  private func bring() throws(FetchError) {
    guard let remote, let wanted = remote.wanted, waitEnds == nil else { return }
    let present = remote.cache.present
    if present.run(from: wanted) > 0 || remote.fetch.total.map({ wanted >= $0 }) ?? false {
      self.remote?.wanted = nil
    } else if remote.isAsking {
      if !remote.fetch.brings(wanted) { remote.fetch.drop() }
    } else if remote.fetch.isSequential, !present.isEmpty {
      // What comes from the beginning once more may be another version.
      try beginAnew(.rangeIgnored)
    } else if let range = self.remote?.window.range(
      from: wanted, present: present, total: remote.fetch.total)
    {
      self.remote?.isAsking = true
      remote.fetch.request(range)
    }
  }

  private func beginAnew(_ reason: RestartReason) throws(FetchError) {
    guard let remote else { return }
    let dropped = remote.cache.present.byteCount
    if dropped > 0 { onEvent(.restart(reason: reason, bytes: dropped)) }
    tellRemux(.cancel)
    let cache = try ScratchFile(in: JobTarget.temporaryDirectory)
    remote.fetch.begin(anew: cache, after: reason)
    self.remote = Remote(fetch: remote.fetch, cache: cache)
    try startRemux(filling: cache)
  }

  // MARK: - Telling

  private func learn(total: Int64) {
    result.size = total
    result.diskNeed = DiskDemand(missing: remote == nil ? 0 : total, output: total).needed
  }

  /// Says so where a server without ranges has made this as dear as a download.
  private func warnOfWaste() {
    guard let remote, remote.fetch.isSequential else { return }
    let present = remote.cache.present
    let isAll = remote.fetch.total.map { present.isComplete(total: $0) } ?? true
    guard isAll, present.byteCount > ReadWindow.largest else { return }
    warn(
      FetchWarning(
        .unusual, "the server sends no ranges, so the file was read from its beginning"))
  }

  private func warn(_ warning: FetchWarning) {
    guard !result.warnings.contains(warning) else { return }
    result.warnings.append(warning)
    onEvent(.warning(warning))
  }

  /// Ends the probe; what still runs is called off, and not waited for.
  private func finish(_ error: FetchError?) {
    guard !isOver else { return }
    isOver = true
    tellRemux(.cancel)
    remote?.fetch.cancel()
    result.error = error
    result.code = error?.code ?? .ok
    result.received = remote?.fetch.received ?? 0
    result.attempts = remote?.fetch.attempts ?? 0
    onEvent(.probed(result))
  }
}
