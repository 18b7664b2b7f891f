import Dispatch
import FetchCore
import Glibc
import PartialStorage
import Synchronization
import Testing

@Suite struct PartialFileTests {
  private let key = ResourceKey(normalizedURL: "https://example.com/clip.mp4")

  private func open(
    _ scratch: Scratch, bootID: String = BootIdentity.current, takesSuffix: Bool = false
  ) throws -> PartialFile {
    try PartialFile.open(
      in: scratch.folder(), key: key, takesSuffix: takesSuffix,
      host: HostIdentity(machine: HostIdentity.current.machine, boot: bootID))
  }

  /// Makes a part that a killed process left: no descriptor is open any more.
  private func leave(_ scratch: Scratch, bytes: Int, total: Int64 = 3 << 20) throws {
    let part = try open(scratch)
    part.updateRecord { record in
      record.strongETag = "\"v1\""
      record.total = total
    }
    try part.write([UInt8](repeating: 7, count: bytes), at: 0)
  }

  @Test func keepsTheNameThatTheKeyGives() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    #expect(part.name == ".\(key).part" && part.recordName == ".\(key).part.json")
    #expect(key.description.count == 16)
    #expect(part.found == .nothing)
  }

  /// Whoever makes the part has not locked it yet when another sees it, takes it for left behind and
  /// removes it.
  @Test func ofAllWhoOpenAPartAtOnceOneGetsIt() throws {
    let scratch = try Scratch()
    for round in 0..<300 {
      let winners = Mutex<[PartialFile]>([])
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        guard let part = try? open(scratch) else { return }
        winners.withLock { $0.append(part) }
      }
      let parts = winners.withLock { $0 }
      #expect(parts.count == 1 && parts.first?.name == ".\(key).part", "round \(round)")
      for part in parts { #expect(part.remove() == nil) }
    }
  }

  @Test func partLeftBehindIsFoundByItsOutput() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 100)
    try scratch.write("film.mp4", [1])
    let status = try #require(try scratch.folder().status(of: "film.mp4"))
    func leftBehind() throws -> PartialFile? {
      PartialFile.leftBehind(by: "film.mp4", in: try scratch.folder(), key: key)
    }
    let names = scratch.names
    #expect(try leftBehind() == nil, "its output has no name yet")
    do {
      let part = try open(scratch)
      part.updateRecord { $0.publication = .init(name: "film.mp4", status) }
      #expect(try leftBehind() == nil, "a live process holds it")
    }
    #expect(scratch.names == names)
    let part = try #require(try leftBehind())
    #expect(part.record.publication?.name == "film.mp4")
    part.remove()
    #expect(scratch.names == ["film.mp4"])
    #expect(try leftBehind() == nil && scratch.names == ["film.mp4"])
    try scratch.write(part.name, [])
    let lock = try #require(try leftBehind(), "only a lock")
    lock.remove()
    #expect(scratch.names == ["film.mp4"])
  }

  @Test func digestIsTheWholeFiles() throws {
    let scratch = try Scratch()
    try scratch.write("empty", [])
    let bytes = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try scratch.write("long", bytes)
    let folder = try scratch.folder()
    for (name, content) in [("empty", []), ("long", bytes)] {
      let file = try FileDescriptor.open(name, in: folder.descriptor, O_RDONLY)
      #expect(try SHA256.hexDigest(of: file) == SHA256.hexDigest(of: content))
    }
    let file = try FileDescriptor.open("long", in: folder.descriptor, O_RDONLY)
    let cancellation = CancellationFlag()
    cancellation.cancel()
    #expect(throws: FetchError.cancelled) { try SHA256.hexDigest(of: file, cancellation) }
  }

  @Test func knowsAfterAKillWhatWasThereToTheLastMebibyte() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 2 << 20)
    let part = try open(scratch)
    #expect(part.found == .resumable)
    #expect(part.record.strongETag == "\"v1\"" && part.record.total == 3 << 20)
    #expect(part.ranges == ByteRangeSet([try #require(ByteRange(0, 2 << 20))]))
    #expect(!part.isFromAnotherBoot)
  }

  @Test func trustsOnlyWhatWasSyncedInAnotherBoot() throws {
    let scratch = try Scratch()
    do {
      let part = try open(scratch)
      part.updateRecord { $0.strongETag = "\"v1\"" }
      try part.write([UInt8](repeating: 1, count: 100), at: 0)
      try part.sync()
      try part.write([UInt8](repeating: 1, count: 2 << 20), at: 100)
    }
    let part = try open(scratch, bootID: "after-a-power-failure")
    #expect(part.isFromAnotherBoot)
    #expect(part.ranges == ByteRangeSet([try #require(ByteRange(0, 100))]))
  }

  @Test func neverClaimsBytesThatTheFileLacks() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 2 << 20)
    truncate("\(scratch.path)/.\(key).part", 1000)
    #expect(try open(scratch).ranges == ByteRangeSet([try #require(ByteRange(0, 1000))]))
  }

  @Test func dropsAPartThatIsLongerThanItsResource() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 3 << 20)
    truncate("\(scratch.path)/.\(key).part", (3 << 20) + 100)
    let part = try open(scratch)
    #expect(part.found == .unusable(bytes: (3 << 20) + 100))
    #expect(part.ranges.isEmpty && part.record.strongETag == nil)
    #expect(scratch.content(part.name)?.isEmpty == true)
  }

  @Test func dropsAPartWhoseRecordIsDamaged() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 2 << 20)
    let record = ".\(key).part.json"
    var content = try #require(scratch.content(record))
    content[20] ^= 1
    try scratch.write(record, content)
    #expect(try open(scratch).found == .unusable(bytes: 2 << 20))
  }

  @Test func dropsAPartOfAnotherResourceWithTheSameShortKey() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 2 << 20)
    let record = ".\(key).part.json"
    let other = ResourceKey(normalizedURL: "https://example.com/other.mp4")
    let otherRecord = ResumeRecord(resource: other.digest, bootID: BootIdentity.current)
    try scratch.write(record, otherRecord.encoded())
    #expect(try open(scratch).found == .unusable(bytes: 2 << 20))
  }

  @Test func secondHolderIsRefusedOrTakesASuffix() throws {
    let scratch = try Scratch()
    let first = try open(scratch)
    #expect(throws: FetchError.self) { try open(scratch) }
    do {
      _ = try open(scratch)
    } catch let error as FetchError {
      #expect(error.code == .output && error.message.contains("another run"))
    }
    let second = try open(scratch, takesSuffix: true)
    #expect(second.name == ".\(key)-2.part")
    withExtendedLifetime(first) {}
  }

  @Test func releasedPartCanBeTakenAtOnce() throws {
    let scratch = try Scratch()
    let first = try open(scratch)
    first.updateRecord { $0.strongETag = "\"v1\"" }
    try first.write([1, 2], at: 0)
    first.flushRecord()
    first.release()
    let second = try open(scratch)
    #expect(second.found == .resumable)
    withExtendedLifetime(first) {}
  }

  @Test func restartLeavesNothingOfTheOldVersion() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 2 << 20)
    let part = try open(scratch)
    try part.restart()
    #expect(part.ranges.isEmpty && part.record.strongETag == nil)
    #expect(scratch.names == [part.name])
    try part.write([9], at: 0)
    part.flushRecord()
    #expect(try #require(scratch.content(part.name)) == [9])
  }

  @Test func announcesWhatIsThereAndWhatComes() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try part.write([1, 2, 3], at: 0)
    let seen = Locked<[ByteRange]>([])
    part.announce { range in seen.withLock { $0.append(range) } }
    try part.write([4, 5], at: 3)
    #expect(seen.withLock { $0.map(\.description) } == ["0..<3", "3..<5"])
  }

  @Test func removalLeavesNothing() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try part.write([1], at: 0)
    part.flushRecord()
    part.remove()
    part.flushRecord()
    #expect(scratch.names.isEmpty)
  }

  @Test func bytesOfAnotherBootStayUntrustedUntilSomeWereCompared() throws {
    let scratch = try Scratch()
    do {
      let part = try open(scratch)
      part.updateRecord { $0.strongETag = "\"v1\"" }
      try part.write([1, 2, 3, 4], at: 0)
      try part.sync()
    }
    // The record as a boot before this one would have left it.
    let name = ".\(key).part.json"
    let content = try #require(scratch.content(name))
    var old = try #require(ResumeRecord(decoding: content, resource: key.digest))
    old.bootID = "an-earlier-boot"
    try scratch.write(name, old.encoded())
    try open(scratch).flushRecord()
    let part = try open(scratch)
    #expect(part.isFromAnotherBoot)
    let sink = ComparingSink(part, compareBelow: 4)
    let equal: [UInt8] = [3, 4]
    try equal.withUnsafeBytes { try sink.write($0, at: 2) }
    part.flushRecord()
    #expect(part.record.bootID == BootIdentity.current)
  }

  @Test func partOfUnknownSizeIsCutToWhatItsRecordClaims() throws {
    let scratch = try Scratch()
    do {
      let part = try open(scratch)
      part.updateRecord { $0.strongETag = "\"v1\"" }
      try part.write([UInt8](repeating: 1, count: 1 << 20), at: 0)
      // Not in the record: it is rewritten for each mebibyte.
      try part.write([2, 2, 2], at: 1 << 20)
    }
    let part = try open(scratch)
    #expect(part.found == .resumable)
    #expect(scratch.content(part.name)?.count == 1 << 20)
  }

  @Test func partThatOthersCouldHavePlantedIsNotUsed() throws {
    let scratch = try Scratch()
    try leave(scratch, bytes: 2 << 20)
    let name = "\(scratch.path)/.\(key).part"
    chmod(name, 0o666)
    #expect(try open(scratch).found == .nothing)
    try leave(scratch, bytes: 2 << 20)
    link(name, name + ".other")
    #expect(try open(scratch).found == .nothing)
    unlink(name)
    symlink("/etc/hostname", name)
    #expect(throws: FetchError.self) { try open(scratch) }
  }

  @Test func deadRunsPartIsPickedUpWhateverItsNumber() throws {
    let scratch = try Scratch()
    let first = try open(scratch)
    do {
      let second = try open(scratch, takesSuffix: true)
      second.updateRecord { $0.strongETag = "\"v1\"" }
      try second.write([1, 2, 3], at: 0)
      second.flushRecord()
    }
    let third = try open(scratch, takesSuffix: true)
    #expect(third.name == ".\(key)-2.part" && third.found == .resumable)
    withExtendedLifetime(first) {}
  }

  @Test func keptSourceGetsItsNameAndPermissionsAndLeavesNothing() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try part.write([1, 2], at: 0)
    try part.publish(as: "film.source.mkv", replacing: false, mode: 0o640)
    part.remove()
    #expect(scratch.names == ["film.source.mkv"])
    let status = try scratch.folder().status(of: "film.source.mkv")
    #expect(try #require(status).mode & 0o777 == 0o640)
    let other = try open(scratch)
    #expect(throws: FetchError.self) {
      try other.publish(as: "film.source.mkv", replacing: false, mode: 0o640)
    }
    other.updateRecord { $0.total = 2 }
    try other.publish(as: "film.source.mkv", replacing: true, mode: 0o640)
    #expect(other.remove() == nil)
    #expect(scratch.names == ["film.source.mkv"])
  }

  @Test func recordWithManyRangesSurvives() throws {
    let scratch = try Scratch()
    do {
      let part = try open(scratch)
      part.updateRecord { $0.strongETag = "\"v1\"" }
      for index in Int64(0)..<600 { try part.write([1], at: index * 2) }
      part.flushRecord()
    }
    let part = try open(scratch)
    #expect(part.ranges.ranges.count == 600)
    #expect(scratch.names == [part.name, part.recordName])
  }

  @Test func comparingSinkPassesOnOnlyWhatFollowsEqualBytes() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try part.write([1, 2, 3, 4], at: 0)
    let sink = ComparingSink(part, compareBelow: 4)
    let equal: [UInt8] = [3, 4, 5, 6]
    try equal.withUnsafeBytes { try sink.write($0, at: 2) }
    #expect(scratch.content(part.name) == [1, 2, 3, 4, 5, 6])
    let other = ComparingSink(part, compareBelow: 4)
    let bytes: [UInt8] = [3, 9, 5]
    #expect(throws: FetchError.self) {
      try bytes.withUnsafeBytes { try other.write($0, at: 2) }
    }
    #expect(other.differs && !sink.differs)
  }
}
