// The same payload in two framings gives the same pieces; damaged framing reaches nothing outside.

import FetchCore
import Testing

@testable import MediaRemux

@Suite("Payload form")
struct PayloadFormTests {
  private func pieces(_ form: PayloadForm, _ bytes: [UInt8]) -> [UInt8] {
    var all: [UInt8] = []
    bytes.withUnsafeBytes { form.pieces(of: $0) { all += $0 } }
    return all
  }

  @Test func nalUnitsAreTheSameBehindStartCodesAndLengths() {
    let units: [[UInt8]] = [[0x67, 1, 2], [0x68, 0, 0, 3, 1], [0x65, 9, 0, 4]]
    var stream: [UInt8] = []
    var sample: [UInt8] = []
    for (number, unit) in units.enumerated() {
      stream += number == 1 ? [0, 0, 1] : [0, 0, 0, 1]
      stream += unit
      sample += [0, UInt8(unit.count)] + unit
    }
    stream += [0, 0]
    let expected: [UInt8] = units.flatMap { (unit: [UInt8]) -> [UInt8] in
      [0, 0, 0, UInt8(unit.count)] + unit
    }
    #expect(pieces(.startCodes, stream) == expected)
    #expect(pieces(.lengths(2), sample) == expected)
  }

  @Test func aStreamWithoutStartCodesCountsAsItIs() {
    #expect(pieces(.startCodes, [9, 8, 7]) == [0, 0, 0, 3, 9, 8, 7])
    #expect(pieces(.startCodes, []) == [])
  }

  @Test func aLengthThatReachesOutsideEndsTheWalk() {
    #expect(pieces(.lengths(4), [0, 0, 1, 0, 5, 6]) == [0, 0, 0, 2, 5, 6])
    #expect(pieces(.lengths(4), [0, 0]) == [])
  }

  @Test func adtsHeadersFallAway() {
    let header: [UInt8] = [0xFF, 0xF1, 0x50, 0x80, 0x01, 0x7F, 0xFC]
    #expect(pieces(.adts, header + [1, 2, 3]) == [1, 2, 3])
    var guarded = header
    guarded[1] = 0xF0
    #expect(pieces(.adts, guarded + [0xAA, 0xBB, 1, 2]) == [1, 2])
    #expect(pieces(.adts, [0x21, 1, 2]) == [0x21, 1, 2])
    #expect(pieces(.adts, [0xFF, 0xF1]) == [0xFF, 0xF1])
  }

  @Test func openBitstreamUnitsThatIsoFilesLeaveOutFallAway() {
    // Temporal delimiter, sequence header, padding, frame without a size.
    let bytes: [UInt8] = [0x12, 0, 0x0A, 2, 7, 7, 0x7A, 1, 0, 0x30, 5, 5]
    #expect(pieces(.units, bytes) == [0x0A, 2, 7, 7, 0x30, 5, 5])
    #expect(pieces(.units, [0x0A, 0xFF]) == [0x0A, 0xFF])
    let endless: [UInt8] = [0x0A] + Array(repeating: 0xFF, count: 10)
    #expect(pieces(.units, endless) == endless)
  }

  @Test func hashesPiecesInOrder() throws {
    // SHA-256 of "abc" (FIPS 180-2, appendix B.1).
    let hash = try PayloadHash(.plain)
    for piece in ["a", "bc"] { Array(piece.utf8).withUnsafeBytes { hash.update($0) } }
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(try hash.hexadecimal() == expected)
    #expect(try hash.hexadecimal() == expected)
  }
}
