// How a part is opened: which of those that stand there may be continued, and under which name a new
// one is made. On the job's thread.

internal import CLinux
package import FetchCore
import Glibc

extension PartialFile {
  /// Opens or makes the part of a resource and locks it.
  ///
  /// A part that another machine holds is left alone, and this one gets a suffix, as in
  /// `.KEY-2.part`; one that it left behind is copied, so that a holder which only slept writes to a
  /// file without a name from then on.
  ///
  /// - Parameters:
  ///   - takesSuffix: gives way to a live process of this machine as well, and picks up what a dead
  ///     one left there; otherwise a live holder is `.output`, and what is left behind goes.
  ///   - host: the running system.
  ///   - cancellation: looked at while a part is copied.
  package static func open(
    in folder: Folder, key: ResourceKey, takesSuffix: Bool, host: HostIdentity = .current,
    cancellation: CancellationFlag? = nil
  ) throws(FetchError) -> PartialFile {
    let names = names(of: key, takesSuffix)
    let place = Place(folder: folder, key: key, takesSuffix: takesSuffix, host: host)
    var dropped: Int64 = 0
    do throws(SystemError) {
      // Each turn is lost to another process; nobody loses as often as this by chance.
      for _ in 0..<100 {
        guard let (usable, foreign) = try parts(named: names, in: place, givesWay: takesSuffix)
        else { break }
        let found = try dropUnrecorded(usable, in: place, dropped: &dropped)
        // Beside a part that a process of this machine has just made there is no place for another:
        // `make` fails then, and the next turn finds it held.
        let isFree: (String) -> Bool = { name in
          takesSuffix
            ? !folder.contains(name)
            : !foreign.contains(name) && !found.contains { $0.name == name }
        }
        guard let free = names.first(where: isFree) ?? found.first?.name else { break }
        let chosen = try choose(among: found, in: place, removesOthers: !takesSuffix)
        if let chosen, chosen.claim == .adoptable {
          return try part(chosen, in: place, beside: foreign)
        }
        guard var new = try make(free, in: folder) else { continue }
        if let chosen { try copy(chosen, to: &new, in: place, cancellation) }
        return try part(new, in: place, beside: foreign, dropped: dropped)
      }
    } catch {
      if error.number == ECANCELED { throw .cancelled }
      throw error.fetchError("opening the part \(folder.path)/\(names[0])")
    }
    throw .held("\(folder.path)/\(names[0])")
  }

  /// Opens the part of a resource that may turn out to be small: where none stands in the folder,
  /// the bytes are kept in memory, and neither file nor lock is made, until `place(total:)` or
  /// `settle()` finds that they are worth it.
  ///
  /// - Parameter memoryLimit: the largest body that stays in memory; the others are those of `open`.
  package static func openInMemory(
    in folder: Folder, key: ResourceKey, takesSuffix: Bool, host: HostIdentity = .current,
    memoryLimit: Int64 = PartialFile.memoryLimit, cancellation: CancellationFlag? = nil
  ) throws(FetchError) -> PartialFile {
    let isNew = names(of: key, takesSuffix).allSatisfy { name in
      !folder.contains(name) && !folder.contains(name + ".json")
    }
    // A file of its own would keep the folder where nothing else does.
    guard isNew, folder.isHeld, let memory = try? FileDescriptor.inMemory() else {
      return try open(
        in: folder, key: key, takesSuffix: takesSuffix, host: host, cancellation: cancellation)
    }
    return PartialFile(
      place: .memory(memory), folder: folder, key: key, takesSuffix: takesSuffix,
      name: name(of: key, 1), found: .nothing, isFromAnotherBoot: false,
      record: ResumeRecord(resource: key.digest, bootID: host.boot), host: host, foreign: [],
      memoryLimit: memoryLimit, cancellation: cancellation)
  }

  /// Opens the part's file, for what is in memory.
  func reopened() throws(FetchError) -> PartialFile {
    try Self.open(
      in: folder, key: key, takesSuffix: takesSuffix, host: host, cancellation: cancellation)
  }

  private static func names(of key: ResourceKey, _ takesSuffix: Bool) -> [String] {
    (1...(takesSuffix ? ownSuffixes : sharedSuffixes)).map { name(of: key, $0) }
  }

  /// Opens the part that a run left behind when it died after its output had got this name.
  ///
  /// Returns nil, and changes nothing, where there is none, or a live process holds it, or it is of
  /// another output.
  package static func leftBehind(
    by output: String, in folder: Folder, key: ResourceKey, host: HostIdentity = .current
  ) -> PartialFile? {
    let place = Place(folder: folder, key: key, takesSuffix: true, host: host)
    func isOurs(_ name: String, _ size: Int64) -> Bool {
      // One that is empty and has no record was only a lock.
      let record = readRecord(of: name, in: place)
      return record.map { $0.publication?.name == output } ?? (size == 0)
    }
    for suffix in 1...sharedSuffixes {
      let name = name(of: key, suffix)
      guard let status = folder.status(of: name), isOurs(name, status.size),
        let held = try? parts(named: [name], in: place, givesWay: true)?.usable.first
      else { continue }
      if isOurs(name, held.size), let part = try? part(held, in: place, beside: []) { return part }
      held.descriptor.unlock()
    }
    return nil
  }

