import FetchCore
import PartialStorage
import Testing

@Suite struct ResumeRecordTests {
  private func sample() throws -> ResumeRecord {
    var record = ResumeRecord(resource: String(repeating: "a", count: 64), bootID: "boot-1")
    record.holder = HostIdentity(machine: "0123456789abcdef", boot: "boot-1")
    record.strongETag = "\"quoted \\ tag\""
    record.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
    record.total = 1_000_000
    record.proposedName = "na\u{EF}ve\u{1}\n.mp4"
    record.ranges = ByteRangeSet([try #require(ByteRange(0, 10)), try #require(ByteRange(20, 30))])
    record.synced = ByteRangeSet([try #require(ByteRange(0, 5))])
    return record
  }

  @Test func readsBackWhatItWrote() throws {
    let record = try sample()
    #expect(ResumeRecord(decoding: record.encoded(), resource: record.resource) == record)
  }

  @Test func ignoresWhatALongerRecordLeftBehind() throws {
    let record = try sample()
    let content = record.encoded() + Array("ranges\":[[0,99]]}\n".utf8)
    #expect(ResumeRecord(decoding: content, resource: record.resource) == record)
  }

  @Test func noChangedByteIsBelieved() throws {
    let record = try sample()
    let content = record.encoded()
    for index in content.indices.dropLast() {
      var changed = content
      changed[index] ^= 0x01
      #expect(ResumeRecord(decoding: changed, resource: record.resource) == nil)
    }
    for count in 0..<content.count {
      #expect(
        ResumeRecord(decoding: Array(content.prefix(count)), resource: record.resource) == nil)
    }
  }

  @Test func refusesAnotherResource() throws {
    let record = try sample()
    #expect(
      ResumeRecord(decoding: record.encoded(), resource: String(repeating: "b", count: 64)) == nil)
  }

  @Test func trustsCachedBytesOnlyInTheSameBoot() throws {
    let record = try sample()
    #expect(record.trustedRanges(bootID: "boot-1") == record.ranges)
    #expect(record.trustedRanges(bootID: "boot-2") == record.synced)
    #expect(record.trustedRanges(bootID: "") == record.synced)
  }

  @Test func digestIsSHA256() {
    #expect(
      SHA256.hexDigest(of: Array("abc".utf8))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }
}
