// Encrypted tracks are found, clear ones pass, and no media is read for it.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite struct ProtectionScanTests {
  private static let encrypted = StructureFixture(
    name: "cenc.mp4", kind: .mp4, end: .declared,
    arguments: StructureFixture.h264 + [
      "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", "00112233445566778899aabbccddeeff",
      "-encryption_kid", "112233445566778899aabbccddeeff00",
    ])

  private static func check(_ bytes: [UInt8], _ kind: ContainerKind) -> FetchError? {
    do throws(FetchError) {
      try ProtectionScan.check(SourceReader(bytes), kind: kind)
      return nil
    } catch {
      return error
    }
  }

  @Test func encryptedTrackIsRefusedByItsScheme() throws {
    let error = try #require(Self.check(try Self.encrypted.bytes(), .mp4))
    #expect(error.code == .encrypted)
    #expect(error.message == "encrypted (DRM: cenc); the keys can't be had")
  }

  @Test func iTunesTrackIsRefused() throws {
    var bytes = try StructureFixture.named("last.mp4").bytes()
    let entry = try #require(bytes.firstRange(of: Array("avc1".utf8) + [0, 0, 0, 0, 0, 0]))
    bytes.replaceSubrange(entry.lowerBound..<entry.lowerBound + 4, with: "drmi".utf8)
    let error = try #require(Self.check(bytes, .mp4))
    #expect(error.message.contains("FairPlay"))
  }

  @Test func protectionDataBesideClearTracksIsNoReason() throws {
    let bytes = try StructureFixture.named("last.mp4").bytes()
    let pssh: [UInt8] = [0, 0, 0, 32] + Array("pssh".utf8) + [UInt8](repeating: 0, count: 24)
    let moov = try #require(try Boxes.first("moov", in: bytes))
    var changed = bytes + pssh
    Boxes.setSize(moov.count + pssh.count, at: moov.lowerBound, in: &changed)
    #expect(Self.check(changed, .mp4) == nil)
  }

  @Test func matroskaContentEncryptionIsRefused() throws {
    // EBML header; Segment of unknown size; Tracks > TrackEntry > ContentEncodings > ContentEncoding.
    let encryption: [UInt8] = [0x50, 0x35, 0x80]
    for content in [encryption, [0x50, 0x33, 0x81, 1]] {
      let encoding = [0x62, 0x40, 0x80 | UInt8(content.count)] + content
      let encodings = [0x6D, 0x80, 0x80 | UInt8(encoding.count)] + encoding
      let entry: [UInt8] = [0xAE, 0x80 | UInt8(encodings.count)] + encodings
      let tracks: [UInt8] = [0x16, 0x54, 0xAE, 0x6B, 0x80 | UInt8(entry.count)] + entry
      let segment: [UInt8] = [0x18, 0x53, 0x80, 0x67, 0xFF] + tracks
      let bytes: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3, 0x80] + segment
      #expect(Self.check(bytes, .matroska)?.code == .encrypted)
    }
  }

  @Test func scrambledTransportStreamIsRefused() throws {
    var bytes = try StructureFixture.named("plain.ts").bytes()
    #expect(Self.check(bytes, .mpegTS) == nil)
    for packet in stride(from: 0, to: bytes.count, by: 188) { bytes[packet + 3] |= 0x80 }
    #expect(Self.check(bytes, .mpegTS)?.code == .encrypted)
  }

  @Test(arguments: ["first.mp4", "mfra.mp4", "known.mkv", "live.mkv"])
  func readsNothingBehindTheHeaders(_ name: String) throws {
    let fixture = try StructureFixture.named(name)
    let bytes = try fixture.bytes()
    let furthest = Locked<Int64>(0)
    let source = SourceReader(bytes)
    let reader = SourceReader(
      size: { () throws(FetchError) -> Int64? in nil },
      read: { (offset, count) throws(FetchError) -> [UInt8] in
        furthest.withLock { $0 = max($0, offset + Int64(count)) }
        return try source.read(at: offset, count: count)
      })
    try ProtectionScan.check(reader, kind: fixture.kind)
    let end =
      fixture.kind == .mp4
      ? try #require(try Boxes.first("moov", in: bytes)).upperBound
      : try #require(bytes.firstRange(of: [0x1F, 0x43, 0xB6, 0x75])).lowerBound + 16
    #expect(furthest.withLock { $0 } <= Int64(end))
  }

  @Test func indexAtTheEndIsReadWithoutTheMedia() throws {
    let bytes = try StructureFixture.named("last.mp4").bytes()
    let moov = try #require(try Boxes.first("moov", in: bytes))
    let source = SourceReader(bytes)
    let mediaBytes = Locked(0)
    let reader = SourceReader(
      size: { () throws(FetchError) -> Int64? in Int64(bytes.count) },
      read: { (offset, count) throws(FetchError) -> [UInt8] in
        if offset < Int64(moov.lowerBound) { mediaBytes.withLock { $0 += count } }
        return try source.read(at: offset, count: count)
      })
    try ProtectionScan.check(reader, kind: .mp4)
    #expect(mediaBytes.withLock { $0 } <= 128)
  }
}

/// Boxes in memory, found by a walk of the tests' own.
enum Boxes {
  /// The place of the first top-level box of a type.
  static func first(_ type: String, in bytes: [UInt8]) throws -> Range<Int>? {
    var position = 0
    while position + 8 <= bytes.count {
      var size = Int(number(bytes, position, 4))
      if size == 1 { size = Int(number(bytes, position + 8, 8)) }
      if size == 0 { size = bytes.count - position }
      if Array(bytes[position + 4..<position + 8]) == Array(type.utf8) {
        return position..<position + size
      }
      position += size
    }
    return nil
  }

  static func number(_ bytes: [UInt8], _ offset: Int, _ width: Int) -> UInt64 {
    bytes[offset..<offset + width].reduce(0) { $0 << 8 | UInt64($1) }
  }

  static func setSize(_ size: Int, at offset: Int, in bytes: inout [UInt8]) {
    bytes.replaceSubrange(offset..<offset + 4, with: big(UInt64(size), 4))
  }

  static func big(_ value: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
  }

  static func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
    big(UInt64(8 + contents.count), 4) + Array(type.utf8) + contents
  }
}
