// The items of a run, from the first to the last: begins as many as may run, takes in what happens to
// them, and hands each outcome on. Main thread only; whatever blocks is somebody else's.

import FetchCore
import Glibc
import VidFetchKit

/// A run at work.
final class BatchRun {
  /// One item whose turn is to come.
  private struct Waiting {
    let item: BatchItem
    /// From 1, over all attempts in this run.
    var attempt = 1
  }

  /// One item that is being worked on.
  private struct Running {
    let item: BatchItem
    /// From 1, over all attempts in this run.
    var attempt: Int
    /// What the job has come to, while the command on its file runs.
    var result: JobResult?
  }

  /// Why the run is to end before all items have had their turn.
  private enum Ending {
    case signal(Int32, deadline: Duration)
    /// An item has failed in a way that ends the run.
    case failure
  }

  /// So many items wait for another attempt before no more of the list is looked at.
  private static let mostPostponed = BatchSchedule.window

  /// How long a cancelled job is waited for after a signal; the signal thread has a little more
  /// patience.
  private static let grace = Duration.milliseconds(750)

  private let settings: Settings
  private let inbox: EventInbox
  private let runner: Command.Runner
  private let reporter: Reporter
  private let feed = ItemFeed()
  private let running = RunningJobs()
  private let began = ContinuousClock.now

  private var schedule: BatchSchedule
  private var jobCount: JobCount?
  private var items: [Int: Waiting] = [:]
  /// Those of `items` that have another attempt when the others have had their turn.
  private var postponed: [BatchItem] = []
  /// Those of `items` that other runs are at work on.
  private var held: HeldItems
  private var atWork: [Int: Running] = [:]
  private var feedHasEnded = false
  private var ending: Ending?
  private var outcomes: Set<OutcomeCode> = []
  private var summary = BatchSummary()
  private var arrived: Int64 = 0
  private var arrivedOfJob: [Int: Int64] = [:]
  private var ended = 0
  private let results: ResultSink
  private let earlier: EarlierAttempts

  /// - Parameter earlier: what the results file tells of other runs.
  init(
    _ settings: Settings, terminal: Terminal, inbox: EventInbox, results: ResultSink,
    earlier: EarlierAttempts, runner: @escaping Command.Runner
  ) {
    self.settings = settings
    self.inbox = inbox
    self.runner = runner
    self.results = results
    self.earlier = earlier
    let batch = settings.batch
    held = HeldItems(patience: settings.request.transfer.retryMaxTime)
    reporter = Reporter(
      terminal: terminal, style: settings.style,
      isBatch: settings.isBatch)
    var limit = batch.jobs
    if limit == 0 {
      let count = JobCount(processors: Processors.available, most: Processors.mostJobs)
      limit = count.count
      jobCount = count
    }
    schedule = BatchSchedule(limit: limit, limitPerHost: batch.jobsPerHost)
  }

  private var now: Duration { began.duration(to: .now) }

  private var isStopping: Bool { ending != nil }

  private var hasNothingLeft: Bool { schedule.isIdle && postponed.isEmpty && held.isEmpty }

  /// Runs all items; the signals' thread cancels what runs.
  func run(_ reader: sending ItemReader, _ signals: SignalWatcher?) -> ProcessEnding {
    signals?.setJob { [running] in running.cancelAll() }
    defer { signals?.setJob(nil) }
    do throws(SystemError) {
      try feed.start(announcing: inbox, reading: reader)
    } catch {
      reporter.complain("no thread for the list: \(error.text)")
      return .exit(OutcomeCode.localIO.exitStatus)
    }
    if settings.batch.jobs > 0 { Processors.allowDescriptors(jobs: settings.batch.jobs) }
    while true {
      begin()
      if atWork.isEmpty, isStopping || (feedHasEnded && hasNothingLeft) { break }
      reporter.expect(items: feed.total)
      let message = inbox.next(timeout: patience)
      take(message, signals)
      if case .signal(_, let deadline) = ending, now >= deadline {
        giveUp()
        break
      }
    }
    feed.abandon()
    defer { settings.request.archive?.close() }
    return end()
  }

