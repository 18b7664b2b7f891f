// A part that gives room back: what goes, what stays, and that no later run trusts it.

import FetchCore
import Foundation
import PartialStorage
import Testing

@Suite struct PunchingTests {
  private let key = ResourceKey(normalizedURL: "https://example.com/clip.mp4")

  @Test func holesTakeNoRoomAndNoRunResumesFromThem() throws {
    let scratch = try Scratch()
    let range = try #require(ByteRange(1 << 20, 7 << 20))
    do {
      let part = try PartialFile.open(in: scratch.folder(), key: key, takesSuffix: false)
      part.updateRecord { record in
        record.strongETag = "\"v1\""
        record.total = 8 << 20
      }
      try part.write([UInt8](repeating: 7, count: 8 << 20), at: 0)
      try part.sync()
      #expect(scratch.names.contains(part.recordName))
      #expect(!part.isSpent)
      let before = try blocks(of: part)
      guard try part.punch(range) else { return }
      #expect(try blocks(of: part) <= before - 6 << 20)
      #expect(part.isSpent)
      // This run goes on with what it has announced.
      #expect(part.ranges.isComplete(total: 8 << 20))
      #expect(try part.descriptor.status().size == 8 << 20)
      part.flushRecord()
      try part.sync()
      // It tells other machines whose the part is, and no more.
      let content = try #require(scratch.content(part.recordName))
      let record = try #require(ResumeRecord(decoding: content, resource: key.digest))
      #expect(record.holder == .current && record.ranges.isEmpty && record.synced.isEmpty)
    }
    let next = try PartialFile.open(in: scratch.folder(), key: key, takesSuffix: false)
    #expect(next.found == .unusable(bytes: 8 << 20))
    #expect(next.ranges.isEmpty)
  }

  @Test func partThatStartsOverHasARecordAgain() throws {
    let scratch = try Scratch()
    let part = try PartialFile.open(in: scratch.folder(), key: key, takesSuffix: false)
    try part.write([UInt8](repeating: 7, count: 1 << 20), at: 0)
    _ = try part.punch(try #require(ByteRange(0, 1 << 19)))
    try part.restart()
    #expect(!part.isSpent)
    part.updateRecord { $0.strongETag = "\"v2\"" }
    #expect(scratch.names.contains(part.recordName))
  }

  private func blocks(of part: PartialFile) throws -> Int64 {
    var status = stat()
    try #require(fstat(part.descriptor.rawValue, &status) == 0)
    return Int64(status.st_blocks) * 512
  }

  @Test func whatATransferMayCompareWaits() throws {
    let mebibyte: Int64 = 1 << 20
    func range(_ from: Int64, _ to: Int64) throws -> ByteRange { try #require(ByteRange(from, to)) }
    var released = ReleasedRanges()
    released.insert(try range(100, 5 * mebibyte))
    var present = ByteRangeSet([try range(0, 4 * mebibyte)])
    #expect(
      try released.take(present: present, total: nil) == [range(4096, 3 * mebibyte)])
    #expect(released.take(present: present, total: nil) == [])
    present.insert(try range(4 * mebibyte, 5 * mebibyte + 5000))
    #expect(
      try released.take(present: present, total: 9 * mebibyte)
        == [range(3 * mebibyte, 4 * mebibyte + 4096)])
    present.insert(try range(5 * mebibyte, 9 * mebibyte))
    #expect(
      try released.take(present: present, total: 9 * mebibyte)
        == [range(4 * mebibyte + 4096, 5 * mebibyte)])
    // Nothing of what isn't there goes.
    released.insert(try range(20 * mebibyte, 22 * mebibyte))
    #expect(released.take(present: present, total: 30 * mebibyte) == [])
  }

  @Test func demandIsATenthOfTheSourceAndTheResult() {
    let large: Int64 = 10 << 30
    let demand = DiskDemand.givingBack(missing: large, output: large)
    #expect(demand.needed < large + large / 8)
    #expect(DiskDemand.givingBack(missing: 5, output: 1 << 20).missing == 5)
  }
}
