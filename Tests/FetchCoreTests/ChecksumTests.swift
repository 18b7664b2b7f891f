import FetchCore
import Testing

@Suite struct ChecksumTests {
  @Test(arguments: [
    ("md5", 32), ("SHA1", 40), ("sha256", 64), ("Sha512", 128),
  ])
  func takesADigestOfTheRightLengthInAnyCase(name: String, digits: Int) throws {
    let checksum = try Checksum("\(name):" + String(repeating: "aB", count: digits / 2))
    #expect(checksum.algorithm.rawValue == name.lowercased())
    #expect(checksum.digest == String(repeating: "ab", count: digits / 2))
    #expect(
      Checksum(digest: checksum.digest) == checksum)
    for count in [digits - 1, digits + 1, 0] {
      #expect(throws: Checksum.Malformed.self) {
        try Checksum("\(name):" + String(repeating: "a", count: count))
      }
    }
  }

  @Test(arguments: [
    "", "sha256", "sha3:00", ":", "md5:" + String(repeating: "g", count: 32),
    "md5: " + String(repeating: "a", count: 31), "md5:" + String(repeating: "é", count: 16),
  ])
  func refusesWhatIsNone(text: String) {
    #expect(throws: Checksum.Malformed.self) { try Checksum(text) }
  }
}