  // MARK: Items begin

  private func begin() {
    guard !isStopping else { return }
    adaptJobCount()
    while true {
      // What may run goes first; only then is more of the list looked at.
      if let job = schedule.next(at: now) {
        start(job)
        if isStopping { return }
        continue
      }
      guard schedule.hasTurn else { return }
      if admitNext() {
        if isStopping { return }
        continue
      }
      let again = postponed + held.takeDue(at: now)
      guard !again.isEmpty else { return }
      for item in again { addToSchedule(item) }
      postponed = []
    }
  }

  /// Looks at the next item of the list; false where there is none for now.
  private func admitNext() -> Bool {
    guard schedule.hasRoom, results.hasRoom, !feedHasEnded, postponed.count < Self.mostPostponed
    else { return false }
    switch feed.take() {
    case .item(let item):
      admit(item)
      return true
    case .nothingYet: return false
    case .end(let error):
      feedHasEnded = true
      reporter.expect(items: feed.total)
      guard let error else { return false }
      reporter.complain("the list can't be read to its end: \(error.text)")
      outcomes.insert(.localIO)
      return false
    }
  }

  private func admit(_ item: BatchItem) {
    summary.items += 1
    results.expect(item.job)
    switch item.content {
    case .fetch:
      items[item.job] = Waiting(item: item)
      addToSchedule(item)
    case .duplicate(let request):
      var result = JobResult(url: item.url, format: request.format)
      result.skipped = .duplicate
      conclude(item, result, attempt: 0)
    case .bad(let error):
      var result = JobResult(url: item.url, format: settings.request.format)
      fail(&result, error)
      conclude(item, result, attempt: 0)
    }
  }

  private func addToSchedule(_ item: BatchItem) {
    schedule.add(item.job, host: item.host, key: item.origin.id ?? "\(item.job)")
  }

  private func fail(_ result: inout JobResult, _ error: FetchError) {
    result.error = error
    result.code = error.code
  }

  private func start(_ job: Int) {
    guard let waiting = items.removeValue(forKey: job),
      case .fetch(let request) = waiting.item.content
    else { return }
    let item = waiting.item
    var attempt = waiting.attempt
    if let most = settings.batch.maxAttempts, attempt == 1 {
      let before = earlier.failures(
        id: item.origin.id, url: item.url, format: request.format.rawValue)
      if let before, before.count >= most {
        schedule.ended(job)
        var result = JobResult(url: item.url, format: request.format)
        fail(
          &result,
          FetchError(
            before.code, "it has had all its attempts (\(before.count) of \(most))",
            recovery: "look at its errors in the results, or allow more by --max-attempts"))
        conclude(item, result, attempt: 0, isExhausted: true)
        return
      }
      attempt += before?.count ?? 0
    }
    atWork[job] = Running(item: item, attempt: attempt)
    reporter.begin(job: job, url: item.url, at: now)
    running.add(job, runner(request) { [inbox] in inbox.post(.job(job, $0)) })
  }

  private func adaptJobCount() {
    guard var count = jobCount else { return }
    let sample = JobCount.Sample(
      time: now, items: ended, bytes: arrived, processorTime: Processors.timeUsed)
    let isStarved = schedule.runningCount < schedule.limit
    if count.measure(sample, isStarved: isStarved) { schedule.limit = count.count }
    jobCount = count
  }

  // MARK: What happens

  /// How long nothing needs to be done unless something happens.
  private var patience: Duration? {
    var soonest = reporter.patience
    func consider(_ time: Duration?) {
      guard let time else { return }
      soonest = min(soonest ?? time, max(time - now, .zero))
    }
    if case .signal(_, let deadline) = ending { consider(deadline) }
    if !isStopping {
      consider(schedule.nextWake(after: now))
      if schedule.hasTurn { consider(held.due) }
      if jobCount != nil, !atWork.isEmpty { soonest = min(soonest ?? .seconds(1), .seconds(1)) }
    }
    return soonest
  }

