// Boxes taken apart and put together: bytes in, bytes out.

import FetchCore
import Testing

@testable import MediaRemux

@Suite("Index amendment")
struct IndexAmendmentTests {
  /// A `moov` with one track: movie timescale 1000, track timescale 48000.
  private static func moov(entry: [UInt8] = visualEntry()) -> [UInt8] {
    var mvhd: [UInt8] = [0, 0, 0, 0] + Array(repeating: 0, count: 8)
    mvhd.append(UInt32(1000), bytes: 4)
    mvhd.append(UInt32(9999), bytes: 4)
    mvhd += Array(repeating: 0, count: 80)
    var tkhd: [UInt8] = [0, 0, 0, 3] + Array(repeating: 0, count: 8)
    tkhd.append(UInt32(7), bytes: 4)
    tkhd.append(UInt32(0), bytes: 4)
    tkhd.append(UInt32(9999), bytes: 4)
    tkhd += Array(repeating: 0, count: 60)
    var mdhd: [UInt8] = [0, 0, 0, 0] + Array(repeating: 0, count: 8)
    mdhd.append(UInt32(48_000), bytes: 4)
    mdhd.append(UInt32(96_000), bytes: 4)
    mdhd += [0, 0, 0, 0]
    let stsd = [UInt8].box("stsd", [0, 0, 0, 0, 0, 0, 0, 1] + entry)
    let stbl = [UInt8].box("stbl", stsd + .box("stts", [0, 0, 0, 0, 0, 0, 0, 0]))
    let media = [UInt8].box("mdhd", mdhd) + .box("minf", .box("vmhd", []) + stbl)
    return .box(
      "moov",
      .box("mvhd", mvhd)
        + .box("trak", .box("tkhd", tkhd) + .box("edts", [1, 2, 3, 4]) + .box("mdia", media))
        + .box("udta", [9, 9]))
  }

  private static func visualEntry(boxes: [UInt8] = .box("avcC", [1, 2, 3])) -> [UInt8] {
    .box("avc1", Array(repeating: 0, count: 78) + boxes)
  }

  private func apply(_ tracks: [TrackAmendment], to moov: [UInt8]) -> [UInt8]? {
    IndexAmendment(tracks: tracks, format: .mp4).apply(to: moov)
  }

  private func amend(_ amendment: TrackAmendment) throws -> [UInt8] {
    try #require(apply([amendment], to: Self.moov()))
  }

