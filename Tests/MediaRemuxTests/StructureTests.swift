// Whole files, cut files and mutated files of every container.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite struct StructureTests {
  private static func verdict(_ bytes: [UInt8], _ kind: ContainerKind) throws -> StructureVerdict {
    try ContainerStructure.examine(SourceReader(bytes), kind: kind)
  }

  @Test(arguments: StructureFixture.all)
  func wholeFileIsNamedAndEndsAsItsFormatCan(_ fixture: StructureFixture) throws {
    let bytes = try fixture.bytes()
    #expect(
      SourceSniffer.sniff(head: Array(bytes.prefix(4096)), size: Int64(bytes.count))
        == .media(fixture.kind))
    let expected: StructureVerdict = fixture.end == .open ? .noEndOfItsOwn : .proven
    #expect(try Self.verdict(bytes, fixture.kind) == expected)
    try ProtectionScan.check(SourceReader(bytes), kind: fixture.kind)
  }

  @Test(arguments: StructureFixture.all)
  func cutFileIsNeverProven(_ fixture: StructureFixture) throws {
    let bytes = try fixture.bytes()
    var cuts = Set(1..<min(400, bytes.count))
    cuts.formUnion(max(1, bytes.count - 800)..<bytes.count)
    cuts.formUnion(stride(from: 400, to: bytes.count, by: 61))
    var passed = 0
    for cut in cuts.sorted() {
      let verdict = try Self.verdict(Array(bytes.prefix(cut)), fixture.kind)
      #expect(verdict != .proven, "cut at \(cut) of \(bytes.count)")
      if fixture.end == .declared { #expect(verdict.isDamaged, "cut at \(cut) of \(bytes.count)") }
      if verdict == .noEndOfItsOwn { passed += 1 }
    }
    // Cuts that nobody can see are those between two units, or inside padding; that is few.
    #expect(passed * 10 <= cuts.count, "\(passed) of \(cuts.count) cuts passed")
  }

  @Test(arguments: StructureFixture.all)
  func mutatedFileNeitherTrapsNorHangs(_ fixture: StructureFixture) throws {
    let bytes = try fixture.bytes()
    var generator = SeededGenerator(seed: UInt64(fixture.name.utf8.reduce(7) { $0 * 31 + Int($1) }))
    for _ in 0..<200 {
      let mutant = Self.mutated(bytes, &generator)
      _ = SourceSniffer.sniff(head: Array(mutant.prefix(4096)), size: Int64(mutant.count))
      let reader = SourceReader(mutant)
      do throws(FetchError) {
        try ProtectionScan.check(reader, kind: fixture.kind)
      } catch {
        #expect(error.code == .encrypted)
      }
      _ = try ContainerStructure.examine(reader, kind: fixture.kind)
    }
  }

  @Test func bytesOfOneKindAreExaminedAsAnyOtherWithoutATrap() throws {
    for fixture in StructureFixture.all {
      let bytes = try fixture.bytes()
      for kind in ContainerKind.allCases {
        _ = try Self.verdict(bytes, kind)
        try? ProtectionScan.check(SourceReader(bytes), kind: kind)
      }
    }
  }

  /// Changes a few places: bytes, numbers at their extremes, insertions, removals, the end.
  static func mutated(
    _ bytes: [UInt8], _ generator: inout SeededGenerator
  ) -> [UInt8] {
    var mutant = bytes
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      guard mutant.count > 16 else { break }
      // Half the changes hit a header at one end or the other.
      let range: Range<Int> =
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: 0..<min(2048, mutant.count - 8)
        case 1: max(0, mutant.count - 3000)..<mutant.count - 8
        default: 0..<mutant.count - 8
        }
      let place = Int.random(in: range, using: &generator)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: mutant[place] = UInt8.random(in: .min ... .max, using: &generator)
      case 1: mutant[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 2:
        let extremes: [UInt32] = [
          0, 1, 2, 7, 8, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 0x0100_0000,
        ]
        let value = extremes[Int.random(in: extremes.indices, using: &generator)]
        for index in 0..<4 {
          mutant[place + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - index * 8))
        }
      case 3: mutant.removeSubrange(place..<place + Int.random(in: 1...8, using: &generator))
      case 4: mutant.insert(contentsOf: mutant[0..<8], at: place)
      default: mutant.removeLast(Int.random(in: 1...mutant.count / 2, using: &generator))
      }
    }
    return mutant
  }
}
