// Attempts at one item from several machines, in a folder that they share. Locks of other machines
// are taken to be unknown here, as on many network file systems: whoever is let go of has none.

import FetchCore
import Foundation
import PartialStorage
import Testing

@Suite struct SharedFolderTests {
  private let key = ResourceKey(normalizedURL: "https://example.com/clip.mp4")
  private let north = HostIdentity(machine: "north", boot: "n-1")
  private let south = HostIdentity(machine: "south", boot: "s-1")

  private func open(
    _ scratch: Scratch, _ host: HostIdentity, takesSuffix: Bool = false
  ) throws -> PartialFile {
    try PartialFile.open(in: scratch.folder(), key: key, takesSuffix: takesSuffix, host: host)
  }

  /// A part that is held, with `bytes` on the disk and as many that are not.
  private func hold(_ scratch: Scratch, _ host: HostIdentity, bytes: [UInt8]) throws -> PartialFile
  {
    let part = try open(scratch, host)
    part.updateRecord { record in
      record.strongETag = "\"v1\""
      record.total = 1 << 20
    }
    try part.write(bytes, at: 0)
    try part.sync()
    try part.write(bytes, at: Int64(bytes.count))
    part.flushRecord()
    return part
  }

  /// Lets the lock go, as if it had been another kernel's.
  private func unlock(_ part: PartialFile) { part.descriptor.unlock() }