  private static let ownSuffixes = 100
  /// How many attempts at one item may stand in a folder that machines share, each of another one.
  ///
  /// Every opening looks for all of them, over the network where there is one.
  private static let sharedSuffixes = 4
  private static let copiedPiece: Int64 = 16 << 20

  private static func name(of key: ResourceKey, _ suffix: Int) -> String {
    suffix == 1 ? ".\(key).part" : ".\(key)-\(suffix).part"
  }

  /// Where a part is looked for, which, and by whom.
  private struct Place {
    let folder: Folder
    let key: ResourceKey
    let takesSuffix: Bool
    let host: HostIdentity
  }

  /// A part that this process holds the lock of.
  private struct Held {
    var name: String
    var descriptor: FileDescriptor
    var size: Int64
    var record: ResumeRecord?
    var claim = PartClaim.adoptable

    /// What of it may be used.
    ///
    /// What another machine had not synced may never have left it.
    func ranges(_ host: HostIdentity) -> ByteRangeSet {
      guard let record else { return ByteRangeSet() }
      return (claim == .copyable ? record.synced : record.trustedRanges(bootID: host.boot))
        .clamped(to: size)
    }
  }

  // MARK: - Finding

  /// The parts that may be used, locked, and those that another machine holds; nil where a live
  /// process is to have its way.
  private static func parts(
    named names: [String], in place: Place, givesWay: Bool
  ) throws(SystemError) -> (usable: [Held], foreign: [String])? {
    var found: [Held] = []
    var foreign: [String] = []
    for name in names where place.folder.contains(name) {
      let held = try lock(name, in: place.folder)
      let record = readRecord(of: name, in: place)
      let claim = PartClaim(
        isLocked: held == nil, holder: record?.holder, host: place.host,
        silence: silence(of: name, record, in: place))
      switch claim {
      case .foreign:
        held?.descriptor.unlock()
        foreign.append(name)
      case .held:
        guard givesWay || !place.folder.contains(name) else { return nil }
      case .adoptable, .copyable:
        guard var held else { continue }
        held.record = record
        held.claim = claim
        found.append(held)
      }
    }
    return (found, foreign)
  }

  /// Locks a part that is there; nil where a process holds it, or where it has gone.
  private static func lock(_ name: String, in folder: Folder) throws(SystemError) -> Held? {
    let descriptor: FileDescriptor
    do throws(SystemError) {
      descriptor = try FileDescriptor.open(name, in: folder.descriptor, O_RDWR | O_NOFOLLOW)
    } catch  where error.isMissingFile {
      return nil
    }
    guard let held = try lock(descriptor, name, in: folder) else { return nil }
    guard try folder.trusts(descriptor.status()) else {
      // In a folder that others can write to, a part may have been planted.
      try folder.remove(name)
      return nil
    }
    return held
  }

