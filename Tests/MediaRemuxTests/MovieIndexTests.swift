// One wrong bit in the index of a movie: whatever box it hides, the loss is said.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite struct MovieIndexTests {
  private static func examine(_ bytes: [UInt8]) throws -> StructureVerdict {
    try ContainerStructure.examine(SourceReader(bytes), kind: .mp4)
  }

  private static func media(_ name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: fixture(name)))
  }

  private static func message(_ verdict: StructureVerdict) -> String {
    if case .damaged(let error) = verdict { error.message } else { "\(verdict)" }
  }

  /// Where the names of all boxes of `type` stand.
  private static func names(_ type: String, in bytes: [UInt8]) -> [Int] {
    let name = Array(type.utf8)
    return (4..<bytes.count - 4).filter { bytes.has(name, at: $0) }
  }

  @Test(arguments: [
    "trak", "tkhd", "mdia", "mdhd", "hdlr", "minf", "stbl", "stsd", "stts", "stsc", "stsz", "stco",
    "edts", "elst", "ctts", "stss", "vmhd", "smhd", "mvhd",
  ])
  func wrongBitInABoxNameIsDamage(_ type: String) throws {
    let bytes = try Self.media("plain.mp4")
    #expect(try Self.examine(bytes) == .proven)
    // The last handler is that of the tags.
    let places = Self.names(type, in: bytes).prefix(2)
    #expect(!places.isEmpty)
    for place in places {
      for bit in 0..<32 {
        var wrong = bytes
        wrong[place + bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(try Self.examine(wrong).isDamaged, "bit \(bit) of \(type) at byte \(place)")
      }
    }
  }

  @Test(arguments: ["trak", "mdia", "stts", "edts", "elst", "ctts", "stss", "vide", "soun"])
  func wrongByteInANameIsDamage(_ type: String) throws {
    let bytes = try Self.media("plain.mp4")
    // Behind the index the media may hold the same four bytes.
    let media = try #require(try Boxes.first("mdat", in: bytes)).lowerBound
    for place in Self.names(type, in: Array(bytes[..<media])).prefix(2) {
      for index in 0..<4 {
        for byte: UInt8 in [0, 0xFF, 0x0A] {
          var wrong = bytes
          wrong[place + index] = byte
          #expect(try Self.examine(wrong).isDamaged, "\(byte) at byte \(place + index)")
        }
      }
    }
  }

  @Test(arguments: ["vide", "soun"])
  func wrongBitInAHandlerIsDamage(_ handler: String) throws {
    let bytes = try Self.media("plain.mp4")
    let place = try #require(Self.names(handler, in: bytes).first)
    for bit in 0..<32 {
      var wrong = bytes
      wrong[place + bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try Self.examine(wrong).isDamaged, "bit \(bit)")
    }
  }

  @Test(arguments: ["mfra.mp4", "open.mp4"], ["moof", "traf", "tfhd", "trun", "mvex", "trex"])
  func wrongBitInAFragmentIsDamage(_ name: String, _ type: String) throws {
    let bytes = try StructureFixture.named(name).bytes()
    for place in Self.names(type, in: bytes).prefix(3) {
      for bit in 0..<32 {
        var wrong = bytes
        wrong[place + bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(try Self.examine(wrong).isDamaged, "bit \(bit) at byte \(place)")
      }
    }
  }

  @Test func lostTrackIsNamed() throws {
    var bytes = try Self.media("plain.mp4")
    let place = try #require(Self.names("trak", in: bytes).first)
    bytes[place] ^= 1
    #expect(
      Self.message(try Self.examine(bytes))
        == "the index is damaged: box urak in moov should be trak"
    )
    bytes.replaceSubrange(place..<place + 4, with: "XyZ9".utf8)
    #expect(
      Self.message(try Self.examine(bytes))
        == "the index is damaged: box XyZ9 in moov should be trak"
    )
  }

  @Test(arguments: ["free", "skip", "uuid", "Xtra", "gama", "tapt", "meta"])
  func boxesOfOthersAreNoDamage(_ type: String) throws {
    var bytes = try Self.media("plain.mp4")
    let type = Boxes.box(type, [UInt8](repeating: 1, count: 64))
    let moov = try #require(try Boxes.first("moov", in: bytes))
    let media = try #require(try Boxes.first("mdat", in: bytes))
    // The index is moved behind the media, so that the media stays where the tables say it is.
    let contents = Array(bytes[moov][(moov.lowerBound + 8)...])
    bytes.replaceSubrange(moov.lowerBound + 4..<moov.lowerBound + 8, with: "free".utf8)
    bytes = Array(bytes[..<media.upperBound])
    #expect(try Self.examine(bytes + Boxes.box("moov", type + contents)) == .proven)
  }

  @Test(arguments: [1, 3, 6, 7, 8, 10, 15])
  func wrongBitInATracksSizeThatHidesTheNextIsDamage(_ bit: Int) throws {
    var bytes = try Self.media("plain.mp4")
    let place = try #require(Self.names("trak", in: bytes).first)
    bytes[place - 1 - bit / 8] ^= 1 << UInt8(bit % 8)
    #expect(try Self.examine(bytes).isDamaged)
  }

  /// A video track with a duration and tables of no entries.
  private static func empty(milliseconds: UInt64, handler: String = "vide") -> [UInt8] {
    let none = Boxes.big(0, 8)
    let stbl = Boxes.box(
      "stbl",
      Boxes.box("stsd", none) + Boxes.box("stts", none) + Boxes.box("stsc", none)
        + Boxes.box("stsz", none + Boxes.big(0, 4)) + Boxes.box("stco", none))
    let mdia = Boxes.box(
      "mdia",
      Boxes.box("mdhd", Boxes.big(0, 12) + Boxes.big(1000, 4) + Boxes.big(milliseconds, 4))
        + Boxes.box("hdlr", none + Array(handler.utf8)) + Boxes.box("minf", stbl))
    return Boxes.box("ftyp", Array("isom".utf8) + Boxes.big(0, 4))
      + Boxes.box("moov", Boxes.box("trak", Boxes.box("tkhd", Boxes.big(0, 84)) + mdia))
  }

  @Test func emptyTrackThatClaimsADurationIsDamage() throws {
    #expect(
      Self.message(try Self.examine(Self.empty(milliseconds: 3000)))
        == "the index is damaged: a track of 3 s lists no sample")
    for milliseconds: UInt64 in [0, 100, 0xFFFF_FFFF] {
      #expect(try Self.examine(Self.empty(milliseconds: milliseconds)) == .proven)
    }
    #expect(try Self.examine(Self.empty(milliseconds: 3000, handler: "text")) == .proven)
  }
}
