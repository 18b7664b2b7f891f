// Sources made to do harm: numbers past any range, edit lists that hide media, boxes without end.
// None may crash, hang, lose media without a word, or pass for a fault of the program's own.

import CFFmpeg
import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Hostile source")
struct HostileSourceTests {
  // MARK: Edit lists

  @Test(
    arguments: [
      UInt64(Int64.max), 1 << 62, 1 << 61, UInt64.max - 1, UInt64(Int64.max) / 48 + 1,
    ],
    [0, 1])
  func editThatLastsForeverIsDamage(duration: UInt64, track: Int) throws {
    let edited = try EditedSource(track: track, edits: [(duration, 1024)])
    let run = try RemuxRun(edited.file)
    #expect(run.outcome == nil)
    #expect(run.error?.code == .damaged, "\(String(describing: run.error))")
  }

  @Test(arguments: [UInt64(1000), 1 << 40, UInt64(Int64.max)], [Int64.max, 1 << 61, -2, .min])
  func editAtNoTimeIsDamage(duration: UInt64, mediaTime: Int64) throws {
    let edited = try EditedSource(track: 1, edits: [(duration, mediaTime)])
    #expect(try RemuxRun(edited.file).error?.code == .damaged)
  }

  @Test func samplesOutsideAnEditListAreSaid() throws {
    // Half a second of the two.
    let edited = try EditedSource(track: 1, edits: [(500, 1024)])
    let run = try RemuxRun(edited.file)
    let outcome = try #require(run.outcome, "\(String(describing: run.error))")
    let kept = try #require(outcome.ledger.first { $0.index == 1 }).packets
    #expect(kept > 20 && kept < 30)
    let warning = try #require(run.warnings.first { $0.message.contains("outside the edit list") })
    #expect(warning.warning == .propertyLost)
    #expect(warning.stream == 1)
    #expect(warning.message.hasPrefix("\(95 - kept) samples"))
  }

  @Test func wholeEditListIsNotMentioned() throws {
    for name in ["plain.mp4", "cover.mp4", "moov_first.mp4"] {
      let run = try RemuxRun(fixture(name))
      #expect(run.warnings.allSatisfy { !$0.message.contains("edit list") }, "\(name)")
    }
  }

  @Test func editThatShowsNothingIsDamage() throws {
    let edited = try EditedSource(track: 0, edits: [(2000, -1)])
    #expect(try RemuxRun(edited.file).error?.code == .damaged)
  }