  /// Makes and locks a part that nobody else can have had open before; nil where another process was
  /// quicker.
  private static func make(_ name: String, in folder: Folder) throws(SystemError) -> Held? {
    do throws(SystemError) {
      let descriptor = try FileDescriptor.open(
        name, in: folder.descriptor, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      // Not yet locked, it may have looked as if somebody had left it behind.
      return try lock(descriptor, name, in: folder)
    } catch  where error.number == EEXIST {
      return nil
    }
  }

  private static func lock(
    _ descriptor: FileDescriptor, _ name: String, in folder: Folder
  ) throws(SystemError) -> Held? {
    guard try descriptor.tryLock() else { return nil }
    // Between open and lock the holder may have finished and removed the name.
    let status = try descriptor.status()
    guard let named = folder.status(of: name), named.isSameFile(as: status) else { return nil }
    return Held(name: name, descriptor: descriptor, size: status.size)
  }

  private static func readRecord(of name: String, in place: Place) -> ResumeRecord? {
    guard
      let file = try? FileDescriptor.open(
        name + ".json", in: place.folder.descriptor, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
      let status = try? file.status(), place.folder.trusts(status),
      let content = try? file.bytes(at: 0, count: Int(min(status.size, 8 << 20)))
    else { return nil }
    return ResumeRecord(decoding: content, resource: place.key.digest)
  }

  /// For how long another machine has written neither part nor record; what can't be told is no time.
  private static func silence(
    of name: String, _ record: ResumeRecord?, in place: Place
  ) -> Duration {
    let folder = place.folder
    guard let holder = record?.holder, !holder.isSameMachine(as: place.host),
      let last = [name, name + ".json"].compactMap({ folder.status(of: $0)?.modified }).max(),
      let now = folder.now()
    else { return .zero }
    let (silence, overflow) = now.subtractingReportingOverflow(last)
    return .nanoseconds(overflow ? 0 : silence)
  }

  // MARK: - Taking

  /// The part to continue; the others are left to other runs, or go.
  private static func choose(
    among found: [Held], in place: Place, removesOthers: Bool
  ) throws(SystemError) -> Held? {
    let best =
      removesOthers
      ? found.indices.max {
        found[$0].ranges(place.host).byteCount < found[$1].ranges(place.host).byteCount
      }
      : found.firstIndex { $0.size > 0 } ?? found.indices.first
    for index in found.indices where index != best {
      if removesOthers { try removeAll(of: found[index].name, in: place.folder) }
      found[index].descriptor.unlock()
    }
    return best.map { found[$0] }
  }

  /// Removes the parts without a record: their bytes are worth nothing, and another machine may be about
  /// to write both, so that a file of our own is made instead.
  private static func dropUnrecorded(
    _ found: [Held], in place: Place, dropped: inout Int64
  ) throws(SystemError) -> [Held] {
    for held in found where held.record == nil {
      try removeAll(of: held.name, in: place.folder)
      held.descriptor.unlock()
      dropped = max(dropped, held.size)
    }
    return found.filter { $0.record != nil }
  }

  /// Copies what a stale part holds, and removes that; where this file system can't, the download
  /// begins anew.
  private static func copy(
    _ stale: Held, to new: inout Held, in place: Place, _ cancellation: CancellationFlag?
  ) throws(SystemError) {
    do throws(SystemError) {
      if var record = stale.record, let holder = record.holder {
        record.bootID = holder.boot
        record.ranges = try copied(
          stale.ranges(place.host), from: stale.descriptor, to: new.descriptor, cancellation)
        record.synced = record.ranges
        new.size = record.ranges.upperBound
        new.record = record
      }
      try removeAll(of: stale.name, in: place.folder)
    } catch {
      try removeAll(of: new.name, in: place.folder)
      throw error
    }
  }

  private static func copied(
    _ ranges: ByteRangeSet, from source: FileDescriptor, to target: FileDescriptor,
    _ cancellation: CancellationFlag?
  ) throws(SystemError) -> ByteRangeSet {
    var copied = ByteRangeSet()
    do throws(SystemError) {
      for range in ranges.ranges {
        var offset = range.lowerBound
        while offset < range.upperBound {
          if cancellation?.isCancelled == true {
            throw SystemError("copy_file_range", errno: ECANCELED)
          }
          let (start, count) = (offset, min(copiedPiece, range.upperBound - offset))
          let written = try retryingInterrupts("copy_file_range") {
            vf_copy_range(source.rawValue, target.rawValue, start, count)
          }
          guard let piece = ByteRange(offset: offset, count: written) else { break }
          copied.insert(piece)
          offset = piece.upperBound
        }
      }
    } catch  where [ENOSYS, EOPNOTSUPP, EXDEV, EINVAL].contains(error.number) {
      return ByteRangeSet()
    }
    try target.syncData()
    return copied
  }

  /// Makes the object of a part whose lock is held.
  private static func part(
    _ held: Held, in place: Place, beside foreign: [String], dropped: Int64 = 0
  ) throws(SystemError) -> PartialFile {
    let (size, host) = (held.size, place.host)
    var record = ResumeRecord(resource: place.key.digest, bootID: host.boot)
    var found = max(size, dropped) > 0 ? Found.unusable(bytes: max(size, dropped)) : .nothing
    var isFromAnotherBoot = false
    // A record without a part tells of what was published.
    if let old = held.record ?? readRecord(of: held.name, in: place), size <= old.total ?? .max {
      let ranges = old.trustedRanges(bootID: host.boot).clamped(to: size)
      if !ranges.isEmpty || old.publication != nil {
        record = old
        record.ranges = ranges
        record.synced = old.bootID == host.boot ? old.synced.clamped(to: size) : ranges
        found = .resumable
        isFromAnotherBoot = old.bootID != host.boot
      }
    }
    let part = PartialFile(
      place: .disk(held.descriptor), folder: place.folder, key: place.key,
      takesSuffix: place.takesSuffix, name: held.name, found: found,
      isFromAnotherBoot: isFromAnotherBoot, record: record, host: host, foreign: foreign)
    try place.folder.remove(part.newRecordName)
    try place.folder.remove(part.keptName)
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

  /// Removes what other machines held when this part was opened, and have left behind since.
  func removeForeign() {
    guard !foreign.isEmpty else { return }
    let place = Place(folder: folder, key: key, takesSuffix: takesSuffix, host: host)
    for held in (try? Self.parts(named: foreign, in: place, givesWay: true))?.usable ?? [] {
      try? Self.removeAll(of: held.name, in: folder)
      held.descriptor.unlock()
    }
  }

  /// Removes a part that was left behind, with all hidden files of its run.
  private static func removeAll(of name: String, in folder: Folder) throws(SystemError) {
    let stem = name.dropLast(".part".count)
    let names = [".part.json", ".part.json.new", ".part.kept", ".new", ".out", ".part"]
    for ending in names { try folder.remove(stem + ending) }
  }
}