  /// Makes a part and its record look as if nobody had written to them for a while.
  private func age(_ scratch: Scratch, _ name: String, by seconds: TimeInterval) throws {
    for file in [name, name + ".json"] where scratch.names.contains(file) {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -seconds)],
        ofItemAtPath: "\(scratch.path)/\(file)")
    }
  }

  @Test(arguments: [
    (locked: true, holder: nil, silence: 0, claim: PartClaim.held),
    (true, "n-1", 600, .held),
    (true, "n-0", 600, .held),
    (true, "s-1", 0, .foreign),
    (true, "s-1", 600, .foreign),
    (false, nil, 0, .adoptable),
    (false, "n-1", 0, .adoptable),
    (false, "n-0", 0, .adoptable),
    (false, "s-1", 0, .foreign),
    (false, "s-1", 59, .foreign),
    (false, "s-1", -59, .foreign),
    (false, "s-1", 60, .copyable),
    (false, "s-1", -3600, .copyable),
  ])
  func claimFollowsFromLockHolderAndSilence(
    locked: Bool, holder: String?, silence: Int, claim: PartClaim
  ) {
    let machine = holder.map {
      HostIdentity(machine: $0.hasPrefix("n") ? "north" : "south", boot: $0)
    }
    #expect(
      PartClaim(isLocked: locked, holder: machine, host: north, silence: .seconds(silence)) == claim
    )
  }

  @Test func containersOfOneKernelAreOneMachineSinceTheySeeEachOthersLocks() {
    let container = HostIdentity(machine: "other name", boot: "n-1")
    #expect(container.isSameMachine(as: north))
    #expect(!north.isSameMachine(as: south))
    // Nothing is known of a boot that can't be read.
    #expect(
      !HostIdentity(machine: "a", boot: "").isSameMachine(as: HostIdentity(machine: "b", boot: "")))
  }

  @Test func thisSystemHasAnIdentityThatStays() {
    #expect(HostIdentity.current.machine.count == 16)
    #expect(HostIdentity.current.boot == BootIdentity.current)
  }

  @Test(arguments: [false, true])
  func partThatAnotherMachineHoldsIsLeftAlone(isLockKnown: Bool) throws {
    let scratch = try Scratch()
    let first = try hold(scratch, north, bytes: [1, 2, 3])
    if !isLockKnown { unlock(first) }
    let second = try open(scratch, south)
    #expect(second.name == ".\(key)-2.part" && second.found == .nothing)
    try second.write([9], at: 0)
    second.flushRecord()
    #expect(scratch.content(first.name) == [1, 2, 3, 1, 2, 3])
    second.remove()
    #expect(scratch.names == [first.name, first.recordName])
    // The same machine is refused as ever.
    if isLockKnown { #expect(throws: FetchError.self) { try open(scratch, north) } }
  }

  @Test func holderOfASuffixedPartIsALiveOneForItsOwnMachine() throws {
    let scratch = try Scratch()
    let first = try hold(scratch, north, bytes: [1])
    unlock(first)
    let second = try open(scratch, south)
    second.flushRecord()
    #expect(throws: FetchError.self) { try open(scratch, south) }
    withExtendedLifetime((first, second)) {}
  }

  @Test func partThatAnotherMachineLeftBehindIsContinuedInACopy() throws {
    let scratch = try Scratch()
    let first = try hold(scratch, north, bytes: [1, 2, 3])
    unlock(first)
    try scratch.write(".\(key).out", [0])
    try age(scratch, first.name, by: 61)
    let second = try open(scratch, south)
    #expect(second.found == .resumable && second.isFromAnotherBoot)
    // What the other had not synced may never have left it.
    #expect(second.ranges == ByteRangeSet([try #require(ByteRange(0, 3))]))
    #expect(scratch.content(second.name) == [1, 2, 3])
    second.flushRecord()
    #expect(scratch.names == [second.name, second.recordName])
  }

  @Test func sleeperThatWakesChangesNothingOfItsSuccessors() throws {
    let scratch = try Scratch()
    let sleeper = try hold(scratch, north, bytes: [1, 2, 3])
    unlock(sleeper)
    try age(scratch, sleeper.name, by: 3600)
    let second = try open(scratch, south)
    second.flushRecord()
    // A third finds the first name free.
    let third = try open(scratch, HostIdentity(machine: "west", boot: "w-1"))
    #expect(third.name == sleeper.name)
    third.flushRecord()
    let before = scratch.content(third.recordName)
    try sleeper.write([7, 7, 7, 7, 7, 7, 7, 7], at: 0)
    sleeper.flushRecord()
    #expect(throws: FetchError.self) {
      try sleeper.publish(as: "source.mp4", replacing: false, mode: 0o644)
    }
    sleeper.remove()
    #expect(scratch.content(second.name) == [1, 2, 3])
    #expect(scratch.content(third.name) == [] && scratch.content(third.recordName) == before)
    #expect(scratch.names.count == 4)
  }

  @Test func machineThatStartedAnewContinuesItsPartInPlaceAtOnce() throws {
    let scratch = try Scratch()
    let first = try hold(scratch, north, bytes: [1, 2, 3])
    unlock(first)
    let second = try open(scratch, HostIdentity(machine: "north", boot: "n-2"))
    #expect(second.name == first.name && second.isFromAnotherBoot)
    #expect(second.ranges == ByteRangeSet([try #require(ByteRange(0, 3))]))
  }

  @Test func ofSeveralThatWereLeftBehindTheFullestIsContinuedAndNoneStays() throws {
    let scratch = try Scratch()
    let first = try hold(scratch, north, bytes: [1, 2])
    unlock(first)
    let second = try open(scratch, south)
    second.updateRecord { $0.strongETag = "\"v1\"" }
    try second.write([1, 2, 3, 4], at: 0)
    try second.sync()
    unlock(second)
    try age(scratch, first.name, by: 100)
    let third = try open(scratch, south)
    #expect(third.name == second.name && third.ranges.byteCount == 4)
    #expect(scratch.names == [third.name, third.recordName])
  }

  @Test func partWithoutARecordIsReplacedSinceItsHolderMayBeAboutToWriteOne() throws {
    let scratch = try Scratch()
    let first = try open(scratch, north)
    unlock(first)
    let second = try open(scratch, south)
    #expect(second.name == first.name && second.found == .nothing)
    second.flushRecord()
    try first.write([1, 2, 3], at: 0)
    first.flushRecord()
    first.remove()
    #expect(scratch.content(second.name) == [])
    #expect(scratch.names == [second.name, second.recordName])
  }

  @Test func partThatItsMachineLeavesBehindMeanwhileGoesWithTheOneBesideIt() throws {
    let scratch = try Scratch()
    let first = try hold(scratch, north, bytes: [1])
    unlock(first)
    let second = try open(scratch, south)
    second.flushRecord()
    let third = try open(scratch, HostIdentity(machine: "west", boot: "w-1"))
    third.flushRecord()
    try age(scratch, first.name, by: 61)
    second.remove()
    #expect(scratch.names == [third.name, third.recordName])
  }

  @Test func recordThatIsRewrittenShowsThatItsHolderLives() throws {
    let scratch = try Scratch()
    let part = try hold(scratch, north, bytes: [1])
    unlock(part)
    try age(scratch, part.name, by: 100)
    part.flushRecord()
    #expect(try open(scratch, south).name == ".\(key)-2.part")
  }

  @Test func hiddenOutputThatIsAnothersByNowIsNotPublished() throws {
    let scratch = try Scratch()
    let folder = try scratch.folder()
    let output = try OutputFile.make(in: folder, stem: ".\(key)", isNamed: true)
    try scratch.write("other", [1])
    #expect(rename("\(scratch.path)/other", "\(scratch.path)/.\(key).out") == 0)
    #expect(throws: FetchError.self) { try output.publish(as: "clip.mp4", replacing: false) }
    #expect(throws: FetchError.self) { try output.publish(as: "clip.mp4", replacing: true) }
    #expect(!scratch.names.contains("clip.mp4"))
  }
}