  private func take(_ message: EventInbox.Message?, _ signals: SignalWatcher?) {
    switch message {
    case .job(let job, .result(let result)): jobEnded(job, result)
    case .job(let job, let event):
      guard let at = atWork[job] else { return }
      note(event, of: job, at.item)
      reporter.show(event, job: job, at: now)
    case .hook(let job, let error): hookEnded(job, error)
    case .said(let job, let line): reporter.relay(line, job: job)
    case .items: break
    case .resized: reporter.resize(at: now)
    case .continued: reporter.resume(at: now)
    case .interrupted(let number):
      ending = .signal(number, deadline: now + Self.grace)
      schedule.clear()
      feed.abandon()
      // The watcher has cancelled what runs; without one it is done here.
      if signals == nil { running.cancelAll() }
    case nil: break
    }
    reporter.passTime(at: now)
  }

  private func note(_ event: JobEvent, of job: Int, _ item: BatchItem) {
    switch event {
    case .progress(let snapshot):
      schedule.setPatient(job, snapshot.stage == .waiting)
      arrived += max(0, snapshot.bytes - arrivedOfJob[job, default: 0])
      arrivedOfJob[job] = snapshot.bytes
    case .retry(_, _, let error): pause(item, for: error)
    default: break
    }
  }

  /// What one item was told to wait holds for all of its host.
  private func pause(_ item: BatchItem, for error: FetchError?) {
    guard let seconds = error?.retryAfter, case .fetch(let request) = item.content else { return }
    // Where the wait is too long for anybody, the items say so themselves.
    let wait = Duration.seconds(seconds)
    guard wait < request.transfer.retryMaxTime else { return }
    schedule.pause(item.host, until: now + wait)
  }

  private func jobEnded(_ job: Int, _ result: JobResult) {
    guard let at = atWork[job] else { return }
    running.remove(job)
    if result.code == .ok, result.skipped == nil, !settings.batch.hook.isEmpty {
      atWork[job]?.result = result
      runHook(job, result)
      return
    }
    finish(job, at, result)
  }

  private func runHook(_ job: Int, _ result: JobResult) {
    let hook = HookCommand(words: settings.batch.hook, result: result)
    do throws(SystemError) {
      let said: (@Sendable (String) -> Void)? =
        reporter.ownsScreen ? { @Sendable [inbox] line in inbox.post(.said(job, line)) } : nil
      let process = try hook.start(said: said) { [inbox] in inbox.post(.hook(job, $0)) }
      running.add(job) { process.stop() }
    } catch {
      hookEnded(job, hook.failure("can't be run: \(error.text)"))
    }
  }

  private func hookEnded(_ job: Int, _ error: FetchError?) {
    guard let at = atWork[job], var result = at.result else { return }
    running.remove(job)
    if let error { fail(&result, isStopping ? .stopped : error) }
    finish(job, at, result)
  }

  private func finish(_ job: Int, _ at: Running, _ result: JobResult) {
    atWork[job] = nil
    arrivedOfJob[job] = nil
    schedule.ended(job)
    ended += 1
    if result.code == .busy { pause(at.item, for: result.error) }
    if result.error?.isHeld == true, mayBeMadeByOthers(at.item), held.hold(at.item, at: now) {
      reporter.hold(result, job: job, attempt: at.attempt, at: now)
      items[job] = Waiting(item: at.item, attempt: at.attempt)
      return
    }
    held.forget(job)
    if result.code.isRetryable, !isStopping, let most = settings.batch.maxAttempts {
      if at.attempt < most {
        // Another attempt, once the others have had their turn.
        let record = reporter.postpone(
          result, job: job, attempt: at.attempt, origin: at.item.origin, at: now)
        complain(results.note(record, attempt: at.attempt))
        items[job] = Waiting(item: at.item, attempt: at.attempt + 1)
        postponed.append(at.item)
        return
      }
      conclude(at.item, result, attempt: at.attempt, isExhausted: true)
      return
    }
    conclude(at.item, result, attempt: at.attempt)
  }

