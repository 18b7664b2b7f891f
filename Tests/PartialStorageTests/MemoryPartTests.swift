// A part that stands in memory as long as a file isn't worth it.

import FetchCore
import Foundation
import Glibc
import PartialStorage
import TestSupport
import Testing

@Suite struct MemoryPartTests {
  private let key = ResourceKey(normalizedURL: "https://example.com/clip.mp4")

  private func open(
    _ scratch: Scratch, takesSuffix: Bool = false, limit: Int64 = PartialFile.memoryLimit
  ) throws -> PartialFile {
    try PartialFile.openInMemory(
      in: scratch.folder(), key: key, takesSuffix: takesSuffix, memoryLimit: limit)
  }

  private func reopen(_ scratch: Scratch) throws -> PartialFile {
    try PartialFile.open(in: scratch.folder(), key: key, takesSuffix: false)
  }

  /// Makes one that holds the first `bytes` of a small body.
  private func begun(_ scratch: Scratch, bytes: Int = 5000) throws -> PartialFile {
    let part = try open(scratch)
    #expect(try part.place(total: 100_000))
    part.updateRecord { record in
      record.strongETag = "\"v1\""
      record.total = 100_000
    }
    try part.write([UInt8](repeating: 7, count: bytes), at: 0)
    return part
  }

  @Test func smallBodyLeavesNoTraceInTheFolder() throws {
    let scratch = try Scratch()
    let part = try begun(scratch)
    part.flushRecord()
    try part.sync()
    part.keepAlive()
    #expect(scratch.names.isEmpty && !part.holdsName)
    #expect(try part.descriptor.bytes(at: 0, count: 9000) == [UInt8](repeating: 7, count: 5000))
    #expect(part.remove() == nil)
    part.release()
    #expect(scratch.names.isEmpty)
  }

