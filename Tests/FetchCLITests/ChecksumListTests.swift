import FetchCLI
import FetchCore
import TestSupport
import Testing

@Suite struct ChecksumListTests {
  private let digests = (
    md5: String(repeating: "a", count: 32), sha1: String(repeating: "b", count: 40),
    sha256: String(repeating: "c", count: 64), sha512: String(repeating: "d", count: 128)
  )

  private func list(_ text: String) throws -> ChecksumList { try ChecksumList(Array(text.utf8)) }

  private func found(_ algorithm: Checksum.Algorithm, _ digest: String) throws
    -> ChecksumList.Finding
  {
    .checksum(try #require(Checksum(algorithm, digest: digest)))
  }

  @Test func eachFormOfALineIsRead() throws {
    let list = try list(
      """
      # made by hand

      \(digests.md5)  md5.mp4\r
      \(digests.sha1.uppercased()) *sha1.mp4
      \(digests.sha256)  folder/two words.mp4
      SHA512 (a (b) = c.mp4) = \(digests.sha512)
      \\\(digests.sha256)  back\\\\slash\\n.mp4
      """)
    #expect(try list.checksum(for: "md5.mp4") == found(.md5, digests.md5))
    #expect(try list.checksum(for: "sha1.mp4") == found(.sha1, digests.sha1))
    #expect(try list.checksum(for: "two words.mp4") == found(.sha256, digests.sha256))
    #expect(try list.checksum(for: "a (b) = c.mp4") == found(.sha512, digests.sha512))
    #expect(try list.checksum(for: "back\\slash\n.mp4") == found(.sha256, digests.sha256))
    #expect(list.checksum(for: "other.mp4") == .missing)
  }

  @Test func sameNameWithTwoChecksumsIsNoAnswer() throws {
    let other = String(repeating: "e", count: 64)
    let list = try list(
      """
      \(digests.sha256)  a/x.mp4
      \(other)  b/x.mp4
      \(digests.sha256)  a/y.mp4
      \(digests.sha256)  b/y.mp4
      \(digests.sha256)  z.mp4
      \(digests.md5)  z.mp4
      """)
    #expect(list.checksum(for: "x.mp4") == .ambiguous)
    #expect(try list.checksum(for: "y.mp4") == found(.sha256, digests.sha256))
    #expect(try list.checksum(for: "z.mp4") == found(.sha256, digests.sha256))
  }

  @Test(arguments: [
    "x.mp4", "abc  x.mp4", "\(String(repeating: "g", count: 64))  x.mp4",
    "\(String(repeating: "a", count: 64))x.mp4", "\(String(repeating: "a", count: 64))  ",
    "CRC (x.mp4) = \(String(repeating: "a", count: 64))",
    "SHA256 (x.mp4) = \(String(repeating: "a", count: 32))",
    "\\\(String(repeating: "a", count: 64))  bad\\escape",
  ])
  func whatIsNoChecksumIsToldWithItsLine(line: String) {
    #expect(throws: UsageError("line 2 is not a checksum and a file name")) {
      _ = try list("# x\n\(line)\n")
    }
  }

  @Test func whatTheToolsOfTheSystemWriteIsRead() throws {
    let scratch = try ScratchDirectory()
    for name in ["plain.mp4", "two words.mp4", "back\\slash\n.mp4"] {
      try scratch.write(name, name)
    }
    for arguments in [["md5sum"], ["sha1sum", "-b"], ["sha256sum", "--tag"], ["sha512sum"]] {
      let written = try outputOfTool(
        arguments + ["plain.mp4", "two words.mp4", "back\\slash\n.mp4"], in: scratch.path)
      let list = try list(written)
      for name in ["plain.mp4", "two words.mp4", "back\\slash\n.mp4"] {
        guard case .checksum = list.checksum(for: name) else {
          Issue.record("\(arguments) \(name): \(list.checksum(for: name))")
          continue
        }
      }
    }
  }
}
