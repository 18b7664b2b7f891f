import FetchCore
import Foundation
import Testing

@testable import PartialStorage

@Suite struct ScratchFileTests {
  @Test func nothingOfItHasAName() throws {
    let scratch = try Scratch()
    let file = try ScratchFile(in: scratch.path)
    try [UInt8](repeating: 7, count: 100).withUnsafeBytes { try file.write($0, at: 5000) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
    #expect(try file.descriptor.status().size == 5100)
    #expect(try file.descriptor.status().mode & 0o077 == 0)
  }

  @Test func announcesWhatCanBeRead() throws {
    let scratch = try Scratch()
    let file = try ScratchFile(in: scratch.path)
    let seen = Locked<[ByteRange]>([])
    file.announce { [weak file] range in
      let isThere = file?.present.contains(range) == true
      seen.withLock { $0 += isThere ? [range] : [] }
    }
    for offset in [1000, 0, 50] as [Int64] {
      try [UInt8](repeating: 1, count: 100).withUnsafeBytes { try file.write($0, at: offset) }
    }
    #expect(
      seen.withLock { $0 }
        == [ByteRange(1000, 1100), ByteRange(0, 100), ByteRange(50, 150)])
    #expect(file.present.byteCount == 250 && file.received == 300)
  }

  @Test func aFolderThatIsNotThereIsAnError() {
    #expect(throws: FetchError.self) { try ScratchFile(in: "/nowhere/at/all") }
  }
}