  /// Whether a file that another run makes of an item is as good as our own.
  private func mayBeMadeByOthers(_ item: BatchItem) -> Bool {
    guard !isStopping, !isSingle, case .fetch(let request) = item.content else { return false }
    return request.archive != nil || request.existingTarget == .skip
  }

  /// The last word on an item.
  private func conclude(
    _ item: BatchItem, _ result: JobResult, attempt: Int, isExhausted: Bool = false
  ) {
    var signal: Int32?
    if case .signal(let number, _) = ending { signal = number }
    let exit = result.code == .signal ? 128 + (signal ?? SIGTERM) : result.code.exitStatus
    summary.count(result)
    // What was stopped for another's sake says nothing about the run.
    if result.code != .signal { outcomes.insert(isExhausted ? .someFailed : result.code) }
    let record = reporter.end(
      result, job: item.job, origin: item.origin, exit: exit, isExhausted: isExhausted,
      bySignal: signal != nil, at: now)
    complain(results.conclude(record, result, job: item.job, attempt: attempt))
    guard !isStopping, result.code != .ok else { return }
    if settings.batch.failFast || result.code == .diskFull, !isSingle {
      stop(because: result.code)
    }
  }

  private var isSingle: Bool { !reporter.isBatch }

  private func stop(because code: OutcomeCode) {
    ending = .failure
    schedule.clear()
    feed.abandon()
    if !atWork.isEmpty || !feedHasEnded {
      reporter.complain(
        code == .diskFull ? "the disk is full: no other item is begun" : "no other item is begun")
    }
    running.cancelAll()
  }

  private func complain(_ error: ResultSink.Trouble?) {
    guard let error else { return }
    outcomes.insert(error.code)
    if !error.text.isEmpty { reporter.complain(error.text) }
    // Outcomes that nobody could read would be lost.
    if error.endsRun, !isStopping, !isSingle { stop(because: error.code) }
  }

  // MARK: The end

  /// Says of what doesn't stop in time that it was interrupted.
  private func giveUp() {
    for (job, at) in atWork.sorted(by: { $0.key < $1.key }) {
      var result = at.result ?? interrupted(at.item)
      if at.result != nil { fail(&result, .stopped) }
      atWork[job] = nil
      conclude(at.item, result, attempt: at.attempt)
    }
  }

  /// Has a last word on what was to be attempted once more when the run was ended.
  private func endPostponed() {
    for (job, waiting) in items.sorted(by: { $0.key < $1.key })
    where waiting.attempt > 1 || held.hasHeld(job) {
      conclude(waiting.item, interrupted(waiting.item), attempt: 0)
    }
  }

  private func interrupted(_ item: BatchItem) -> JobResult {
    var result = JobResult(url: item.url, format: settings.request.format)
    if case .fetch(let request) = item.content { result.format = request.format }
    fail(&result, .cancelled)
    return result
  }

  private func end() -> ProcessEnding {
    if feed.readOfAll == 0, feedHasEnded, !settings.batch.allowsEmpty, !isStopping,
      outcomes.isEmpty
    {
      reporter.complain("the list has no item; --allow-empty lets that be")
      return .exit(OutcomeCode.usage.exitStatus)
    }
    endPostponed()
    summary.seconds = now / .seconds(1)
    complain(results.flush())
    var endedBy: Int32?
    if case .signal(let number, _) = ending { endedBy = number }
    var status = endedBy.map { 128 + $0 } ?? ExitStatus.combined(outcomes)
    if !isSingle {
      let record = reporter.end(summary, exit: status, bySignal: endedBy != nil)
      complain(results.conclude(record))
      if endedBy == nil { status = ExitStatus.combined(outcomes) }
    }
    return endedBy.map { .signal($0) } ?? .exit(status)
  }
}
