// The heart: a file that fills up, and the set of its bytes that are present. The transfer thread
// writes, the job's thread syncs, and readers use the descriptor for what was announced.

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
  private static let recordInterval = (bytes: Int64(1 << 20), time: Duration.seconds(1))
  /// A record up to this size is written in place by one call that a kill can't cut in two.
  private static let singlePage = 4096
  private static let writebackInterval: Int64 = 8 << 20
  /// A download that is over sooner than this never makes the disk write its part at all, which would
  /// stand in the way of the output.
  private static let calm = Duration.seconds(10)

  private struct State {
    var record: ResumeRecord
    var sinceRecord: Int64 = 0
    var lastRecord = ContinuousClock.now
    var unsynced: Int64 = 0
    var received: Int64 = 0
    var lastSync = ContinuousClock.now
    var recordFile: FileDescriptor?
    var writeback: ByteRange?
    var isGone = false
    /// Whether bytes that were there have gone again: no record may claim them.
    var isSpent = false
    /// Whether the bytes are known to be as they were written; false for those of another boot until
    /// some have been compared.
    var isConfirmed: Bool
    var onPresent: (@Sendable (ByteRange) -> Void)?
  }

  package let descriptor: FileDescriptor
  package let folder: Folder
  /// The part's name in `folder`.
  package let name: String
  package let found: Found
  /// Whether the bytes were written in an earlier boot, so that some must be compared.
  package let isFromAnotherBoot: Bool
  private let opened = ContinuousClock.now
  private let state: Locked<State>

  package var recordName: String { name + ".json" }
  private var newRecordName: String { name + ".json.new" }
  /// The part's second name on its way to replace a kept source.
  private var keptName: String { name + ".kept" }

  private init(
    descriptor: FileDescriptor, folder: Folder, name: String, found: Found,
    isFromAnotherBoot: Bool, record: ResumeRecord
  ) {
    self.descriptor = descriptor
    self.folder = folder
    self.name = name
    self.found = found
    self.isFromAnotherBoot = isFromAnotherBoot
    state = Locked(State(record: record, isConfirmed: !isFromAnotherBoot))
  }

  // MARK: - Opening

  /// Opens or makes the part of a resource and locks it.
  ///
  /// - Parameters:
  ///   - takesSuffix: uses `.KEY-2.part` and so on where a live process holds the first, and picks up
  ///     what a dead one left there; otherwise a live holder is `.output`.
  ///   - bootID: of the running system.
  package static func open(
    in folder: Folder, key: ResourceKey, takesSuffix: Bool, bootID: String = BootIdentity.current
  ) throws(FetchError) -> PartialFile {
    do throws(SystemError) {
      if takesSuffix {
        let left = (1...maximumSuffix).map { name(of: key, $0) }.filter(folder.contains)
        for name in left {
          guard let held = try lock(name, in: folder, makes: false), held.size > 0 else { continue }
          return try adopt(held, in: folder, name: name, key: key, bootID: bootID)
        }
      }
      for suffix in 1...(takesSuffix ? maximumSuffix : 1) {
        let name = name(of: key, suffix)
        guard let held = try lock(name, in: folder, makes: true) else { continue }
        return try adopt(held, in: folder, name: name, key: key, bootID: bootID)
      }
    } catch {
      throw error.fetchError("opening the part \(folder.path)/\(name(of: key, 1))")
    }
    throw FetchError(
      .output, "another run is fetching this to the same folder",
      reason: "\(folder.path)/\(name(of: key, 1)) is locked",
      recovery: "wait for it, or use another folder")
  }

  private static let maximumSuffix = 100

  private static func name(of key: ResourceKey, _ suffix: Int) -> String {
    suffix == 1 ? ".\(key).part" : ".\(key)-\(suffix).part"
  }

  /// A part that this process holds the lock of.
  private struct Held {
    var descriptor: FileDescriptor
    var size: Int64
  }

  /// Opens and locks a part; nil where a live process holds it, or where there is none to open.
  private static func lock(
    _ name: String, in folder: Folder, makes: Bool
  ) throws(SystemError) -> Held? {
    // Each turn is lost to another process; nobody loses as often as this by chance.
    for _ in 0..<100 {
      guard let (descriptor, isNew) = try open(name, in: folder, makes: makes) else {
        if makes { continue }
        return nil
      }
      guard try descriptor.tryLock() else { return nil }
      // Between open and lock the holder may have finished and removed the name.
      let status = try descriptor.status()
      guard let named = folder.status(of: name), named.isSameFile(as: status) else { continue }
      if isNew || folder.trusts(status) { return Held(descriptor: descriptor, size: status.size) }
      // In a folder that others can write to, a part may have been planted.
      try folder.remove(name)
    }
    throw SystemError("flock", errno: EBUSY)
  }

  /// Opens a part that is there, or makes one that nobody else can have had open before.
  private static func open(
    _ name: String, in folder: Folder, makes: Bool
  ) throws(SystemError) -> (FileDescriptor, isNew: Bool)? {
    do throws(SystemError) {
      let descriptor = try FileDescriptor.open(name, in: folder.descriptor, O_RDWR | O_NOFOLLOW)
      return (descriptor, false)
    } catch  where error.isMissingFile {
      guard makes else { return nil }
    }
    do throws(SystemError) {
      let descriptor = try FileDescriptor.open(
        name, in: folder.descriptor, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      return (descriptor, true)
    } catch  where error.number == EEXIST {
      return nil
    }
  }

  private static func adopt(
    _ held: Held, in folder: Folder, name: String, key: ResourceKey, bootID: String
  ) throws(SystemError) -> PartialFile {
    let size = held.size
    var record = ResumeRecord(resource: key.digest, bootID: bootID)
    var found = size > 0 ? Found.unusable(bytes: size) : .nothing
    var isFromAnotherBoot = false
    if let old = readRecord(in: folder, name: name, key: key), size <= old.total ?? .max {
      let ranges = old.trustedRanges(bootID: bootID).clamped(to: size)
      if !ranges.isEmpty || old.publication != nil {
        record = old
        record.ranges = ranges
        record.synced = old.bootID == bootID ? old.synced.clamped(to: size) : ranges
        found = .resumable
        isFromAnotherBoot = old.bootID != bootID
      }
    }
    let part = PartialFile(
      descriptor: held.descriptor, folder: folder, name: name, found: found,
      isFromAnotherBoot: isFromAnotherBoot, record: record)
    try folder.remove(part.newRecordName)
    try folder.remove(part.keptName)
    if found == .resumable {
      // What no record claims is worth nothing, and must not stay behind the end.
      if size > record.ranges.upperBound {
        try held.descriptor.truncate(to: record.ranges.upperBound)
      }
    } else {
      try part.clear()
    }
    return part
  }

  private static func readRecord(in folder: Folder, name: String, key: ResourceKey) -> ResumeRecord?
  {
    guard
      let file = try? FileDescriptor.open(
        name + ".json", in: folder.descriptor, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
      let status = try? file.status(), folder.trusts(status),
      let content = try? file.bytes(at: 0, count: Int(min(status.size, 8 << 20)))
    else { return nil }
    return ResumeRecord(decoding: content, resource: key.digest)
  }

  // MARK: - State

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
    do throws(SystemError) {
      try descriptor.write(bytes, at: offset)
    } catch {
      throw error.fetchError("writing \(folder.path)/\(name)")
    }
    let (onPresent, writeback) = state.withLock { state in
      state.record.ranges.insert(range)
      state.sinceRecord += range.count
      state.unsynced += range.count
      state.received += range.count
      if state.sinceRecord >= Self.recordInterval.bytes
        || state.lastRecord.duration(to: .now) >= Self.recordInterval.time
      {
        writeRecord(&state)
      }
      return (state.onPresent, nextWriteback(&state, range))
    }
    if let writeback { descriptor.startWriteback(writeback) }
    onPresent?(range)
  }

  /// Gathers neighbouring writes, since starting write-back for each is dearer than the write.
  private func nextWriteback(_ state: inout State, _ range: ByteRange) -> ByteRange? {
    if let pending = state.writeback, pending.upperBound == range.lowerBound {
      state.writeback = ByteRange(pending.lowerBound, range.upperBound)
    } else {
      state.writeback = range
    }
    guard let gathered = state.writeback, gathered.count >= Self.writebackInterval,
      opened.duration(to: .now) >= Self.calm
    else { return nil }
    state.writeback = nil
    return gathered
  }

  /// Makes the record's claims durable where it is time.
  ///
  /// That is every 10 s: what comes within is fetched again just as fast. On the job's thread.
  package func syncIfDue() throws(FetchError) {
    let isDue = state.withLock { state in
      state.unsynced > 0 && state.lastSync.duration(to: .now) >= Self.calm
    }
    if isDue { try sync() }
  }

  /// Makes all bytes that are present now durable, then the record that claims them.
  ///
  /// Where that fails, only what was durable before is claimed from then on: the system may have
  /// dropped the rest, and would not say so a second time.
  package func sync() throws(FetchError) {
    let (claimed, unsynced) = state.withLock { ($0.record.ranges, $0.unsynced) }
    do throws(SystemError) {
      try descriptor.syncData()
    } catch {
      state.withLock { state in
        state.record.ranges = state.record.synced
        writeRecord(&state)
      }
      throw error.fetchError("syncing \(folder.path)/\(name)")
    }
    state.withLock { state in
      state.record.synced = claimed
      state.unsynced -= unsynced
      state.lastSync = .now
      writeRecord(&state)
    }
  }

  /// Writes the record as things stand, so that a run after this one loses nothing.
  package func flushRecord() {
    state.withLock { writeRecord(&$0) }
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
    let directory = folder.descriptor.rawValue
    do throws(SystemError) {
      try descriptor.sync()
      if replacing {
        // The part keeps its own name meanwhile, since that carries the lock.
        try folder.remove(keptName)
        _ = try retryingInterrupts("linkat") { linkat(directory, name, directory, keptName, 0) }
        _ = try retryingInterrupts("renameat") { renameat(directory, keptName, directory, newName) }
      } else {
        _ = try retryingInterrupts("linkat") { linkat(directory, name, directory, newName, 0) }
      }
      try descriptor.setMode(mode)
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
    let isPublished = state.withLock { state in
      state.isGone = true
      state.recordFile = nil
      return state.record.publication != nil
    }
    // A part without its record is worth nothing, so that goes first; but the record of a published
    // part is what tells the next run, should this one be killed here, that nothing is to be done.
    let names =
      isPublished ? [name, newRecordName, recordName] : [recordName, newRecordName, name]
    var failure: SystemError?
    for name in names {
      do throws(SystemError) { try folder.remove(name) } catch { failure = failure ?? error }
    }
    return failure
  }

  /// Whether no later run can resume from this part, since it gave room back.
  package var isSpent: Bool { state.withLock { $0.isSpent } }

  /// Removes the record, and writes none until the part is started over.
  func withdrawRecord() throws(SystemError) {
    let isFirst = state.withLock { state in
      defer { state.isSpent = true }
      state.recordFile = nil
      return !state.isSpent
    }
    if isFirst { for name in [recordName, newRecordName] { try folder.remove(name) } }
  }

  /// Lets the next run have the part, before this object goes; nothing is written from then on.
  package func release() {
    state.withLock { state in
      state.isGone = true
      state.recordFile = nil
    }
    descriptor.unlock()
  }

  private func clear() throws(SystemError) {
    // A record that outlived its bytes would vouch for what comes next.
    try folder.remove(recordName)
    // A file that was truncated to nothing is written to the disk as it is closed, be it removed by
    // then (ext4, auto_da_alloc): a part that is empty already is left alone.
    if try descriptor.status().size > 0 { try descriptor.truncate(to: 0) }
    state.withLock { state in
      state.recordFile = nil
      let resource = state.record.resource
      state.record = ResumeRecord(resource: resource, bootID: BootIdentity.current)
      state.isConfirmed = true
      state.isSpent = false
      state.sinceRecord = 0
      state.unsynced = 0
      state.writeback = nil
    }
  }

  // MARK: - The record's file

  /// Losing a record costs a restart, never correctness, so failures here are not failures of the
  /// item.
  private func writeRecord(_ state: inout State) {
    guard !state.isGone, !state.isSpent else { return }
    state.sinceRecord = 0
    state.lastRecord = .now
    // Written as of this boot, bytes of another one would be trusted unseen from then on.
    if state.isConfirmed { state.record.bootID = BootIdentity.current }
    let content = state.record.encoded()
    do throws(SystemError) {
      if content.count <= Self.singlePage {
        let file: FileDescriptor
        if let open = state.recordFile {
          file = open
        } else {
          file = try FileDescriptor.open(
            recordName, in: folder.descriptor, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
            mode: 0o600)
          state.recordFile = file
        }
        try file.write(content, at: 0)
      } else {
        let file = try FileDescriptor.open(
          newRecordName, in: folder.descriptor, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
          mode: 0o600)
        try file.write(content, at: 0)
        let (directory, old, new) = (folder.descriptor.rawValue, newRecordName, recordName)
        _ = try retryingInterrupts("renameat") { renameat(directory, old, directory, new) }
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
