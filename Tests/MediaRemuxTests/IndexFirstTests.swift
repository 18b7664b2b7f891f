// Finished files whose index is moved to the front: what ffmpeg reads from them afterwards is what
// it read before.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite struct IndexFirstTests {
  /// A file as the muxer leaves it: `ftyp`, a hole, the media, `moov` with offsets that count the hole.
  struct Draft {
    var path: String
    var gap: ByteRange?
    var original: String
    var moovCount: Int

    /// - Parameters:
    ///   - filling: the size of an empty box that stands before the media.
    ///   - place: the path to write to, elsewhere than in the fixtures' folder.
    init(
      _ name: String, extraGap: (Int) -> Int, withSpare: Bool = true, filling: Int = 0,
      place: String? = nil
    ) throws {
      let fixture = try StructureFixture.named(name)
      original = try FixtureFolder.shared.file(fixture).path
      let bytes = try fixture.bytes()
      let type = try #require(try Boxes.first("ftyp", in: bytes))
      let moov = try #require(try Boxes.first("moov", in: bytes))
      moovCount = moov.count
      let count = extraGap(moov.count)
      gap = ByteRange(offset: Int64(type.upperBound), count: Int64(count))
      var media = Array(bytes[type.upperBound..<moov.lowerBound])
      if !withSpare { media.removeFirst(8) }
      if filling > 0 {
        media = Boxes.box("free", [UInt8](repeating: 0, count: filling - 8)) + media
      }
      let draft =
        bytes[type] + [UInt8](repeating: 0, count: count) + media
        + Draft.shifted(Array(bytes[moov]), by: count + filling - (withSpare ? 0 : 8))
      path = place ?? FixtureFolder.shared.path(name)
      try Data(draft).write(to: URL(fileURLWithPath: path))
    }

    /// Adds to every 32-bit chunk offset, found by the name of its box.
    static func shifted(_ moov: [UInt8], by delta: Int) -> [UInt8] {
      var moov = moov
      var position = 0
      while let found = Array(moov[position...]).firstRange(of: Array("stco".utf8)) {
        let table = position + found.upperBound + 8
        for index in 0..<Int(Boxes.number(moov, table - 4, 4)) {
          let offset = Int(Boxes.number(moov, table + index * 4, 4)) + delta
          Boxes.setSize(offset, at: table + index * 4, in: &moov)
        }
        position = table
      }
      return moov
    }

    /// Moves the index; returns the new bytes.
    func finished() throws -> [UInt8] {
      let sink = open(path, O_RDWR)
      defer { close(sink) }
      let size = try IndexFirst.finish(sink: sink, gap: gap)
      let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(size == Int64(bytes.count))
      return bytes
    }
  }

  static func expectGood(_ bytes: [UInt8], _ draft: Draft) throws {
    let moov = try #require(try Boxes.first("moov", in: bytes))
    let media = try #require(try Boxes.first("mdat", in: bytes))
    #expect(moov.upperBound <= media.lowerBound)
    #expect(media.upperBound == bytes.count)
    #expect(try ContainerStructure.examine(SourceReader(bytes), kind: .mp4) == .proven)
    #expect(try FFmpeg.packets(draft.path) == FFmpeg.packets(draft.original))
  }

  @Test(arguments: ["last.mp4", "pcm.mov"], [0, 8, 9, 4096])
  func indexThatFitsIsCopied(_ name: String, _ rest: Int) throws {
    let draft = try Draft(name) { $0 + rest }
    let before = try FileManager.default.attributesOfItem(atPath: draft.path)[.size] as? Int
    let bytes = try draft.finished()
    #expect(bytes.count == (before ?? 0) - draft.moovCount)
    if rest > 0 {
      let free = try #require(try Boxes.first("free", in: bytes))
      #expect(free.count == rest)
    }
    try Self.expectGood(bytes, draft)
  }

  @Test(arguments: [1, 7])
  func restTooSmallForABoxTakesTheEmptyOneBehind(_ rest: Int) throws {
    let draft = try Draft("last.mp4") { $0 + rest }
    let bytes = try draft.finished()
    #expect(try #require(try Boxes.first("free", in: bytes)).count == rest + 8)
    try Self.expectGood(bytes, draft)
  }

  @Test(arguments: [1, 7])
  func restTooSmallForABoxMovesTheMediaWhereNothingIsSpare(_ rest: Int) throws {
    let draft = try Draft("last.mp4", extraGap: { $0 + rest }, withSpare: false)
    let bytes = try draft.finished()
    #expect(try #require(try Boxes.first("free", in: bytes)).count == 8)
    try Self.expectGood(bytes, draft)
  }

  @Test(arguments: ["last.mp4", "pcm.mov"], [-1, -8, -1000, Int.min])
  func indexThatDoesNotFitMovesTheMedia(_ name: String, _ missing: Int) throws {
    let draft = try Draft(name) { missing == .min ? 0 : $0 + missing }
    #expect((draft.gap == nil) == (missing == .min))
    try Self.expectGood(draft.finished(), draft)
  }

  @Test(arguments: ["last.mp4", "pcm.mov"], [0, 1, 8, 4096, 1_000_000, -1, -1000])
  func smallFileKeepsNoRest(_ name: String, _ rest: Int) throws {
    let draft = try Draft(name) { $0 + rest }
    let sink = open(draft.path, O_RDWR)
    defer { close(sink) }
    try IndexFirst.finish(sink: sink, gap: draft.gap, room: draft.gap?.count)
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: draft.path)))
    let original = try Data(contentsOf: URL(fileURLWithPath: draft.original))
    #expect(bytes.count == original.count)
    try Self.expectGood(bytes, draft)
  }

  @Test(arguments: [100, 60_000])
  func largeFileGetsTheRoomThatItShallHave(_ extra: Int) throws {
    func finished(_ extraGap: Int, room: Int64) throws -> [UInt8] {
      let draft = try Draft("last.mp4", extraGap: { $0 + extraGap }, filling: 17 << 20)
      let sink = open(draft.path, O_RDWR)
      defer {
        close(sink)
        unlink(draft.path)
      }
      let size = try IndexFirst.finish(
        sink: sink, gap: draft.gap, room: Int64(draft.moovCount) + room)
      let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: draft.path)))
      #expect(size == Int64(bytes.count))
      try Self.expectGood(bytes, draft)
      return bytes
    }
    let wanted = try finished(6000, room: 6000)
    #expect(try Boxes.first("free", in: wanted)?.count == 6000)
    #expect(try finished(extra, room: 6000) == wanted)
    // More than a fiftieth of the file is given up, but for what makes whole blocks of the rest.
    let left = ((2 << 20) - 8) % 4096 + 8
    let free = try Boxes.first("free", in: finished(extra, room: 2 << 20))?.count
    #expect(free == left || free == 17 << 20)
    #expect(try finished(extra, room: 2 << 20) == finished(6000, room: 2 << 20))
  }

  @Test(arguments: [1 << 20, 10 << 20])
  func fileOfSomeMegabytesKeepsARestThatIsNotWorthAPass(_ filling: Int) throws {
    func finished(_ extraGap: Int, room: Int64) throws -> [UInt8] {
      let draft = try Draft("last.mp4", extraGap: { $0 + extraGap }, filling: filling)
      let sink = open(draft.path, O_RDWR)
      defer {
        close(sink)
        unlink(draft.path)
      }
      try IndexFirst.finish(sink: sink, gap: draft.gap, room: Int64(draft.moovCount) + room)
      let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: draft.path)))
      try Self.expectGood(bytes, draft)
      return bytes
    }
    let wanted = try finished(6000, room: 6000)
    #expect(try Boxes.first("free", in: wanted)?.count == 6000)
    // The result is the same whatever was left out at first.
    #expect(try finished(100, room: 6000) == wanted)
    #expect(try finished(60_000, room: 6000) == wanted)
    // More than a fiftieth of the file is given up.
    let packed = try finished(300_000, room: 300_000)
    #expect(packed.count == wanted.count - 6000)
  }

  @Test func roomIsReckonedFromTheSource() {
    let listed = IndexRoom(sourceIndex: 100_000, packets: 5000, attachments: 10)
    #expect(listed.bytes(total: nil) == Self.wholeBlocks(115_000 + 4096 + 10))
    #expect(listed.bytes(total: 1 << 40) == listed.bytes(total: nil))
    let compact = IndexRoom(sourceIndex: 1000, packets: 5000, attachments: 0)
    #expect(compact.bytes(total: nil) == Self.wholeBlocks(80_000 + 4096))
    let lying = IndexRoom(sourceIndex: .max, packets: 10, attachments: .max)
    #expect(lying.bytes(total: nil) <= 1 << 30)
    let unlisted = IndexRoom(sourceIndex: nil, packets: 0, attachments: 0)
    #expect(unlisted.bytes(total: 300_000) == Self.wholeBlocks(1000 + 16_384))
    #expect(unlisted.bytes(total: nil) == (1 << 20) + 16_384)
    #expect(unlisted.bytes(total: .max) == (64 << 20) + 16_384)
    // A long film in few bytes: its duration tells more than its size.
    let timed = IndexRoom(sourceIndex: nil, packets: 0, attachments: 0, expected: 1 << 20)
    #expect(timed.bytes(total: 300_000) == (20 << 20) + 16_384)
    #expect(timed.bytes(total: 30 << 30) == (64 << 20) + 16_384)
  }

  private static func wholeBlocks(_ count: Int64) -> Int64 { (count + 4095) / 4096 * 4096 }

  @Test func offsetsPastFourGigabytesAreGiven64Bits() throws {
    // The media begins so near 4 GiB that making room for the index takes its end across. What is
    // in front of it is a hole, so the file takes no space.
    let fixture = try StructureFixture.named("last.mp4")
    let bytes = try fixture.bytes()
    let type = try #require(try Boxes.first("ftyp", in: bytes))
    let moov = try #require(try Boxes.first("moov", in: bytes))
    let media = try #require(try Boxes.first("mdat", in: bytes))
    let payload = bytes[(media.lowerBound + 8)..<media.upperBound]
    let start = (1 << 32) - payload.count - 100
    let delta = start - (media.lowerBound + 8)
    let header = Boxes.big(1, 4) + Array("mdat".utf8)
    let count = start - type.upperBound + payload.count
    let path = FixtureFolder.shared.path("sparse.mp4")
    let sink = open(path, O_RDWR | O_CREAT, 0o600)
    defer {
      close(sink)
      unlink(path)
    }
    try DescriptorIO.write(sink, bytes[type] + header + Boxes.big(UInt64(count), 8), at: 0)
    try DescriptorIO.write(
      sink, Array(payload) + Draft.shifted(Array(bytes[moov]), by: delta), at: Int64(start))
    #expect(Draft.shifted(Array(bytes[moov]), by: delta).firstRange(of: Array("co64".utf8)) == nil)

    let size = try IndexFirst.finish(sink: sink, gap: nil)
    let reader = SourceReader(descriptor: sink, size: size)
    #expect(try ContainerStructure.examine(reader, kind: .mp4) == .proven)
    let head = try DescriptorIO.read(sink, at: 0, count: 65536)
    #expect(head.firstRange(of: Array("co64".utf8)) != nil)
    #expect(try FFmpeg.packets(path) == FFmpeg.packets(FixtureFolder.shared.file(fixture).path))
    var status = stat()
    #expect(fstat(sink, &status) == 0)
    #expect(status.st_blocks * 512 < 64 << 20)
  }

  @Test func tablesArePromotedOneByOne() throws {
    func table(_ offsets: [UInt64], width: Int) -> [UInt8] {
      let entries = offsets.flatMap { Boxes.big($0, width) }
      let stco = Boxes.box(
        width == 8 ? "co64" : "stco", [0, 0, 0, 0] + Boxes.big(UInt64(offsets.count), 4) + entries)
      return Boxes.box(
        "trak",
        Boxes.box(
          "mdia",
          Boxes.box("minf", Boxes.box("stbl", Boxes.box("stsd", [1, 2, 3]) + stco)) + [9, 9]))
    }
    func moov(_ near: Int, _ far: Int) -> [UInt8] {
      Boxes.box(
        "moov",
        Boxes.box("mvhd", [7]) + table([100, 200], width: 4)
          + table([300, 0xFFFF_FFF0], width: far) + table([1 << 40], width: 8)
          + table([400], width: near) + Boxes.box("udta", [0, 0, 0, 0]))
    }
    func added(_ delta: UInt64, _ far: Int) -> [UInt8] {
      Boxes.box(
        "moov",
        Boxes.box("mvhd", [7]) + table([100 + delta, 200 + delta], width: 4)
          + table([300 + delta, 0xFFFF_FFF0 + delta], width: far)
          + table([1 << 40 + delta], width: 8) + table([400 + delta], width: 4)
          + Boxes.box("udta", [0, 0, 0, 0]))
    }
    // `<<` binds tighter than `+`, so the 64-bit table above is 2^40 + delta.
    let offsets = try ChunkOffsets(moov: moov(4, 4))
    #expect(offsets.size(delta: 15) == moov(4, 4).count)
    #expect(try offsets.rewritten(delta: 15) == added(15, 4))
    #expect(offsets.size(delta: 16) == moov(4, 4).count + 8)
    #expect(try offsets.rewritten(delta: 16) == added(16, 8))
  }

  @Test func contradictoryIndexIsAnErrorNotATrap() throws {
    let bytes = try StructureFixture.named("last.mp4").bytes()
    let moov = Array(bytes[try #require(try Boxes.first("moov", in: bytes))])
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<2000 {
      var mutant = moov
      for _ in 0..<4 {
        mutant[Int.random(in: mutant.indices, using: &generator)] = UInt8.random(
          in: .min ... .max, using: &generator)
      }
      do throws(FetchError) {
        let offsets = try ChunkOffsets(moov: mutant)
        _ = try offsets.rewritten(delta: Int64.random(in: 0...(1 << 40), using: &generator))
      } catch {
        #expect(error.code == .internal)
      }
    }
  }

  @Test func unexpectedLayoutIsRefused() throws {
    let path = FixtureFolder.shared.path("odd.mp4")
    try Data(StructureFixture.named("first.mp4").bytes()).write(to: URL(fileURLWithPath: path))
    let sink = open(path, O_RDWR)
    defer { close(sink) }
    #expect(throws: FetchError.self) { try IndexFirst.finish(sink: sink, gap: nil) }
  }

  @Test func cancelledMoveStops() throws {
    let draft = try Draft("last.mp4") { _ in 16 }
    let sink = open(draft.path, O_RDWR)
    defer { close(sink) }
    let flag = CancellationFlag()
    flag.cancel()
    #expect(throws: FetchError.cancelled) {
      try IndexFirst.finish(sink: sink, gap: draft.gap, cancellation: flag)
    }
  }

  @Test func fullDiskIsSaidToBeFull() throws {
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    do throws(SystemError) {
      try DescriptorIO.write(full, [1, 2, 3], at: 0)
      Issue.record("/dev/full took bytes")
    } catch {
      #expect(error.fetchError("writing").code == .diskFull)
    }
  }

  @Test func failedWriteNamesItsCall() throws {
    let draft = try Draft("last.mp4") { $0 }
    let sink = open(draft.path, O_RDONLY)
    defer { close(sink) }
    #expect {
      try IndexFirst.finish(sink: sink, gap: draft.gap)
    } throws: { error in
      (error as? FetchError)?.reason?.hasPrefix("pwrite") == true
    }
  }
}