  @Test(arguments: ["stsz", "stsc", "stco", "hdlr", "minf"])
  func trackWhoseTablesAreGoneIsNotEmpty(type: String) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("gone.mp4")
    var bytes = try [UInt8](Data(contentsOf: fixture("plain.mp4")))
    let at = try #require(bytes.firstRange(of: Array(type.utf8))).lowerBound
    // A size of zero swallows all that follows in the same box.
    bytes.set(UInt32(0), at: at - 4, bytes: 4)
    bytes.replaceSubrange(at..<at + 4, with: Array("free".utf8))
    try Data(bytes).write(to: file)
    let run = try RemuxRun(file)
    #expect(run.outcome == nil)
    #expect(run.error?.code == .damaged, "\(String(describing: run.error))")
  }

  @Test func countsWhatAnEditListHides() {
    let list = SampleList(times: (0..<1000).map { $0 * 10 }, timescale: 1000)
    func outside(_ edits: [(UInt64, Int64)]) -> Int64 {
      var track = SourceTrack(id: 1)
      track.movieTimescale = 1000
      track.edits = edits.map { .init(duration: $0.0, mediaTime: $0.1) }
      return EditList(track).samplesOutside(list)
    }
    // 64 more than lie behind the end: so many may be shown later than they are decoded.
    #expect(outside([(5000, 0)]) == 500 + 64)
    #expect(outside([(5000, -1), (5000, 5000)]) == 500 + 64)
    #expect(outside([(100_000, 0)]) == 0)
    #expect(outside([(0, 0)]) == 0)
    #expect(outside([(0, 2000)]) == 200)
    #expect(outside([]) == 0)
  }

  // MARK: Times

  @Test(
    arguments: ["cover.mkv", "vp9_opus.webm"],
    [
      UInt64(Int64.max), UInt64(Int64.max) - 100, 1 << 62, 1 << 60, 1 << 55, 1 << 63,
    ])
  func clusterPastAnyTimeIsDamage(name: String, time: UInt64) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("late.mkv")
    var bytes = try [UInt8](Data(contentsOf: fixture(name)))
    // Cluster, its size, and its Timestamp of one byte.
    let at = try #require(bytes.firstRange(of: [0x1F, 0x43, 0xB6, 0x75])).upperBound
    let width = bytes[at].leadingZeroBitCount + 1
    let size = bytes.integer(at, width) + 7
    bytes.set(size, at: at, bytes: width)
    let stamp = try #require(bytes[(at + width)...].firstRange(of: [0xE7, 0x81]))
    bytes.replaceSubrange(
      stamp.lowerBound..<(stamp.upperBound + 1), with: [0xE7, 0x88] + Boxes.big(time, 8))
    let segment = try #require(bytes.firstRange(of: [0x18, 0x53, 0x80, 0x67, 0x01])).upperBound
    bytes.set(bytes.integer(segment, 7) + 7, at: segment, bytes: 7)
    try Data(bytes).write(to: file)
    for format in ContainerFormat.allCases where name == "cover.mkv" || format == .mp4 {
      let run = try RemuxRun(file, to: format)
      #expect(run.error?.code == .damaged, "\(String(describing: run.error))")
    }
  }

  @Test(arguments: [0x8000_0000_0000_0010, 1 << 60, 2_000_000_000_000_000_000])
  func chapterOutsideTheFilmIsLeftOut(start: UInt64) throws {
    let scratch = try Scratch()
    let chapters = scratch.url.appendingPathComponent("chapters")
    let text = """
      ;FFMETADATA1
      [CHAPTER]
      TIMEBASE=1/1
      START=0
      END=1
      title=one
      [CHAPTER]
      TIMEBASE=1/1
      START=2000000000
      END=2000000001
      title=two
      """
    try Data(text.utf8).write(to: chapters)
    let file = scratch.url.appendingPathComponent("chapters.mkv")
    try run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-i", chapters.path,
      "-map_chapters", "1", "-c", "copy", file.path,
    ])
    var bytes = try [UInt8](Data(contentsOf: file))
    let mark = [0x91, 0x88] + Boxes.big(2_000_000_000_000_000_000, 8)
    let at = try #require(bytes.firstRange(of: mark)).lowerBound
    bytes.set(start, at: at + 2, bytes: 8)
    try Data(bytes).write(to: file)
    let run = try RemuxRun(file)
    #expect(run.outcome != nil, "\(String(describing: run.error))")
    #expect(run.warnings.contains { $0.message.hasPrefix("1 chapters lie outside the film") })
    #expect(try run.probe().chapters?.map { $0.tags?["title"] } == ["one"])
  }

  @Test(
    arguments: [(0, 2), (1, 134_217_728), (1, 500_000_000), (1, 999_999_999)] as [(Int, UInt64)],
    ContainerFormat.allCases)
  func aClockThatMostPacketsContradictIsDamage(
    change: (track: Int, timescale: UInt64), format: ContainerFormat
  ) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("clock.mp4")
    var bytes = try [UInt8](Data(contentsOf: fixture("plain.mp4")))
    let moov = try #require(bytes.box(["moov"], in: 0..<bytes.count))
    let track = bytes.boxes(in: moov.payload).filter { $0.type == "trak" }[change.track]
    let header = try #require(bytes.box(["mdia", "mdhd"], in: track.payload))
    bytes.set(change.timescale, at: header.payload.lowerBound + 12, bytes: 4)
    try Data(bytes).write(to: file)
    let run = try RemuxRun(file, to: format)
    #expect(run.error?.code == .damaged, "\(String(describing: run.error))")
    #expect(run.error?.message == "the clock of stream \(change.track) is damaged")
  }

  @Test func rescalingTellsAnOverflow() throws {
    let one = AVRational(num: 1, den: 1)
    let fine = AVRational(num: 1, den: 90_000)
    #expect(try MediaTime.rescale(7, one, fine) == 630_000)
    #expect(throws: FetchError.self) { try MediaTime.rescale(1 << 60, one, fine) }
    #expect(throws: FetchError.self) { try MediaTime.rescale(.max, one, one) }
    #expect(throws: FetchError.self) {
      try MediaTime.rescale(1, AVRational(num: 1, den: 0), fine)
    }
    #expect(MediaTime.ticks(2000, perSecond: 1000, in: fine) == 180_000)
    #expect(MediaTime.ticks(1, perSecond: 3, in: AVRational(num: 1, den: 2)) == 1)
    #expect(MediaTime.ticks(.max, perSecond: 1, in: fine) == nil)
    #expect(MediaTime.ticks(1 << 62, perSecond: 1000, in: fine) == nil)
    #expect(MediaTime.ticks(1, perSecond: 0, in: fine) == nil)
  }

  @Test func extremeStampsAreCountedWithoutATrap() {
    let stamps: [Int64] = [.min, .max, 0, .max - 1, .min + 1]
    var repair = TimestampRepair(slack: 3)
    var line = LedgerLine()
    for pts in stamps {
      for dts in stamps {
        let next = repair.next(pts: pts, dts: dts, duration: .max)
        line.add(
          bytes: 1, written: 1, stamps: next, duration: .max, isPresented: true, hiddenStart: .max)
      }
    }
    #expect(line.packets == 25)
    #expect(line.span >= 0)
    #expect(line.decodingSpan >= 0)
  }

  @Test func whatTheMuxerRefusesIsTheSourcesFault() {
    let refusal = AVError(code: cff_error_invalid_argument)
    #expect(refusal.fetchError(.writingMedia, evidence: nil).code == .damaged)
    #expect(refusal.fetchError(.writingHeader, evidence: nil).code == .cannotPassthrough)
  }

  @Test func soundWithoutBytesIsDamage() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("empty.mp4")
    var bytes = try [UInt8](Data(contentsOf: fixture("plain.mp4")))
    // The sizes of two samples of sound become 0; its chunks hold one sample each.
    let moov = try #require(bytes.box(["moov"], in: 0..<bytes.count))
    let sound = bytes.boxes(in: moov.payload).filter { $0.type == "trak" }[1]
    let sizes = try #require(bytes.box(["mdia", "minf", "stbl", "stsz"], in: sound.payload))
    for sample in [40, 41] {
      bytes.set(UInt32(0), at: sizes.payload.lowerBound + 12 + 4 * sample, bytes: 4)
    }
    try Data(bytes).write(to: file)
    let run = try RemuxRun(file)
    #expect(run.error?.code == .damaged)
    #expect(run.error?.message == "2 samples of stream 1 have no bytes")
  }

  // MARK: Boxes

  @Test func foreignBoxesAreOneWarning() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("boxes.mp4")
    var bytes = try [UInt8](Data(contentsOf: fixture("plain.mp4")))
    for number in 0..<40_000 {
      bytes.append(UInt32(8), bytes: 4)
      bytes.append(UInt32(0x6162_0000 + number), bytes: 4)
    }
    try Data(bytes).write(to: file)
    let run = try RemuxRun(file)
    #expect(run.outcome != nil, "\(String(describing: run.error))")
    #expect(run.warnings.count == 1)
    #expect(run.warnings[0].message.utf8.count < 300)
    let walk = try FragmentWalk(
      SourceReader(bytes), size: Int64(bytes.count), cancellation: CancellationFlag())
    #expect(walk.foreignBoxes.count == FragmentWalk.mostForeignBoxes)
  }

  @Test func aSizeOfZeroRunsToTheEndForEveryReader() throws {
    let inner = Boxes.box("free", [1, 2, 3])
    let last: [UInt8] = [0, 0, 0, 0] + Array("moov".utf8) + inner
    let bytes = Boxes.box("ftyp", []) + last
    #expect(bytes.boxes(in: 0..<bytes.count).map(\.type) == ["ftyp", "moov"])
    #expect(bytes.boxHeader(at: 8, end: bytes.count)?.end == Int64(bytes.count))
    let window = SourceWindow(SourceReader(bytes), limit: Int64(bytes.count))
    #expect(try window.box(at: 8, parentEnd: Int64(bytes.count))?.end == Int64(bytes.count))
    #expect(try ChunkOffsets(moov: last).rewritten(delta: 8) == last)
  }

  @Test func mutatedIndexIsAmendedOrLeftWithoutATrap() throws {
    let bytes = try [UInt8](Data(contentsOf: fixture("plain.mp4")))
    let moov = Array(bytes[try #require(try Boxes.first("moov", in: bytes))])
    var amendment = TrackAmendment()
    amendment.presentation = .init(delay: .max, mediaStart: .max, duration: .max)
    amendment.entryBoxes = [Boxes.box("clap", [1])]
    amendment.replacedBoxes = [Boxes.box("avcC", [2])]
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<1500 {
      var mutant = moov
      for _ in 0..<4 {
        mutant[Int.random(in: mutant.indices, using: &generator)] = UInt8.random(
          in: .min ... .max, using: &generator)
      }
      mutant.removeLast(Int.random(in: 0...8, using: &generator))
      let index = try SourceIndex(SourceReader(mutant))
      amendment.carriage = index.tracks.first?.carriage
      amendment.isOpaque.toggle()
      for format in ContainerFormat.allCases {
        let change = IndexAmendment(
          tracks: [amendment, amendment], movie: index.movie, format: format)
        _ = change.apply(to: mutant)
        _ = change.apply(to: moov)
      }
    }
  }

  @Test(arguments: 1...6)
  func mutatedSourcesNeverPassForAFaultOfOurOwn(seed: UInt64) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("mutant")
    let names = ["plain.mp4", "cover.mp4", "data_tracks.mov", "cover.mkv", "early_audio.ts"]
    var generator = SeededGenerator(seed: seed)
    let numbers: [UInt64] = [
      0, 1, 7, 8, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 60, 1 << 61, 1 << 62, 1 << 63,
      UInt64(Int64.max), .max,
    ]
    for _ in 0..<20 {
      var bytes = try [UInt8](
        Data(contentsOf: fixture(names.randomElement(using: &generator) ?? "plain.mp4")))
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let number = numbers.randomElement(using: &generator) ?? 0
        let at = Int.random(in: 0..<min(bytes.count - 8, 4096), using: &generator)
        bytes.set(number, at: at, bytes: Bool.random(using: &generator) ? 4 : 8)
      }
      try Data(bytes).write(to: file)
      let run = try RemuxRun(file)
      #expect(run.outcome != nil || run.error != nil)
      #expect(run.error?.code != .internal, "\(String(describing: run.error))")
    }
  }

  // MARK: Cancelling

  @Test func theCheckOfTheOutputCanBeCalledOff() throws {
    let scratch = try Scratch()
    let path = scratch.url.appendingPathComponent("out.mp4").path
    let source = open(fixture("plain.mp4").path, O_RDONLY)
    let sink = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    defer {
      close(source)
      close(sink)
    }
    let availability = SourceAvailability(isFramed: true)
    availability.apply(.ended(total: 47_517, isFramed: true))
    let bytes = SourceBytes(descriptor: source, availability: availability, onWait: { _ in })
    let log = AVLog()
    let demuxer = try Demuxer(SourceIO(bytes), isSeekable: true, log: log)
    defer { demuxer.close() }
    try demuxer.probe(log: log)
    let output = SinkIO(descriptor: sink)
    let muxer = try Muxer(output, format: .mp4)
    defer { muxer.close() }
    let plan = try StreamPlan(SourceDescription(demuxer), to: .mp4)
    let index = SourceIndex()
    var pipeline = try PacketPipeline(
      demuxer: demuxer, reader: bytes.reader, muxer: muxer, output: output, plan: plan,
      format: .mp4, log: log, gap: 0, sourceIndex: index,
      metadata: MetadataCarriage(demuxer, plan, index, to: .mp4), settings: ExportSettings())
    try pipeline.run(availability: availability, onMessage: { _ in })
    try muxer.finish(log: log)
    let flag = CancellationFlag()
    let check = OutputCheck(sink: sink, size: output.size, cancellation: flag)
    _ = try check.compare(with: pipeline, demuxer: demuxer)
    flag.cancel()
    #expect(throws: FetchError.cancelled) {
      try check.compare(with: pipeline, demuxer: demuxer)
    }
  }

  // MARK: Edit lists that one edit can't replace

  @Test(arguments: [0, 1])
  func editsThatHideTheMiddleAreRefused(track: Int) throws {
    let source = try EditedSource(
      track: track, edits: [(500, 0), (500, track == 0 ? 15_360 : 57_600)])
    let run = try RemuxRun(source.file)
    #expect(run.error?.code == .cannotPassthrough, "\(String(describing: run.outcome))")
  }

  @Test(arguments: [0, 0x0002_0000, 0x8000] as [UInt64])
  func editsAtAnotherSpeedAreRefused(rate: UInt64) throws {
    let source = try EditedSource(track: 0, edits: [(2000, 1024)], rate: rate)
    let run = try RemuxRun(source.file)
    #expect(run.error?.code == .cannotPassthrough)
    #expect(run.error?.message.contains("another speed") == true)
  }

}