  @Test func writesAnEditListThatShowsExactlyThePresentation() throws {
    var amendment = TrackAmendment()
    amendment.presentation = .init(delay: 24_000, mediaStart: 1024, duration: 72_000)
    let bytes = try amend(amendment)
    let elst = try #require(
      bytes.box(["moov", "trak", "edts", "elst"], in: 0..<bytes.count))
    let edits = SourceIndex.parseEdits(Array(bytes[elst.payload]))
    #expect(edits == [.init(duration: 500, mediaTime: -1), .init(duration: 1500, mediaTime: 1024)])
    let tkhd = try #require(bytes.box(["moov", "trak", "tkhd"], in: 0..<bytes.count))
    #expect(bytes.integer(tkhd.payload.lowerBound + 20, 4) == 2000)
    let mvhd = try #require(bytes.box(["moov", "mvhd"], in: 0..<bytes.count))
    #expect(bytes.integer(mvhd.payload.lowerBound + 16, 4) == 2000)
    #expect(bytes.integer(0, 4) == UInt64(bytes.count))
  }

  @Test func usesLongEntriesForLongFilms() throws {
    var amendment = TrackAmendment()
    amendment.presentation = .init(delay: 0, mediaStart: 5_000_000_000, duration: 48_000)
    let bytes = try amend(amendment)
    let elst = try #require(bytes.box(["moov", "trak", "edts", "elst"], in: 0..<bytes.count))
    #expect(bytes[elst.payload.lowerBound] == 1)
    let edits = SourceIndex.parseEdits(Array(bytes[elst.payload]))
    #expect(edits == [.init(duration: 1000, mediaTime: 5_000_000_000)])
  }

  @Test func leavesAllElseAsItIs() throws {
    let bytes = try amend(TrackAmendment())
    #expect(bytes == Self.moov())
  }

  @Test func addsBoxesThatAreMissingAndOnlyThose() throws {
    var amendment = TrackAmendment()
    amendment.entryBoxes = [.box("clap", [7, 7]), .box("avcC", [9])]
    let bytes = try amend(amendment)
    let stsd = try #require(
      bytes.box(["moov", "trak", "mdia", "minf", "stbl", "stsd"], in: 0..<bytes.count))
    let entry = SampleEntry(Array(bytes[stsd.payload]), handler: "vide")
    #expect(entry.type == "avc1")
    #expect(entry.firstBoxes["clap"] == .box("clap", [7, 7]))
    #expect(entry.firstBoxes["avcC"] == .box("avcC", [1, 2, 3]))
  }

  @Test func keepsQuickTimesTerminatorLast() throws {
    let entry = Self.visualEntry(boxes: .box("avcC", [1]) + [0, 0, 0, 0])
    var amendment = TrackAmendment()
    amendment.entryBoxes = [.box("clap", [7])]
    let bytes = try #require(apply([amendment], to: Self.moov(entry: entry)))
    let stsd = try #require(
      bytes.box(["moov", "trak", "mdia", "minf", "stbl", "stsd"], in: 0..<bytes.count))
    #expect(bytes[(stsd.payload.upperBound - 4)..<stsd.payload.upperBound].allSatisfy { $0 == 0 })
    let parsed = SampleEntry(Array(bytes[stsd.payload]), handler: "vide")
    #expect(parsed.firstBoxes["clap"] != nil)
  }

  @Test func renamesAndReplaces() throws {
    var amendment = TrackAmendment()
    amendment.sampleEntry = "dvh1"
    amendment.replacedBoxes = [.box("avcC", [5, 5, 5, 5, 5])]
    let bytes = try amend(amendment)
    let stsd = try #require(
      bytes.box(["moov", "trak", "mdia", "minf", "stbl", "stsd"], in: 0..<bytes.count))
    let entry = SampleEntry(Array(bytes[stsd.payload]), handler: "vide")
    #expect(entry.type == "dvh1")
    #expect(entry.firstBoxes["avcC"] == .box("avcC", [5, 5, 5, 5, 5]))
  }

  @Test func refusesWhatItCannotTakeApart() {
    #expect(apply([], to: []) == nil)
    #expect(apply([], to: .box("free", [])) == nil)
    #expect(apply([TrackAmendment(), TrackAmendment()], to: Self.moov()) == nil)
  }

  @Test func neverReadsPastTheEndOfCutBoxes() {
    let whole = Self.moov()
    for count in 0..<whole.count {
      _ = apply([TrackAmendment()], to: Array(whole.prefix(count)))
      _ = SampleEntry(Array(whole.prefix(count)), handler: "vide")
      _ = SourceIndex.parseEdits(Array(whole.prefix(count)))
    }
  }

  @Test func fillsAnHEVCConfigurationFromTheStream() throws {
    func unit(_ kind: UInt8) -> [UInt8] { [kind << 1, 1, kind] }
    var sample: [UInt8] = []
    for kind: UInt8 in [32, 33, 34, 19, 33] {
      sample.append(UInt32(3), bytes: 4)
      sample += unit(kind)
    }
    let units = sample.withUnsafeBytes { HEVCParameterSets.find(in: $0, lengthSize: 4) }
    #expect(units == [32: [unit(32)], 33: [unit(33)], 34: [unit(34)]])
    let empty: [UInt8] = [1] + Array(repeating: 0, count: 21) + [0]
    let box = try #require(HEVCParameterSets.configuration(from: empty, units: units))
    #expect(box[8 + 22] == 3)
    #expect(box.count == 8 + 23 + 3 * (3 + 2 + 3))
    #expect(HEVCParameterSets.configuration(from: empty, units: [32: [unit(32)]]) == nil)
  }
}

@Suite("Source availability")
struct SourceAvailabilityTests {
  @Test func answersFromWhatWasAnnounced() throws {
    let source = SourceAvailability(isFramed: true)
    source.apply(.have(try #require(ByteRange(0, 100))))
    source.apply(.have(try #require(ByteRange(200, 300))))
    #expect(source.answer(at: 10, willWait: {}) == .bytes(90))
    #expect(source.answer(at: 250, willWait: {}) == .bytes(50))
    source.apply(.total(300))
    #expect(source.answer(at: 300, willWait: {}) == .end)
    #expect(source.answer(at: 1000, willWait: {}) == .end)
  }

  @Test func saysOnceThatItWaits() throws {
    let source = SourceAvailability(isFramed: true)
    var waits = 0
    let answer = source.answer(at: 5) {
      waits += 1
      if let range = ByteRange(0, 10) { source.apply(.have(range)) }
    }
    #expect(answer == .bytes(5))
    #expect(waits == 1)
  }

  @Test func theEndBringsAllBytesAndTheFraming() {
    let source = SourceAvailability(isFramed: true)
    source.apply(.ended(total: 10, isFramed: false))
    #expect(source.answer(at: 9, willWait: {}) == .bytes(1))
    #expect(source.isFramed == false)
    #expect(source.waitForEnd(willWait: { _ in }) == 10)
  }

  @Test func cancelWinsOverEverything() {
    let source = SourceAvailability(isFramed: true)
    source.apply(.ended(total: 10, isFramed: true))
    source.apply(.cancel)
    #expect(source.isCancelled)
    #expect(source.answer(at: 0, willWait: {}) == .cancelled)
    #expect(source.waitForEnd(willWait: { _ in }) == nil)
  }

  @Test func anEmptySourceEndsAtOnce() {
    let source = SourceAvailability(isFramed: true)
    source.apply(.ended(total: 0, isFramed: true))
    #expect(source.answer(at: 0, willWait: {}) == .end)
  }
}
