// The heart: a file that fills up, and the set of its bytes that are present. The transfer thread
// writes, and readers use the descriptor for what was announced.

package import FetchCore
import Glibc

/// A part and its record, locked for this process.
package final class PartialFile: ByteSink {
  /// What a part on disk turned out to be.
  package enum Found: Sendable, Hashable {
    /// There was none.
    case nothing
    /// Bytes and a record that vouches for them.
    case resumable
    /// Bytes that nothing vouches for; they have been dropped.
    case unusable(bytes: Int64)
  }

  /// Rewriting the record costs microseconds; losing it costs at most this much.
  static let recordInterval = (bytes: Int64(1 << 20), time: Duration.seconds(1))
  /// A record up to this size is written in place by one call that a kill can't cut in two.
  private static let singlePage = 4096
  /// Records are rewritten so often that others see who is alive.
  private static let aliveInterval = Duration.seconds(10)
  /// What is lost with the process costs no more than what comes between two records.
  package static let memoryLimit = recordInterval.bytes

  struct State {
    var record: ResumeRecord
    var sinceRecord: Int64 = 0
    var lastRecord = ContinuousClock.now
    var unsynced: Int64 = 0
    var received: Int64 = 0
    var lastSync = ContinuousClock.now
    /// Whether a thread is at it.
    var isSyncing = false
    /// What that has failed with, until somebody is told.
    var syncFailure: SystemError?
    /// Counts what makes bytes vanish that a sync under way would claim.
    var losses = 0
    var recordFile: FileDescriptor?
    var isGone = false
    /// Whether bytes that were there have gone again: no record may claim them.
    var isSpent = false
    /// Whether the bytes are known to be as they were written; false for those of another boot until
    /// some have been compared.
    var isConfirmed: Bool
    var onPresent: (@Sendable (ByteRange) -> Void)?
    var place: PartPlace
    /// Nil where no room is taken ahead of what comes.
    var room: RoomAhead?
    /// Whether a body was let in, so that the bytes may have readers.
    var isPlaced = false
    var name: String
    var foreign: [String]
  }

  package let folder: Folder
  let key: ResourceKey
  let takesSuffix: Bool
  /// The largest body that stays in memory.
  let memoryLimit: Int64
  package let found: Found
  /// Whether the bytes were written in an earlier boot, so that some must be compared.
  package let isFromAnotherBoot: Bool
  /// Whom the record names as holder.
  let host: HostIdentity
  let opened = ContinuousClock.now
  let state: Locked<State>
  /// Held while a part in memory gets its file; taken before `state`.
  let settling = Locked(())
  /// Looked at while a part that is in the way is copied.
  let cancellation: CancellationFlag?

  init(
    place: PartPlace, folder: Folder, key: ResourceKey, takesSuffix: Bool, name: String,
    found: Found, isFromAnotherBoot: Bool, record: ResumeRecord, host: HostIdentity,
    foreign: [String], memoryLimit: Int64 = PartialFile.memoryLimit,
    cancellation: CancellationFlag? = nil
  ) {
    self.cancellation = cancellation
    self.folder = folder
    self.memoryLimit = memoryLimit
    self.key = key
    self.takesSuffix = takesSuffix
    self.found = found
    self.isFromAnotherBoot = isFromAnotherBoot
    self.host = host
    state = Locked(
      State(
        record: record, isConfirmed: !isFromAnotherBoot, place: place, name: name,
        foreign: foreign))
  }

  // MARK: - State

  /// Where the bytes can be read.
  ///
  /// It stays valid, and goes on holding all that comes, until the part is started over.
  package var descriptor: FileDescriptor { state.withLock { $0.place.readable } }

  /// The part's name in `folder`; while it is in memory, the one that it would get.
  package var name: String { state.withLock { $0.name } }

  /// Whether this process holds the lock of the part's name, and so of the hidden names made of it.
  package var holdsName: Bool { state.withLock { $0.place.file != nil } }

  package var recordName: String { name + ".json" }
  var newRecordName: String { name + ".json.new" }
  /// The part's second name on its way to replace a kept source.
  var keptName: String { name + ".kept" }

  /// The parts of other machines that this one was opened beside.
  var foreign: [String] { state.withLock { $0.foreign } }

  package var record: ResumeRecord { state.withLock { $0.record } }

  package var ranges: ByteRangeSet { state.withLock { $0.record.ranges } }

  /// Bytes written since the part was opened, those that were dropped later included.
  package var received: Int64 { state.withLock { $0.received } }

  /// Changes what the record says about the resource, and writes it.
  package func updateRecord(_ change: (inout ResumeRecord) -> Void) {
    state.withLock { state in
      change(&state.record)
      writeRecord(&state)
    }
  }

  /// Some of the bytes have been compared with the resource's, and are equal.
  package func confirm() { state.withLock { $0.isConfirmed = true } }

  /// Announces each range as it becomes readable, on the transfer thread; what is there already is
  /// announced before this returns.
  package func announce(to onPresent: (@Sendable (ByteRange) -> Void)?) {
    let present = state.withLock { state in
      state.onPresent = onPresent
      return state.record.ranges.ranges
    }
    guard let onPresent else { return }
    for range in present { onPresent(range) }
  }

  // MARK: - Writing

  /// Writes bytes of the resource and announces them.
  ///
  /// On the transfer thread.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FetchError) {
    guard let range = ByteRange(offset: offset, count: Int64(bytes.count)) else { return }
    takeRoom(for: range)
    do throws(SystemError) {
      try descriptor.write(bytes, at: offset)
    } catch {
      throw error.fetchError("writing \(folder.path)/\(name)")
    }
    var failure: SystemError?
    let onPresent = state.withLock { state -> (@Sendable (ByteRange) -> Void)? in
      do throws(SystemError) {
        // Under the lock, since memory may just be on its way to a file.
        try state.place.copy?.write(bytes, at: offset)
      } catch {
        failure = error
        return nil
      }
      state.record.ranges.insert(range)
      state.sinceRecord += range.count
      state.unsynced += range.count
      state.received += range.count
      if state.sinceRecord >= Self.recordInterval.bytes
        || state.lastRecord.duration(to: .now) >= Self.recordInterval.time
      {
        writeRecord(&state)
      }
      return state.onPresent
    }
    if let failure { throw failure.fetchError("writing \(folder.path)/\(name)") }
    onPresent?(range)
  }

  /// Takes room on the disk ahead of what comes, up to the body's size, where that is worth it.
  package func takesRoomAhead() { state.withLock { $0.room = RoomAhead() } }

  private func takeRoom(for range: ByteRange) {
    let next = state.withLock { state -> (ByteRange, FileDescriptor)? in
      guard let total = state.record.total, case .disk(let file) = state.place,
        let ahead = state.room?.next(for: range, size: total)
      else { return nil }
      return (ahead, file)
    }
    guard let (ahead, file) = next else { return }
    if !RoomAhead.isWorthIt(for: file.rawValue) || !RoomAhead.take(ahead, of: file.rawValue) {
      state.withLock { $0.room = nil }
    }
  }

  /// Writes the record as things stand, so that a run after this one loses nothing.
  package func flushRecord() {
    state.withLock { writeRecord(&$0) }
  }

  /// Shows other machines that the part is still held, be it that nothing comes.
  package func keepAlive() {
    state.withLock { state in
      if state.lastRecord.duration(to: .now) >= Self.aliveInterval { writeRecord(&state) }
    }
  }

  // MARK: - Starting over, ending

  /// Drops every byte and everything known about the resource; the next write begins from nothing.
  package func restart() throws(FetchError) {
    do throws(SystemError) {
      try clear()
    } catch {
      throw error.fetchError("starting \(folder.path)/\(name) over")
    }
  }

  /// Gives the part a second name; `remove()` then takes the first one away.
  ///
  /// - Throws: `.output` where the name is taken and not to be replaced.
  ///
  /// - Parameter mode: the permission bits that it gets, since a part is for its owner alone.
  package func publish(
    as newName: String, replacing: Bool, mode: UInt32
  ) throws(FetchError) {
    let (directory, file) = (folder.descriptor.rawValue, try settled(takesLess: false))
    do throws(SystemError) {
      try file.sync()
      guard !isReplaced else { throw SystemError("linkat", errno: ENOENT) }
      if replacing {
        // The part keeps its own name meanwhile, since that carries the lock.
        try folder.remove(keptName)
        _ = try retryingInterrupts("linkat") { linkat(directory, name, directory, keptName, 0) }
        _ = try retryingInterrupts("renameat") { renameat(directory, keptName, directory, newName) }
      } else {
        _ = try retryingInterrupts("linkat") { linkat(directory, name, directory, newName, 0) }
      }
      try file.setMode(mode)
      try folder.descriptor.sync()
    } catch {
      throw error.fetchError("keeping the source as \(folder.path)/\(newName)")
    }
  }

  /// Removes the part and its record.
  ///
  /// Returns what is left behind all the same.
  @discardableResult
  package func remove() -> SystemError? {
    let (hasFile, isPublished) = state.withLock { state in
      state.isGone = true
      state.recordFile = nil
      return (state.place.file != nil, state.record.publication != nil)
    }
    guard hasFile else { return nil }
    // Another machine that took this one for dead may have made a part of that name since.
    guard !isReplaced else { return nil }
    // A part without its record is worth nothing, so that goes first; but the record of a published
    // part is what tells the next run, should this one be killed here, that nothing is to be done.
    let names =
      isPublished ? [name, newRecordName, recordName] : [recordName, newRecordName, name]
    removeForeign()
    var failure: SystemError?
    for name in names {
      do throws(SystemError) { try folder.remove(name) } catch { failure = failure ?? error }
    }
    return failure
  }

  /// Whether no later run can resume from this part, since it gave room back.
  package var isSpent: Bool { state.withLock { $0.isSpent } }

  /// Removes the record; the one that takes its place says who holds the part, and claims nothing
  /// until the part is started over.
  ///
  /// A new file, since the old one's bytes could come back after a power failure.
  func withdrawRecord() throws(SystemError) {
    let failure = state.withLock { state -> SystemError? in
      guard !state.isSpent else { return nil }
      state.recordFile = nil
      do throws(SystemError) {
        for ending in [".json", ".json.new"] { try folder.remove(state.name + ending) }
      } catch {
        return error
      }
      state.isSpent = true
      state.losses += 1
      writeRecord(&state)
      return nil
    }
    if let failure { throw failure }
  }

  /// Whether the part's name is another file's by now.
  private var isReplaced: Bool { state.withLock { isReplaced($0) } }

  private func isReplaced(_ state: State) -> Bool {
    guard let named = folder.status(of: state.name), let own = try? state.place.file?.status()
    else { return false }
    return !named.isSameFile(as: own)
  }

  /// Lets the next run have the part, before this object goes; nothing is written from then on.
  package func release() {
    let file = state.withLock { state -> FileDescriptor? in
      state.isGone = true
      state.recordFile = nil
      return state.place.file
    }
    file?.unlock()
  }

  func clear() throws(SystemError) {
    // A record that outlived its bytes would vouch for what comes next.
    if holdsName { try folder.remove(recordName) }
    // Nobody reads any more, so that memory with a file beside it has had its day.
    let descriptor = state.withLock { state in
      state.place = state.place.file.map { .disk($0) } ?? state.place
      return state.place.readable
    }
    // A file that was truncated to nothing is written to the disk as it is closed, be it removed by
    // then (ext4, auto_da_alloc): a part that is empty already is left alone.
    if try descriptor.status().size > 0 { try descriptor.truncate(to: 0) }
    state.withLock { state in
      state.recordFile = nil
      state.isPlaced = false
      state.room = state.room.map { _ in RoomAhead() }
      let resource = state.record.resource
      state.record = ResumeRecord(resource: resource, bootID: host.boot)
      state.isConfirmed = true
      state.isSpent = false
      state.sinceRecord = 0
      state.unsynced = 0
      state.losses += 1
    }
  }

  // MARK: - The record's file

  /// Losing a record costs a restart, never correctness, so failures here are not failures of the
  /// item.
  func writeRecord(_ state: inout State) {
    guard !state.isGone, state.place.file != nil else { return }
    state.sinceRecord = 0
    state.lastRecord = .now
    // Written as of this boot, bytes of another one would be trusted unseen from then on.
    if state.isConfirmed { state.record.bootID = host.boot }
    state.record.holder = host
    let content = (state.isSpent ? state.record.withoutClaims : state.record).encoded()
    do throws(SystemError) {
      if content.count <= Self.singlePage {
        let file: FileDescriptor
        if let open = state.recordFile {
          file = open
        } else {
          guard !isReplaced(state) else { return }
          file = try FileDescriptor.open(
            state.name + ".json", in: folder.descriptor,
            O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
            mode: 0o600)
          state.recordFile = file
        }
        try file.write(content, at: 0)
      } else {
        guard !isReplaced(state) else { return }
        let (name, newName) = (state.name + ".json", state.name + ".json.new")
        let file = try FileDescriptor.open(
          newName, in: folder.descriptor, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
          mode: 0o600)
        try file.write(content, at: 0)
        let directory = folder.descriptor.rawValue
        _ = try retryingInterrupts("renameat") { renameat(directory, newName, directory, name) }
        state.recordFile = nil
      }
    } catch {
      return
    }
  }
}

extension ByteRangeSet {
  /// The set without what lies at or beyond `end`.
  package func clamped(to end: Int64) -> ByteRangeSet {
    var copy = self
    if let beyond = ByteRange(end, .max) { copy.remove(beyond) }
    return copy
  }
}
