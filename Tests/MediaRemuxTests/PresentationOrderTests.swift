// Presentation times from picture types and order counts: a table.

import Testing

@testable import MediaRemux

@Suite("Presentation order")
struct PresentationOrderTests {
  private typealias Picture = PresentationOrder.Picture

  /// I, P and B, each with its chunk's number as time; a dot is a missing chunk.
  private static func types(_ text: String) -> [(Picture, Int64)] {
    text.enumerated().compactMap { number, letter in
      letter == "." ? nil : (letter == "B" ? .bidirectional : .reference, Int64(number))
    }
  }

  private static func counts(_ list: [Int64?]) -> [(Picture, Int64)] {
    list.enumerated().map { number, count in
      (.count(count ?? 0, restarts: count == nil), Int64(number))
    }
  }

  private static func run(
    _ pictures: [(Picture, Int64)], depth: Int, lookahead: Int? = nil
  ) throws(PresentationOrder.Contradiction) -> [PresentationOrder.Times] {
    var order = PresentationOrder(depth: depth, step: 1, lookahead: lookahead ?? depth)
    var times: [PresentationOrder.Times] = []
    for (number, picture) in pictures.enumerated() {
      try order.add(picture.0, decodedAt: picture.1)
      while let next = order.next() { times.append(next) }
      #expect(number - times.count <= PresentationOrder.deepest + depth)
    }
    try order.finish()
    while let next = order.next() { times.append(next) }
    #expect(times.count == pictures.count)
    for time in times { #expect(time.decoding <= time.presentation) }
    #expect(Set(times.map(\.presentation)).count == times.count)
    return times
  }

  @Test(
    arguments: [
      ("IPPP", 0, [0, 1, 2, 3]),
      ("IPPP", 1, [0, 1, 2, 3]),
      ("IPBBPBB", 1, [0, 3, 1, 2, 6, 4, 5]),
      ("IPBIBPB", 1, [0, 2, 1, 4, 3, 6, 5]),
      ("I", 1, [0]),
      // Bidirectional pictures that lean on what was cut away come first.
      ("IBBPBB", 1, [2, 0, 1, 5, 3, 4]),
    ] as [(String, Int, [Int64])])
  func typesSayTheOrder(types: String, depth: Int, presentation: [Int64]) throws {
    let times = try Self.run(Self.types(types), depth: depth)
    #expect(times.map(\.presentation) == presentation)
  }

  @Test func decodingTimesKeepTheirDistances() throws {
    let times = try Self.run(Self.types("IPBBPBB"), depth: 1)
    #expect(times.map(\.decoding) == [-1, 0, 1, 2, 3, 4, 5])
  }

  @Test(
    arguments: [
      // nil is an IDR picture.
      ([nil, 2, 4, 6], 0, [0, 1, 2, 3]),
      ([nil, 8, 4, 2, 6], 2, [0, 4, 2, 1, 3]),
      ([nil, 4, 2, nil, 4, 2], 1, [0, 2, 1, 3, 5, 4]),
      // Counts by one, and negative ones.
      ([nil, 2, 1, 4, 3], 1, [0, 2, 1, 4, 3]),
      ([nil, 4, -2, 2], 2, [1, 3, 0, 2]),
    ] as [([Int64?], Int, [Int64])])
  func countsSayTheOrder(counts: [Int64?], depth: Int, presentation: [Int64]) throws {
    let times = try Self.run(
      Self.counts(counts), depth: depth, lookahead: PresentationOrder.deepest)
    #expect(times.map(\.presentation) == presentation)
  }

  @Test func longStreamsPassInBoundedMemory() throws {
    var order = PresentationOrder(depth: 2, step: 1, lookahead: PresentationOrder.deepest)
    var given: Int64 = 0
    for group in 0..<500 as Range<Int64> {
      for (number, count) in ([0, 8, 4, 2, 6] as [Int64]).enumerated() {
        try order.add(
          .count(count, restarts: number == 0), decodedAt: group * 5 + Int64(number))
        while let times = order.next() {
          #expect(times.decoding == given - 2)
          given += 1
        }
      }
    }
    #expect(given > 2400)
  }

  @Test func aMissingChunkLeavesThePictureBeforeOnTheScreen() throws {
    #expect(try Self.run(Self.types("IP.PP"), depth: 0).map(\.presentation) == [0, 1, 3, 4])
    // With reordering: what is shown waits for the chunk that pushes it out of the decoder.
    let times = try Self.run(Self.types("IPBBPB.BPBB"), depth: 1)
    #expect(times.map(\.presentation).sorted() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10])
    // The pause that an encoder left at the start for its decoder's delay is no pause of the film.
    let lag = try Self.run(Self.types("I.PBBPBB"), depth: 1)
    #expect(lag.map(\.presentation).sorted() == [0, 1, 2, 3, 4, 5, 6])
  }

  @Test func contradictionsAreNeverGuessedAway() {
    #expect(throws: PresentationOrder.Contradiction.late) {
      try Self.run(Self.types("IPB"), depth: 0)
    }
    #expect(throws: PresentationOrder.Contradiction.late) {
      try Self.run(Self.counts([nil, 4, 2]), depth: 0)
    }
    #expect(throws: PresentationOrder.Contradiction.deeper) {
      try Self.run(Self.counts([nil, 8, 4, 2, 6]), depth: 1, lookahead: PresentationOrder.deepest)
    }
    #expect(throws: PresentationOrder.Contradiction.notRising) {
      try Self.run([(.reference, 3), (.reference, 3)], depth: 1)
    }
  }

  @Test func idrPicturesAreFoundInBothFramings() {
    func isIDR(_ bytes: [UInt8], _ lengthSize: Int) -> Bool {
      bytes.withUnsafeBytes { AccessUnit($0, lengthSize: lengthSize).isIDR }
    }
    #expect(isIDR([0, 0, 0, 1, 0x09, 0x10, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x65, 0x88], 0))
    #expect(!isIDR([0, 0, 1, 0x06, 5, 0, 0, 1, 0x41, 0x9A, 0, 0, 1, 0x65, 0], 0))
    #expect(isIDR([0, 0, 0, 2, 0x09, 0x10, 0, 0, 0, 2, 0x65, 0x88], 4))
    #expect(!isIDR([0, 0, 0, 2, 0x09, 0x10, 0, 0, 0, 2, 0x41, 0x9A], 4))
    #expect(!isIDR([0xFF, 0xFF, 0x09], 2) && !isIDR([], 0) && !isIDR([0, 0, 1], 0))
  }
}
