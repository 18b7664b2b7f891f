// What a record claims after a power failure must be on the disk, which takes as long as the disk
// does: a thread of its own has it written, in pieces that leave room for the output.

internal import CLinux
package import FetchCore
import Glibc

extension PartialFile {
  /// A download that is over sooner than this never makes the disk write its part at all, which would
  /// stand in the way of the output.
  package static let calm = Duration.seconds(10)
  /// What is at stake from then on is synced so soon.
  private static let much = (bytes: Int64(64 << 20), time: Duration.seconds(1))
  private static let piece: Int64 = 4 << 20
  /// So much may be left to the call that makes all durable, which nothing can end.
  private static let rest: Int64 = 32 << 20
  /// A disk that is slower than the download never gets there.
  ///
  /// It is made to once a minute, during which nothing can end the process.
  private static let passes = 8
  private static let longest = Duration.seconds(60)

  /// Begins to make the record's claims durable, where it is time and that isn't under way.
  ///
  /// On the job's thread; never waits for the disk.
  ///
  /// - Parameter calm: how long what comes is left alone.
  /// - Throws: `.output` what a sync that was begun earlier has failed with.
  package func syncIfDue(calm: Duration = PartialFile.calm) throws(FetchError) {
    try checkSync()
    let file = state.withLock { state -> FileDescriptor? in
      guard !state.isSyncing, state.unsynced > 0, let file = state.place.file else { return nil }
      let pause = state.lastSync.duration(to: .now)
      let isMuch =
        state.unsynced >= Self.much.bytes && pause >= Self.much.time
        && opened.duration(to: .now) >= calm
      guard pause >= calm || isMuch else { return nil }
      state.isSyncing = true
      return file
    }
    guard let file else { return }
    // An opening of its own, so that neither the lock nor the file's life hangs on the thread. An
    // error of the disk that nobody has seen is told to it as well.
    let own = vf_open("/proc/self/fd/\(file.rawValue)", O_RDONLY | O_CLOEXEC, 0)
    guard own >= 0 else {
      state.withLock { $0.isSyncing = false }
      return try sync()
    }
    do throws(SystemError) {
      try WorkerThread.start("part-sync") { [weak self] in
        Self.sync(self: { self }, own)
        close(own)
      }
    } catch {
      close(own)
      state.withLock { $0.isSyncing = false }
      try sync()
    }
  }

  /// Tells what a sync that was begun earlier has failed with.
  ///
  /// Bytes that were present may be so no more by then.
  package func checkSync() throws(FetchError) {
    let failure = state.withLock { state -> SystemError? in
      defer { state.syncFailure = nil }
      return state.syncFailure
    }
    if let failure { throw syncError(failure) }
  }

  /// Makes all bytes that are present now durable, then the record that claims them.
  ///
  /// Where that fails, only what was durable before is claimed from then on: the system may have
  /// dropped the rest, and would not say so a second time. Waits as long as the disk takes.
  package func sync() throws(FetchError) {
    let file = state.withLock { $0.place.file }
    guard let file else { return }
    let claim = claim()
    do throws(SystemError) {
      try file.syncData()
    } catch {
      withdraw(claim)
      throw syncError(error)
    }
    confirm(claim)
  }

  // MARK: - Behind

  /// The thread's work; between two pieces the part may go, and nothing is to be done any more.
  private static func sync(self part: () -> PartialFile?, _ own: Int32) {
    var walked = ByteRangeSet()
    var left: Int64 = 0
    for _ in 0..<passes {
      guard let pieces = part()?.unwritten(besides: &walked) else { return }
      do throws(SystemError) {
        for piece in pieces {
          guard part()?.isLive == true else { return }
          try RangeSync.finish(piece, of: own)
        }
      } catch {
        part()?.fail(error)
        return
      }
      left = pieces.reduce(0) { $0 + $1.count }
      if left <= rest { break }
    }
    if left > rest, part()?.leavesMore() != false { return }
    guard let claim = part()?.claim() else { return }
    do throws(SystemError) {
      _ = try retryingInterrupts("fdatasync") { fdatasync(own) }
      part()?.confirm(claim)
    } catch {
      part()?.fail(error)
    }
  }

  private var isLive: Bool { state.withLock { !$0.isGone } }

  /// Pieces of what is present and neither durable nor in `walked`, which gets them.
  private func unwritten(besides walked: inout ByteRangeSet) -> [ByteRange]? {
    let (present, synced, isGone) = state.withLock {
      ($0.record.ranges, $0.record.synced, $0.isGone)
    }
    if isGone { return nil }
    var left = present
    for range in synced.ranges + walked.ranges { left.remove(range) }
    walked = present
    return left.ranges.flatMap { $0.pieces(of: Self.piece) }
  }

  /// Whether to make nothing durable this time, as too much is left; tried again when it is due.
  private func leavesMore() -> Bool {
    state.withLock { state in
      guard state.lastSync.duration(to: .now) < Self.longest else { return false }
      state.isSyncing = false
      return true
    }
  }

  private func fail(_ error: SystemError) {
    state.withLock { state in
      // Told first: the job must not take the bytes for ones that never came.
      state.syncFailure = error
      state.isSyncing = false
      state.record.ranges = state.record.synced
      writeRecord(&state)
    }
  }

  // MARK: - Claims

  /// What a sync that begins now makes durable.
  private struct Claim {
    let ranges: ByteRangeSet
    let unsynced: Int64
    let losses: Int
  }

  private func claim() -> Claim {
    state.withLock { Claim(ranges: $0.record.ranges, unsynced: $0.unsynced, losses: $0.losses) }
  }

  private func confirm(_ claim: Claim) {
    state.withLock { state in
      state.isSyncing = false
      // Bytes that have gone meanwhile were none to claim.
      guard state.losses == claim.losses else { return }
      state.record.synced = claim.ranges
      state.unsynced -= claim.unsynced
      state.lastSync = .now
      writeRecord(&state)
    }
  }

  private func withdraw(_ claim: Claim) {
    state.withLock { state in
      guard state.losses == claim.losses else { return }
      state.record.ranges = state.record.synced
      writeRecord(&state)
    }
  }

  private func syncError(_ error: SystemError) -> FetchError {
    error.fetchError("syncing \(folder.path)/\(name)")
  }
}
