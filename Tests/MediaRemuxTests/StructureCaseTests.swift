// Single peculiarities of containers: what writers do that isn't quite the norm, what attackers do
// that isn't at all.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite struct StructureCaseTests {
  private static func examine(
    _ bytes: [UInt8], _ kind: ContainerKind
  ) throws -> StructureVerdict {
    try ContainerStructure.examine(SourceReader(bytes), kind: kind)
  }

  private static func fixture(_ name: String) throws -> [UInt8] {
    try StructureFixture.named(name).bytes()
  }

  private static func message(_ verdict: StructureVerdict) -> String {
    if case .damaged(let error) = verdict { error.message } else { "\(verdict)" }
  }

  // MARK: MP4

  @Test func cutMediaIsSaidInBytes() throws {
    let bytes = try Self.fixture("first.mp4")
    let media = try #require(try Boxes.first("mdat", in: bytes))
    let verdict = try Self.examine(Array(bytes.dropLast(100)), .mp4)
    #expect(
      Self.message(verdict)
        == "cut: box mdat needs \(media.count) bytes, \(media.count - 100) are there")
  }

  @Test func missingIndexIsSaid() throws {
    let bytes = try Self.fixture("last.mp4")
    let moov = try #require(try Boxes.first("moov", in: bytes))
    let verdict = try Self.examine(Array(bytes[..<moov.lowerBound]), .mp4)
    #expect(
      Self.message(verdict) == "the index (moov) is missing; the file is incomplete at its source")
  }

  @Test func indexHiddenInAFreeBoxIsMissing() throws {
    var bytes = try Self.fixture("first.mp4")
    let free = try #require(try Boxes.first("moov", in: bytes))
    bytes.replaceSubrange(free.lowerBound + 4..<free.lowerBound + 8, with: "free".utf8)
    #expect(Self.message(try Self.examine(bytes, .mp4)).contains("moov"))
  }

  @Test(arguments: [1, 50, 5000])
  func mediaWithoutASizeIsCheckedByItsSamples(_ missing: Int) throws {
    var bytes = try Self.fixture("first.mp4")
    let media = try #require(try Boxes.first("mdat", in: bytes))
    Boxes.setSize(0, at: media.lowerBound, in: &bytes)
    #expect(try Self.examine(bytes, .mp4) == .proven)
    #expect(try Self.examine(Array(bytes.dropLast(missing)), .mp4).isDamaged)
  }

  @Test func uncompressedSoundIsCheckedByFramesNotBytes() throws {
    var bytes = try Self.fixture("pcm.mov")
    let moov = try #require(try Boxes.first("moov", in: bytes))
    let media = try #require(try Boxes.first("mdat", in: bytes))
    // moov first and mdat without a size: only the tables know where the sound ends.
    let index = Array(bytes[moov])
    bytes = Array(bytes[..<moov.lowerBound])
    Boxes.setSize(0, at: media.lowerBound, in: &bytes)
    let type = try #require(try Boxes.first("ftyp", in: bytes))
    let head = Array(bytes[type]) + index
    let delta = head.count - type.count
    let moved = try ChunkOffsets(moov: index).rewritten(delta: Int64(delta))
    let whole = Array(bytes[type]) + moved + Array(bytes[type.upperBound...])
    #expect(try Self.examine(whole, .mp4) == .proven)
    #expect(try Self.examine(Array(whole.dropLast(1)), .mp4).isDamaged)
  }

  @Test(arguments: [
    [UInt8](repeating: 0, count: 1), [UInt8](repeating: 0, count: 9000), [0x0A],
    Array("SEFT trailer".utf8) + [1, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
  ])
  func whatIsAppendedToAClassicFileIsNoDamage(_ trailer: [UInt8]) throws {
    #expect(try Self.examine(Self.fixture("first.mp4") + trailer, .mp4) == .proven)
  }

  @Test func hugeBoxSizesAreDamageNotATrap() throws {
    let moov = try Self.fixture("last.mp4")
    for size in [UInt64.max, UInt64(Int64.max), UInt64(Int64.max) + 1, 1 << 40] {
      let box = Boxes.big(1, 4) + Array("mdat".utf8) + Boxes.big(size, 8)
      #expect(try Self.examine(moov + box, .mp4).isDamaged)
      #expect(try Self.examine(box + moov, .mp4).isDamaged)
    }
  }

  @Test func countsThatTheTablesDoNotHoldAreDamage() throws {
    for table in ["stsz", "stco", "stsc"] {
      var bytes = try Self.fixture("last.mp4")
      let moov = try #require(try Boxes.first("moov", in: bytes))
      let found = try #require(Array(bytes[moov]).firstRange(of: Array(table.utf8)))
      let count = moov.lowerBound + found.upperBound + (table == "stsz" ? 8 : 4)
      bytes.replaceSubrange(count..<count + 4, with: [0xFF, 0xFF, 0xFF, 0xFF])
      #expect(try Self.examine(bytes, .mp4).isDamaged)
    }
  }

  @Test func compactSampleSizesAreRead() throws {
    // Three samples of 5, 15 and 2 units in 4-bit fields, one chunk at 1000.
    let stbl = Boxes.box(
      "stbl",
      Boxes.box("stz2", Boxes.big(0, 4) + Boxes.big(4, 4) + Boxes.big(3, 4) + [0x5F, 0x20])
        + Boxes.box(
          "stsc",
          Boxes.big(0, 4) + Boxes.big(1, 4) + Boxes.big(1, 4) + Boxes.big(3, 4)
            + Boxes.big(1, 4))
        + Boxes.box("stco", Boxes.big(0, 4) + Boxes.big(1, 4) + Boxes.big(1000, 4)))
    let window = SourceWindow(SourceReader(stbl), limit: Int64(stbl.count))
    let box = try #require(try window.box(at: 0, parentEnd: window.limit))
    let extent = try SampleTable(window: window).extent(of: box)
    #expect(extent == SampleExtent(samples: 3, end: 1022, bytes: 22))
  }

  // MARK: Fragments

  /// A movie of one track in fragments of a second, with what declares its end.
  private static func fragmented(
    fragments: Int, declared: UInt64?, brands: [String] = []
  ) -> [UInt8] {
    let mvhd = Boxes.box(
      "mvhd", Boxes.big(0, 12) + Boxes.big(1000, 4) + Boxes.big(0, 8))
    let tkhd = Boxes.box("tkhd", Boxes.big(0, 4) + Boxes.big(0, 8) + Boxes.big(1, 4))
    let mdhd = Boxes.box("mdhd", Boxes.big(0, 4) + Boxes.big(0, 8) + Boxes.big(90000, 4))
    let hdlr = Boxes.box("hdlr", Boxes.big(0, 8) + Array("vide".utf8) + Boxes.big(0, 12))
    let minf = Boxes.box("minf", Boxes.box("stbl", []))
    let mehd = declared.map { Boxes.box("mehd", Boxes.big(0, 4) + Boxes.big($0, 4)) } ?? []
    let trex = Boxes.box(
      "trex",
      Boxes.big(0, 4) + Boxes.big(1, 4) + Boxes.big(1, 4) + Boxes.big(3600, 4)
        + Boxes.big(10, 4) + Boxes.big(0, 4))
    var bytes = Boxes.box("ftyp", Array("iso6".utf8) + Boxes.big(0, 4))
    bytes += Boxes.box(
      "moov",
      mvhd + Boxes.box("trak", tkhd + Boxes.box("mdia", mdhd + hdlr + minf))
        + Boxes.box("mvex", mehd + trex))
    for index in 0..<fragments {
      if index < brands.count {
        bytes += Boxes.box("styp", Array(brands[index].utf8) + Boxes.big(0, 4))
      }
      let tfhd = Boxes.box("tfhd", [0, 2, 0, 0] + Boxes.big(1, 4))
      let trun = Boxes.box("trun", [0, 0, 0, 1] + Boxes.big(25, 4) + Boxes.big(76, 4))
      bytes += Boxes.box(
        "moof", Boxes.box("mfhd", Boxes.big(0, 8)) + Boxes.box("traf", tfhd + trun))
      bytes += Boxes.box("mdat", [UInt8](repeating: 7, count: 250))
    }
    return bytes
  }

  @Test func declaredDurationTellsWhetherFragmentsAreMissing() throws {
    #expect(try Self.examine(Self.fragmented(fragments: 5, declared: 5000), .mp4) == .proven)
    #expect(try Self.examine(Self.fragmented(fragments: 5, declared: nil), .mp4) == .noEndOfItsOwn)
    #expect(try Self.examine(Self.fragmented(fragments: 5, declared: 5500), .mp4) == .noEndOfItsOwn)
    let verdict = try Self.examine(Self.fragmented(fragments: 3, declared: 5000), .mp4)
    #expect(Self.message(verdict) == "cut: 3.00 s of 5.00 s are there")
  }

  @Test func lastSegmentMayBeMarked() throws {
    let open = Self.fragmented(fragments: 2, declared: nil, brands: ["msdh", "msdh"])
    #expect(try Self.examine(open, .mp4) == .noEndOfItsOwn)
    let marked = Self.fragmented(fragments: 2, declared: nil, brands: ["msdh", "lmsg"])
    #expect(try Self.examine(marked, .mp4) == .proven)
  }

  @Test func headerWithoutFragmentsIsCut() throws {
    #expect(try Self.examine(Self.fragmented(fragments: 0, declared: nil), .mp4).isDamaged)
  }

  @Test func zerosThatMayBeginABoxAreACut() throws {
    let open = Self.fragmented(fragments: 2, declared: nil)
    for count in 1...7 {
      let zeros = [UInt8](repeating: 0, count: count)
      #expect(try Self.examine(open + zeros, .mp4).isDamaged)
      let whole = Self.fragmented(fragments: 5, declared: 5000)
      #expect(try Self.examine(whole + zeros, .mp4) == .proven)
    }
    #expect(try Self.examine(open + [UInt8](repeating: 0, count: 64), .mp4) == .noEndOfItsOwn)
  }

  @Test func samplesPastTheirBoxAndFileAreDamage() throws {
    var bytes = Self.fragmented(fragments: 1, declared: nil)
    let run = try #require(bytes.firstRange(of: Array("trun".utf8))).upperBound
    bytes.replaceSubrange(run + 4..<run + 8, with: Boxes.big(26, 4))
    #expect(try Self.examine(bytes, .mp4).isDamaged)
  }

  // MARK: Matroska

  @Test func wholeSegmentMayBeFollowedByAnything() throws {
    let bytes = try Self.fixture("known.mkv")
    #expect(try Self.examine(bytes + [0, 0, 0], .matroska) == .proven)
    #expect(try Self.examine(bytes + Array("trailer".utf8), .matroska) == .proven)
    #expect(try Self.examine(bytes + bytes, .matroska) == .proven)
  }

  @Test func hugeElementSizesAreDamageNotATrap() throws {
    let header: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3, 0x80]
    for size in [[0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE], [0xFE]] as [[UInt8]] {
      #expect(try Self.examine(header + [0x18, 0x53, 0x80, 0x67] + size, .matroska).isDamaged)
      let cluster: [UInt8] = [0x18, 0x53, 0x80, 0x67, 0xFF, 0x1F, 0x43, 0xB6, 0x75] + size
      #expect(try Self.examine(header + cluster, .matroska).isDamaged)
    }
  }

  @Test func zerosInsideTheSegmentAreDamage() throws {
    var bytes = try Self.fixture("known.mkv")
    let cluster = try #require(bytes.firstRange(of: [0x1F, 0x43, 0xB6, 0x75])).lowerBound
    for index in cluster..<cluster + 64 { bytes[index] = 0 }
    #expect(try Self.examine(bytes, .matroska).isDamaged)
  }

  // MARK: Streams

  @Test(arguments: [188, 192, 204])
  func lastPacketOfATransportStreamMustBeWhole(_ size: Int) throws {
    let stamp: [UInt8] = size == 192 ? [9, 9, 9, 9] : []
    let packet = stamp + [0x47, 0x1F, 0xFF, 0x10]
    let rest = [UInt8](repeating: 0xFE, count: size - packet.count)
    let junk: [UInt8] = [1, 2, 3]
    let bytes = junk + [[UInt8]](repeating: packet + rest, count: 40).flatMap { $0 }
    #expect(try Self.examine(bytes, .mpegTS) == .noEndOfItsOwn)
    #expect(try Self.examine(bytes + [UInt8](repeating: 0, count: 700), .mpegTS) == .noEndOfItsOwn)
    for cut in 1..<size - 4 {
      #expect(try Self.examine(Array(bytes.dropLast(cut)), .mpegTS).isDamaged)
    }
    #expect(try Self.examine(bytes + Array("junk".utf8), .mpegTS).isDamaged)
  }

  @Test func onlyTheLastMiBOfALongTransportStreamIsRead() throws {
    let packet: [UInt8] = [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)
    let size = Int64(188 * 100_000_000)
    let reader = SourceReader(
      size: { () throws(FetchError) -> Int64? in size },
      read: { (offset, count) throws(FetchError) -> [UInt8] in
        guard offset < 1 << 20 || offset >= size - 1 << 20 else {
          throw FetchError(.internal, "read at \(offset)")
        }
        let count = Int(min(Int64(count), size - offset))
        return (0..<count).map { packet[(Int(offset % 188) + $0) % 188] }
      })
    #expect(try ContainerStructure.examine(reader, kind: .mpegTS) == .noEndOfItsOwn)
  }

  @Test func endCodeProvesAProgramStream() throws {
    for name in ["program.vob", "system.mpg"] {
      let bytes = try Self.fixture(name)
      #expect(try Self.examine(bytes + [0, 0, 1, 0xB9], .mpegPS) == .proven)
      #expect(try Self.examine(bytes + [0, 0, 1, 0xB9, 0, 0, 0], .mpegPS) == .proven)
      #expect(try Self.examine(bytes + [0, 0, 1, 0xB9, 0], .mpegPS) == .proven)
      for cut: [UInt8] in [[0], [0, 0], [0, 0, 1]] {
        #expect(try Self.examine(bytes + cut, .mpegPS).isDamaged)
      }
    }
  }

  @Test func oggWithoutItsLastPageHasNoEnd() throws {
    var bytes = try Self.fixture("plain.ogv")
    while let page = bytes.lastRange(of: Array("OggS".utf8)) {
      let ends = bytes[page.lowerBound + 5] & 4 != 0
      bytes.removeSubrange(page.lowerBound...)
      if !ends { break }
    }
    #expect(try Self.examine(bytes, .ogg) == .noEndOfItsOwn)
    bytes[bytes.count - 1] ^= 1
    #expect(try Self.examine(bytes, .ogg).isDamaged)
  }

  @Test func flashTagsAreFollowedWhereTheirBackwardSizesAreWrong() throws {
    var bytes = try Self.fixture("open.flv")
    for index in bytes.count - 4..<bytes.count { bytes[index] = 0 }
    #expect(try Self.examine(bytes, .flv) == .noEndOfItsOwn)
    #expect(try Self.examine(Array(bytes.dropLast(4)), .flv) == .noEndOfItsOwn)
    #expect(try Self.examine(Array(bytes.dropLast(5)), .flv).isDamaged)
  }

  // MARK: RIFF and ASF

  @Test func riffSizesOfStreamingWritersProveNothing() throws {
    for size: UInt8 in [0, 0xFF] {
      var wave = try Self.fixture("plain.wav")
      let data = try #require(wave.firstRange(of: Array("data".utf8))).upperBound
      for index in [4, 5, 6, 7, data, data + 1, data + 2, data + 3] { wave[index] = size }
      #expect(try Self.examine(wave, .wav) == .noEndOfItsOwn)
      var avi = try Self.fixture("plain.avi")
      for index in 4..<8 { avi[index] = size }
      #expect(try Self.examine(avi, .avi) == .noEndOfItsOwn)
    }
  }

  @Test func headerCountedInTheRIFFSizeIsNoCut() throws {
    var avi = try Self.fixture("plain.avi")
    for (index, byte) in Boxes.big(UInt64(avi.count), 4).reversed().enumerated() {
      avi[4 + index] = byte
    }
    #expect(try Self.examine(avi, .avi) == .noEndOfItsOwn)
    #expect(try Self.examine(Array(avi.dropLast(1)), .avi).isDamaged)
  }

  @Test func broadcastHasNoEndOfItsOwn() throws {
    var bytes = try Self.fixture("plain.wmv")
    let properties = try #require(bytes.firstRange(of: ASFObject.fileProperties)).lowerBound
    bytes[properties + 88] |= 1
    #expect(try Self.examine(bytes, .asf) == .noEndOfItsOwn)
  }

  // MARK: Readers

  @Test(arguments: [1, 2, 3, 1000, 65537])
  func unknownSizeIsMeasured(_ count: Int) throws {
    let source = SourceReader([UInt8](repeating: 1, count: count))
    let reader = SourceReader(
      size: { () throws(FetchError) -> Int64? in nil },
      read: { (offset, wanted) throws(FetchError) -> [UInt8] in
        try source.read(at: offset, count: wanted)
      })
    #expect(try reader.measuredSize() == Int64(count))
  }

  @Test func readersErrorIsThrownNotJudged() {
    let reader = SourceReader(
      size: { () throws(FetchError) -> Int64? in 1 << 40 },
      read: { (_, _) throws(FetchError) -> [UInt8] in throw FetchError(.network, "reset") })
    for kind in ContainerKind.allCases where kind != .other {
      #expect(throws: FetchError(.network, "reset")) {
        try ContainerStructure.examine(reader, kind: kind)
      }
    }
  }
}

extension [UInt8] {
  /// Where `pattern` stands last.
  fileprivate func lastRange(of pattern: [UInt8]) -> Range<Int>? {
    var index = count - pattern.count
    while index >= 0 {
      if has(pattern, at: index) { return index..<index + pattern.count }
      index -= 1
    }
    return nil
  }
}