/// `plain.mp4` with another edit list for one of its tracks.
private struct EditedSource {
  let file: URL
  private let scratch: Scratch

  /// - Parameter rate: how fast each edit is played, in 1/65536.
  init(
    track: Int, edits: [(duration: UInt64, mediaTime: Int64)], rate: UInt64 = 0x0001_0000
  ) throws {
    scratch = try Scratch()
    file = scratch.url.appendingPathComponent("edited.mp4")
    let bytes = try [UInt8](Data(contentsOf: fixture("plain.mp4")))
    let moov = try #require(bytes.box(["moov"], in: 0..<bytes.count))
    var list: [UInt8] = [1, 0, 0, 0] + Boxes.big(UInt64(edits.count), 4)
    for edit in edits {
      list += Boxes.big(edit.duration, 8) + Boxes.big(UInt64(bitPattern: edit.mediaTime), 8)
      list += Boxes.big(rate, 4)
    }
    var payload: [UInt8] = []
    var number = 0
    for box in bytes.boxes(in: moov.payload) {
      guard box.type == "trak" else {
        payload += bytes[box.range]
        continue
      }
      var trak: [UInt8] = []
      for child in bytes.boxes(in: box.payload) {
        let isOurs = child.type == "edts" && number == track
        trak += isOurs ? Boxes.box("edts", Boxes.box("elst", list)) : Array(bytes[child.range])
      }
      payload += Boxes.box("trak", trak)
      number += 1
    }
    let edited = Boxes.box("moov", payload)
    let moved = try ChunkOffsets(moov: edited).rewritten(
      delta: Int64(edited.count - moov.range.count))
    let result = bytes[..<moov.range.lowerBound] + moved + bytes[moov.range.upperBound...]
    try Data(result).write(to: file)
  }
}