  @Test(arguments: [nil, 1_048_577] as [Int64?])
  func bodyThatMayBeLargeGetsItsFileBeforeItsFirstByte(_ total: Int64?) throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    #expect(try part.place(total: total))
    #expect(part.holdsName && scratch.names == [part.name, part.recordName])
    try part.write([1, 2, 3], at: 0)
    #expect(scratch.content(part.name) == [1, 2, 3])
    #expect(try part.descriptor.bytes(at: 0, count: 3) == [1, 2, 3])
  }

  @Test func whatIsInMemoryCanBeResumedOnceItHasItsFile() throws {
    let scratch = try Scratch()
    do {
      let part = try begun(scratch)
      let readers = part.descriptor
      try part.settle()
      #expect(part.holdsName && scratch.names == [part.name, part.recordName])
      try part.write([UInt8](repeating: 8, count: 1000), at: 5000)
      #expect(
        try readers.bytes(at: 4999, count: 9) == [7, 8, 8, 8, 8, 8, 8, 8, 8],
        "who reads already goes on")
      #expect(part.descriptor === readers)
      part.flushRecord()
    }
    let next = try reopen(scratch)
    #expect(next.found == .resumable && next.record.strongETag == "\"v1\"")
    #expect(next.ranges == ByteRangeSet([ByteRange(0, 6000)!]))
    #expect(try next.descriptor.bytes(at: 5998, count: 9) == [8, 8])
  }

  @Test func bytesThatComeMeanwhileAreInTheFileToo() throws {
    for _ in 0..<20 {
      let scratch = try Scratch()
      let part = try begun(scratch, bytes: 1)
      let block = 512
      let writer = Thread {
        for index in 0..<190 {
          try? part.write(
            [UInt8](repeating: UInt8(index), count: block), at: 1 + Int64(index * block))
        }
      }
      writer.start()
      try part.settle()
      while !writer.isFinished { sched_yield() }
      part.flushRecord()
      var wanted: [UInt8] = [7]
      for index in 0..<190 { wanted += [UInt8](repeating: UInt8(index), count: block) }
      #expect(scratch.content(part.name) == wanted)
      #expect(part.ranges == ByteRangeSet([ByteRange(0, Int64(wanted.count))!]))
    }
  }

  @Test(arguments: [true, false])
  func afterASecondItHasItsFileBeItEmpty(isEmpty: Bool) throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try part.settleIfDue()
    if !isEmpty {
      _ = try part.place(total: 9)
      try part.write([1], at: 0)
      try part.settleIfDue()
    }
    #expect(scratch.names.isEmpty, "not at once")
    Thread.sleep(forTimeInterval: 1.01)
    try part.settleIfDue()
    #expect(scratch.names == [part.name, part.recordName])
    let error = #expect(throws: FetchError.self) { try reopen(scratch) }
    #expect(error?.code == .output, "it holds the lock")
  }

  @Test func partThatAnotherRunLeftMeanwhileIsNotLost() throws {
    let scratch = try Scratch()
    let waiting = try open(scratch)
    let slow = try begun(scratch, bytes: 100)
    do {
      let other = try begun(scratch)
      try other.settle()
    }
    for part in [waiting, slow] {
      let error = #expect(throws: FetchError.self) { try part.settle() }
      #expect(error?.code == .output)
      part.remove()
    }
    let next = try reopen(scratch)
    #expect(next.found == .resumable && next.ranges.byteCount == 5000)
    #expect(next.record.strongETag == "\"v1\"")
  }

  @Test func partThatHoldsLessGivesWay() throws {
    let scratch = try Scratch()
    let part = try begun(scratch)
    do {
      let other = try begun(scratch, bytes: 100)
      try other.settle()
    }
    try part.settle()
    #expect(scratch.content(part.name) == [UInt8](repeating: 7, count: 5000))
  }

  @Test(.enabled(if: MountedDisk.isPossible(.tmpfs), "no tmpfs can be mounted here"))
  func fullDiskKeepsWhatFits() throws {
    let disk = try MountedDisk(.tmpfs, megabytes: 1)
    let folder = try Folder.existing(disk.path)
    let noise = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    do {
      let part = try PartialFile.openInMemory(in: folder, key: key, takesSuffix: false)
      #expect(try part.place(total: 1_000_000))
      part.updateRecord { $0.strongETag = "\"v1\"" }
      try part.write(noise, at: 0)
      _ = FileManager.default.createFile(
        atPath: disk.file("other"), contents: Data(count: 700_000))
      let error = #expect(throws: FetchError.self) { try part.settle() }
      #expect(error?.code == .diskFull)
      #expect(part.ranges.byteCount == 900_000, "nothing that is in memory is lost")
      #expect(part.keep())
      part.release()
    }
    let next = try PartialFile.open(in: folder, key: key, takesSuffix: false)
    let kept = Int(next.ranges.byteCount)
    #expect(next.found == .resumable && (100_000..<400_000).contains(kept), "\(kept)")
    #expect(try next.descriptor.bytes(at: 0, count: kept) == Array(noise[..<kept]))
  }

  @Test func biggerVersionThanReadersCanBeGivenIsAnotherPart() throws {
    let scratch = try Scratch()
    let part = try begun(scratch, bytes: 0)
    #expect(try !part.place(total: 50 << 20), "readers have the memory already")
    #expect(try !part.place(total: nil))
    #expect(try part.place(total: 70_000))
    try part.restart()
    #expect(try part.place(total: 50 << 20))
    #expect(part.holdsName)
  }

  @Test func startedOverItForgetsWhatItHeld() throws {
    let scratch = try Scratch()
    let part = try begun(scratch)
    try part.settle()
    try part.restart()
    #expect(part.ranges.isEmpty && scratch.content(part.name) == [])
    _ = try part.place(total: 50 << 20)
    try part.write([9], at: 0)
    #expect(scratch.content(part.name) == [9])
    #expect(try part.descriptor.bytes(at: 0, count: 2) == [9])
  }

  @Test func partThatStandsThereIsOpenedWhereItIs() throws {
    let scratch = try Scratch()
    do {
      let part = try begun(scratch)
      try part.settle()
    }
    let part = try open(scratch)
    #expect(part.found == .resumable && part.holdsName && part.ranges.byteCount == 5000)
  }

  @Test func recordOfAPublicationIsFoundWithoutItsPart() throws {
    let scratch = try Scratch()
    try scratch.write("film.mp4", [1])
    let status = try #require(try scratch.folder().status(of: "film.mp4"))
    do {
      let part = try begun(scratch)
      try part.settle()
      part.updateRecord { $0.publication = .init(name: "film.mp4", status) }
      unlink("\(scratch.path)/\(part.name)")
    }
    #expect(try open(scratch).record.publication?.name == "film.mp4")
  }

  @Test func anotherRunThatWasQuickerKeepsItsPart() throws {
    let scratch = try Scratch()
    let part = try begun(scratch)
    let other = try begun(scratch)
    try other.settle()
    let error = #expect(throws: FetchError.self) { try part.settle() }
    #expect(error?.code == .output)
    #expect(scratch.content(other.name) == [UInt8](repeating: 7, count: 5000))
    #expect(try part.descriptor.bytes(at: 4999, count: 2) == [7], "what is in memory stays")
    part.remove()
    #expect(scratch.names == [other.name, other.recordName])
    let aside = try open(scratch, takesSuffix: true)
    #expect(aside.holdsName, "one that stands there is looked at")
  }

  @Test func inTheSharedFolderOfOneUserTheSecondTakesASuffix() throws {
    let scratch = try Scratch()
    let first = try open(scratch, takesSuffix: true)
    let second = try open(scratch, takesSuffix: true)
    for part in [first, second] {
      _ = try part.place(total: 10)
      try part.write([1], at: 0)
      try part.settle()
    }
    #expect(first.name != second.name)
    #expect(Set(scratch.names) == [first.name, first.recordName, second.name, second.recordName])
  }

  @Test func sourceThatIsKeptComesOutOfMemory() throws {
    let scratch = try Scratch()
    let part = try begun(scratch)
    try part.publish(as: "film.source.mp4", replacing: false, mode: 0o644)
    part.remove()
    #expect(scratch.names == ["film.source.mp4"])
    #expect(scratch.content("film.source.mp4") == [UInt8](repeating: 7, count: 5000))
  }

  @Test func folderThatTakesNothingCostsNothingThatIsInMemory() throws {
    let scratch = try Scratch()
    let part = try begun(scratch)
    rmdir(scratch.path)
    #expect(throws: FetchError.self) { try part.settle() }
    #expect(part.ranges.byteCount == 5000 && !part.holdsName)
    #expect(try part.descriptor.bytes(at: 0, count: 1) == [7])
  }
}
