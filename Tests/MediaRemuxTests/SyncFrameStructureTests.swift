// Raw sound: a last frame that is cut is found, and FLAC's count of samples is held against it.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite struct SyncFrameStructureTests {
  private static func examine(
    _ bytes: [UInt8], _ kind: ContainerKind
  ) throws -> StructureVerdict {
    try ContainerStructure.examine(SourceReader(bytes), kind: kind)
  }

  private static func message(_ verdict: StructureVerdict) -> String {
    if case .damaged(let error) = verdict { error.message } else { "\(verdict)" }
  }

  // MARK: Frames with a size

  @Test(arguments: [
    ("plain.ac3", 1), ("odd.ac3", 1), ("plain.eac3", 1), ("plain.dts", 1), ("plain.mp2", 4),
    ("plain.flac", 1),
  ])
  func everyCutInsideTheLastFrameIsDamage(_ name: String, _ step: Int) throws {
    let fixture = try StructureFixture.named(name)
    let bytes = try fixture.bytes()
    var cut = 1
    while cut < 64 {
      #expect(
        try Self.examine(Array(bytes.dropLast(cut)), fixture.kind).isDamaged, "\(cut) missing")
      cut += step
    }
  }

  /// A frame of E-AC-3 with 64 bytes.
  private static func enhanced(type: UInt8, substream: UInt8 = 0) -> [UInt8] {
    [0x0B, 0x77, type << 6 | substream << 3, 31, 0x3F, 0x80] + [UInt8](repeating: 5, count: 58)
  }

  @Test func dependentSubstreamsBelongToTheirFrame() throws {
    let unit = Self.enhanced(type: 0) + Self.enhanced(type: 1)
    let bytes = [[UInt8]](repeating: unit, count: 10).flatMap { $0 }
    #expect(SourceSniffer.sniff(head: bytes, size: nil) == .media(.ac3))
    #expect(try Self.examine(bytes, .ac3) == .noEndOfItsOwn)
    for missing in 1..<128 {
      #expect(try Self.examine(Array(bytes.dropLast(missing)), .ac3).isDamaged, "\(missing)")
    }
    #expect(try Self.examine(Array(bytes.dropLast(128)), .ac3) == .noEndOfItsOwn)
  }

  @Test func extensionsOfDTSBelongToTheirFrame() throws {
    // A core of 96 bytes, an extension of 64: sizes less one, at bits 46 and 43.
    let core: [UInt8] = [0x7F, 0xFE, 0x80, 0x01, 0xFC, 0x3C, 0x05, 0xF0, 0, 0]
    let more: [UInt8] = [0x64, 0x58, 0x20, 0x25, 0, 0x00, 0x00, 0x07, 0xE0, 0]
    let unit = core + [UInt8](repeating: 1, count: 86) + more + [UInt8](repeating: 2, count: 54)
    let bytes = [[UInt8]](repeating: unit, count: 10).flatMap { $0 }
    #expect(SourceSniffer.sniff(head: bytes, size: nil) == .media(.dts))
    #expect(try Self.examine(bytes, .dts) == .noEndOfItsOwn)
    for missing in 1..<160 {
      #expect(try Self.examine(Array(bytes.dropLast(missing)), .dts).isDamaged, "\(missing)")
    }
  }

  @Test func paddingBehindTheFramesIsNoCut() throws {
    for name in ["plain.ac3", "plain.dts"] {
      let fixture = try StructureFixture.named(name)
      let bytes = try fixture.bytes() + [UInt8](repeating: 0, count: 700)
      #expect(try Self.examine(bytes, fixture.kind) == .noEndOfItsOwn)
    }
  }

  @Test func aLongFileIsOnlyReadAtItsEnd() throws {
    let frame = Self.enhanced(type: 0)
    let size = Int64(64 * 100_000_000)
    for missing in [Int64(0), 7] {
      let reader = SourceReader(
        size: { () throws(FetchError) -> Int64? in size - missing },
        read: { (offset, count) throws(FetchError) -> [UInt8] in
          guard offset >= size - 1 << 20 else { throw FetchError(.internal, "read at \(offset)") }
          let count = Int(min(Int64(count), size - missing - offset))
          return (0..<count).map { frame[(Int(offset % 64) + $0) % 64] }
        })
      let verdict = try ContainerStructure.examine(reader, kind: .ac3)
      #expect(verdict.isDamaged == (missing > 0), "\(verdict)")
    }
  }

  @Test(arguments: [("#!AMR\n", UInt8(7 << 3), 32), ("#!AMR-WB\n", UInt8(8 << 3), 61)])
  func framesOfAMRAreFollowed(_ header: String, _ first: UInt8, _ length: Int) throws {
    let frame = [first | 4] + [UInt8](repeating: 0x81, count: length - 1)
    // The last frame says that nothing was received and has no more than its first byte.
    let bytes = Array(header.utf8) + frame + frame + [15 << 3 | 4]
    #expect(SourceSniffer.sniff(head: bytes, size: nil) == .media(.amr))
    #expect(try Self.examine(bytes, .amr) == .noEndOfItsOwn)
    #expect(try Self.examine(Array(bytes.dropLast(1)), .amr) == .noEndOfItsOwn)
    for missing in 2...length {
      #expect(try Self.examine(Array(bytes.dropLast(missing)), .amr).isDamaged)
    }
    #expect(try Self.examine(Array(header.utf8), .amr).isDamaged)
    #expect(try Self.examine(bytes + [13 << 3, 0], .amr).isDamaged)
  }

  // MARK: FLAC

  @Test func cutStreamIsSaidInSamples() throws {
    let bytes = try StructureFixture.named("plain.flac").bytes()
    let starts = (0..<bytes.count).filter { FLACFrame(bytes, at: $0) != nil }
    let last = try #require(starts.last)
    #expect(try Self.examine(bytes, .flac) == .proven)
    #expect(
      Self.message(try Self.examine(Array(bytes[..<last]), .flac))
        == "cut: 129024 of 132300 samples are there")
    #expect(
      Self.message(try Self.examine(Array(bytes.dropLast(1)), .flac))
        == "cut: the last frame is not whole")
  }

  @Test func streamOfUnknownLengthHasNoEndOfItsOwn() throws {
    var bytes = try StructureFixture.named("plain.flac").bytes()
    bytes[21] &= 0xF0
    for index in 22..<26 { bytes[index] = 0 }
    #expect(try Self.examine(bytes, .flac) == .noEndOfItsOwn)
    for missing in 1..<40 {
      #expect(try Self.examine(Array(bytes.dropLast(missing)), .flac).isDamaged)
    }
    // Nor does the longest frame have to be known.
    for index in 15..<18 { bytes[index] = 0 }
    #expect(try Self.examine(bytes, .flac) == .noEndOfItsOwn)
    #expect(try Self.examine(Array(bytes.dropLast(3)), .flac).isDamaged)
  }

  @Test func whatStandsAroundAFLACStreamIsNoDamage() throws {
    let bytes = try StructureFixture.named("plain.flac").bytes()
    for count in [1, 2, 3, 500] {
      #expect(try Self.examine(bytes + [UInt8](repeating: 0, count: count), .flac) == .proven)
    }
    let tail = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
    #expect(try Self.examine(bytes + tail, .flac) == .proven)
    // A tag of 9000 bytes, longer than the head that is looked at.
    let tag = Array("ID3\u{4}\u{0}\u{0}\u{0}\u{0}\u{46}\u{28}".utf8)
    let tagged = tag + [UInt8](repeating: 0, count: 9000) + bytes
    #expect(try Self.examine(tagged, .flac) == .proven)
    #expect(try Self.examine(tagged, .mp3) == .proven)
    #expect(try Self.examine(Array(tagged.dropLast(1)), .mp3).isDamaged)
  }

  @Test func lostBitInTheLastFrameIsDamage() throws {
    var bytes = try StructureFixture.named("plain.flac").bytes()
    bytes[bytes.count - 40] ^= 4
    #expect(try Self.examine(bytes, .flac).isDamaged)
  }

  // MARK: Names

  @Test(arguments: [
    Array("fLaC is a format of sound, as this page of text explains at length.\n".utf8),
    Array("#!AMR\nis how the files begin, says this text, and then frames follow.\n".utf8),
  ])
  func textAboutSoundIsNoSound(_ head: [UInt8]) {
    guard case .media(let kind?) = SourceSniffer.sniff(head: head, size: nil) else { return }
    #expect(kind != .flac && kind != .amr)
  }

  @Test func syncWordAloneIsNotEnough() {
    var generator = SeededGenerator(seed: 9)
    for word in [[0x0B, 0x77], [0x7F, 0xFE, 0x80, 0x01]] as [[UInt8]] {
      let noise = (0..<8000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      #expect(SourceSniffer.sniff(head: word + noise, size: nil) == .media(.other))
    }
  }
}
