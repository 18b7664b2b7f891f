// What a record claims after a power failure, while a thread of its own has the bytes written.

import FetchCore
import Glibc
import PartialStorage
import TestSupport
import Testing

@Suite struct PartSyncTests {
  private let key = ResourceKey(normalizedURL: "https://example.com/clip.mp4")

  private func open(_ scratch: Scratch) throws -> PartialFile {
    try PartialFile.open(in: scratch.folder(), key: key, takesSuffix: false)
  }

  private func write(_ part: PartialFile, mebibytes: ClosedRange<Int64>) throws {
    let bytes = [UInt8](repeating: 7, count: 1 << 20)
    for index in mebibytes { try part.write(bytes, at: index << 20) }
  }

  @Test func whatIsDueBecomesDurableBehindTheJob() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try write(part, mebibytes: 0...40)
    try write(part, mebibytes: 60...70)
    #expect(part.record.synced.isEmpty)
    try part.syncIfDue(calm: .zero)
    try waitUntil("all is durable") { part.record.synced == part.ranges }
    // And again, for what came since.
    try write(part, mebibytes: 41...45)
    try waitUntil("what came later is durable") {
      try part.syncIfDue(calm: .zero)
      return part.record.synced == part.ranges
    }
    #expect(part.ranges.ranges.count == 2)
  }

  @Test func nothingIsDueInTheFirstSeconds() throws {
    let scratch = try Scratch()
    let part = try open(scratch)
    try write(part, mebibytes: 0...80)
    try part.syncIfDue()
    usleep(300_000)
    #expect(part.record.synced.isEmpty)
  }

  @Test func bytesThatWereDroppedMeanwhileAreNotClaimed() throws {
    for _ in 0..<10 {
      let scratch = try Scratch()
      let part = try open(scratch)
      try write(part, mebibytes: 0...30)
      try part.syncIfDue(calm: .zero)
      try part.restart()
      try part.write([1, 2, 3], at: 0)
      // The sync after the one that is under way claims what is there.
      try waitUntil("the new bytes are durable") {
        try part.syncIfDue(calm: .zero)
        return !part.record.synced.isEmpty
      }
      #expect(part.record.synced == ByteRangeSet([try #require(ByteRange(0, 3))]))
    }
  }

  @Test func aPartThatIsGivenUpMeanwhileIsFreeAtOnce() throws {
    for _ in 0..<10 {
      let scratch = try Scratch()
      do {
        let part = try open(scratch)
        part.updateRecord { $0.strongETag = "\"v1\"" }
        try write(part, mebibytes: 0...30)
        try part.syncIfDue(calm: .zero)
      }
      #expect(try open(scratch).ranges.byteCount == 31 << 20)
    }
  }

  @Test func aPartThatIsRemovedMeanwhileLeavesNothing() throws {
    for _ in 0..<10 {
      let scratch = try Scratch()
      let part = try open(scratch)
      try write(part, mebibytes: 0...30)
      try part.syncIfDue(calm: .zero)
      #expect(part.remove() == nil)
      usleep(50_000)
      #expect(scratch.names.isEmpty)
    }
  }
}
