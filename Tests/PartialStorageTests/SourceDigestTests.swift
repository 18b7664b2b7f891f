import FetchCore
import Glibc
import PartialStorage
import TestSupport
import Testing

@Suite struct SourceDigestTests {
  /// As the tools of the system print it.
  private func expected(_ algorithm: Checksum.Algorithm, _ path: String) throws -> String {
    let line = try outputOfTool(["\(algorithm.rawValue)sum", path])
    return String(line.prefix { $0 != " " })
  }

  private func sample(_ scratch: ScratchDirectory, count: Int) throws -> FileDescriptor {
    var random = SeededNumbers(seed: UInt64(count))
    let file = try FileDescriptor.open(scratch.file("sample"), O_RDWR | O_CREAT)
    try file.write((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }, at: 0)
    return file
  }

  @Test(arguments: Checksum.Algorithm.allCases)
  func agreesWithTheToolsOfTheSystem(algorithm: Checksum.Algorithm) throws {
    let scratch = try ScratchDirectory()
    let file = try sample(scratch, count: 700_001)
    let digest = try SourceDigest(algorithm)
    try digest.advance(to: 700_001, reading: file)
    #expect(try digest.finish() == expected(algorithm, scratch.file("sample")))
  }

  @Test func stepsOfAnySizeMakeTheSameDigest() throws {
    let scratch = try ScratchDirectory()
    let file = try sample(scratch, count: 600_000)
    let digest = try SourceDigest(.sha256)
    for end: Int64 in [0, 1, 1, 262_144, 262_145, 100, 599_999, 600_000] {
      try digest.advance(to: end, reading: file)
      // What it is meanwhile may be asked for, and changes nothing.
      _ = try digest.finish()
    }
    #expect(digest.offset == 600_000)
    #expect(try digest.finish() == expected(.sha256, scratch.file("sample")))
  }

  @Test func resetForgetsWhatCameBefore() throws {
    let scratch = try ScratchDirectory()
    let file = try sample(scratch, count: 1000)
    let digest = try SourceDigest(.sha1)
    try digest.advance(to: 500, reading: file)
    try digest.reset()
    #expect(digest.offset == 0)
    try digest.advance(to: 1000, reading: file)
    #expect(try digest.finish() == expected(.sha1, scratch.file("sample")))
  }

  @Test func fileThatEndsBeforeIsToldOf() throws {
    let scratch = try ScratchDirectory()
    let file = try sample(scratch, count: 10)
    let digest = try SourceDigest(.md5)
    #expect(throws: FetchError.self) { try digest.advance(to: 11, reading: file) }
  }
}
