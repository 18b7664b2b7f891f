// People throw the source away: what it says beside its pictures and sounds is found in the output,
// box by box.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("Everything carried")
struct CarriageTests {
  private static let role = "urn:mpeg:dash:role:2011"
  private static let xmp: [UInt8] = .box(
    "uuid",
    [
      0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF,
      0xAC,
    ] + Array("<?xpacket?>".utf8))

  /// Video, two sounds, a subtitle and a track of timed data, its index last.
  private static func base(_ scratch: Scratch, _ name: String, timed: String) throws -> URL {
    let text = scratch.url.appendingPathComponent("text.srt")
    try Data("1\n00:00:00,000 --> 00:00:02,000\nx\n".utf8).write(to: text)
    let file = scratch.url.appendingPathComponent(name)
    try run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-i", text.path, "-map", "0:v",
      "-map", "0:a", "-map", "0:a", "-map", "1", "-map", "1", "-c", "copy", "-c:s", "mov_text",
      "-metadata", "title=T", file.path,
    ])
    let edited = scratch.url.appendingPathComponent("edited-" + name)
    try BoxTree.edit(file, to: edited, behind: xmp) { moov in
      try decorate(&moov)
      moov.tracks[4]["mdia", "hdlr"].payload =
        words(0, 0) + Array("meta".utf8) + words(0, 0, 0) + zeroEnded("Timed")
      moov.tracks[4]["mdia", "minf", "stbl", "stsd"].payload =
        words(0, 1) + .box(timed, words(0, 1) + [0] + zeroEnded("text/plain"))
      moov.tracks[4]["tref"] = BoxTree("tref", [BoxTree("cdsc", words(1))])
    }
    return edited
  }

  private static func decorate(_ moov: inout BoxTree) throws {
    moov["mvhd"].set(0xD000_0001, at: 4, bytes: 4)
    moov["mvhd"].set(0xD000_0002, at: 8, bytes: 4)
    moov["mvhd"].set(0x0080, at: 24, bytes: 2)
    // Flags, layer, alternate group.
    moov.tracks[0]["tkhd"].set(7, at: 1, bytes: 3)
    moov.tracks[0]["tkhd"].set(0xD000_0003, at: 4, bytes: 4)
    moov.tracks[0]["tkhd"].set(0xFFFF, at: 32, bytes: 2)
    moov.tracks[1]["tkhd"].set(5, at: 34, bytes: 2)
    moov.tracks[2]["tkhd"].set(2, at: 1, bytes: 3)
    moov.tracks[2]["tkhd"].set(5, at: 34, bytes: 2)
    let language = BoxTree("elng", words(0) + zeroEnded("zh-Hant"))
    moov.tracks[2]["mdia"].children.insert(language, at: 1)
    moov.tracks[2]["tref"] = BoxTree("tref", [BoxTree("fall", words(2))])
    moov.tracks[2]["udta"] = BoxTree(
      "udta",
      [
        BoxTree("name", Array("Kommentar".utf8)),
        BoxTree("kind", words(0) + zeroEnded(role) + zeroEnded("commentary")),
        BoxTree("ludt", .box("tlou", words(0, 0, 0))),
      ])
    moov.tracks[3]["tref"] = BoxTree("tref", [BoxTree("forc", words(4, 77))])
    moov.tracks[0]["mdia", "minf", "stbl"].children += [
      BoxTree("sdtp", words(0) + [UInt8](repeating: 0x18, count: 50)),
      BoxTree("sgpd", words(0x0100_0000) + Array("rap ".utf8) + words(1, 1) + [0x80]),
      BoxTree("sbgp", words(0) + Array("rap ".utf8) + words(1, 50, 1)),
    ]
    var keys = MetadataBox(handler: "mdta")
    keys.set("com.apple.quicktime.make", to: "Apple")
    keys.set("com.apple.quicktime.content.identifier", to: "ABC-123")
    moov.children.append(BoxTree("meta", Array(keys.box(isISO: true).dropFirst(8))))
    moov["udta"].children += [
      BoxTree("XMP_", Array("<x/>".utf8)), BoxTree("GPMF", Array("DEVC".utf8)),
      BoxTree("©xyz", [0, 5, 0x15, 0xC7] + Array("+1+2/".utf8)),
    ]
    moov.children.append(BoxTree("uuid", [UInt8](repeating: 7, count: 24)))
  }

  private static func isSilent(_ file: URL) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["ffprobe", "-v", "error", "-show_streams", "-show_format", file.path]
    let pipe = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    let said = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return said.isEmpty && process.terminationStatus == 0
  }

  private static func isProven(_ file: URL) throws -> Bool {
    let bytes = [UInt8](try Data(contentsOf: file))
    return try MovieStructure.examine(SourceReader(bytes), size: Int64(bytes.count)) == .proven
  }

  @Test(arguments: ContainerFormat.allCases)
  func whatAnIndexSaysIsFoundAgainBoxByBox(format: ContainerFormat) throws {
    let scratch = try Scratch()
    let source = try Self.base(scratch, "all.mp4", timed: "mett")
    let run = try RemuxRun(source, to: format)
    #expect(run.outcome != nil, "\(String(describing: run.error))")
    #expect(!run.warnings.contains { $0.warning == .streamDropped })
    let (before, after) = (try BoxTree.index(of: source), try BoxTree.index(of: run.output))
    try #require(after.tracks.count == 5)
    #expect(after["mvhd"].payload.integer(4, 8) == 0xD000_0001_D000_0002)
    #expect(after["mvhd"].payload.integer(24, 2) == 0x0080)
    for (track, was) in zip(after.tracks, before.tracks) {
      let (header, old) = (track["tkhd"].payload, was["tkhd"].payload)
      #expect(header[..<12] == old[..<12], "flags and times")
      #expect(header[32..<38] == old[32..<38], "layer, alternate group and volume")
      #expect(track["mdia", "elng"].payload == was["mdia", "elng"].payload)
      #expect(
        track["mdia", "mdhd"].payload.integer(4, 8) == was["mdia", "mdhd"].payload.integer(4, 8))
      for child in was["udta"].children {
        #expect(track["udta"].children.count { $0.bytes == child.bytes } == 1, "\(child.type)")
      }
      for table in ["sdtp", "sgpd", "sbgp"] {
        let path = was["mdia", "minf", "stbl", table].payload
        #expect(track["mdia", "minf", "stbl", table].payload == path, "\(table)")
      }
    }
    #expect(after.tracks[2]["tref", "fall"].payload == words(2))
    #expect(after.tracks[3]["tref", "forc"].payload == words(4), "a track that isn't there goes")
    #expect(after.tracks[4]["tref", "cdsc"].payload == words(1))
    for child in before["udta"].children where child.type != "meta" {
      #expect(after["udta"].children.count { $0.bytes == child.bytes } == 1, "\(child.type)")
    }
    #expect(after["uuid"].payload == before["uuid"].payload)
    #expect(after["meta"].payload.fourCharacters(4) == (format == .mov ? "hdlr" : "\0\0\0!"))

    let (old, new) = (try Probe(source).format.tags ?? [:], try run.probe().format.tags ?? [:])
    for (key, value) in old where !key.contains("brand") && key != "minor_version" {
      #expect(new[key] == value, "\(key)")
    }
    #expect(try topBoxes(run.output).last == "uuid")
    #expect(try Data(contentsOf: run.output).suffix(Self.xmp.count) == Data(Self.xmp))
    #expect(try Self.isSilent(run.output))
    #expect(try Self.isProven(run.output))
  }

  @Test(arguments: [("mett", ContainerFormat.mp4), ("mett", .mov), ("mebx", .mov), ("camm", .mp4)])
  func timedDataKeepsItsSamplesAndItsDescription(timed: String, format: ContainerFormat) throws {
    let scratch = try Scratch()
    let source = try Self.base(scratch, "timed.mp4", timed: timed)
    let run = try RemuxRun(source, to: format)
    let (before, after) = (try BoxTree.index(of: source), try BoxTree.index(of: run.output))
    let (was, track) = (before.tracks[4]["mdia"], after.tracks[4]["mdia"])
    #expect(track["minf", "stbl", "stsd"].payload == was["minf", "stbl", "stsd"].payload)
    #expect(track["hdlr"].payload.fourCharacters(8) == "meta")
    #expect(track["minf"].has(format == .mov ? "gmhd" : "nmhd"))
    #expect(track["mdhd"].payload.integer(12, 4) == was["mdhd"].payload.integer(12, 4))
    #expect(try samples(of: 4, in: run.output) == samples(of: 4, in: source))
    #expect(run.outcome?.plan.streams[4].action == .kept)
    // Twice the same way: nothing depends on when or where.
    let again = try RemuxRun(source, to: format, feeding: .withoutTotal(3000))
    #expect(try Data(contentsOf: again.output) == Data(contentsOf: run.output))
  }

  @Test(arguments: ContainerFormat.allCases, ["mov", "mp4"])
  func timecodeIsTheSourcesOwn(format: ContainerFormat, kind: String) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("plain.\(kind)")
    try MediaRemuxTests.run([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=30000/1001:d=1",
      "-timecode", "10:00:00;02", "-c:v", "mpeg4", file.path,
    ])
    let source = scratch.url.appendingPathComponent("multi.\(kind)")
    // Three samples, the last one negative, in the place of the one: a second file of media.
    let samples = words(100, 200, UInt32(bitPattern: -5))
    let length = try #require(try file.resourceValues(forKeys: [.fileSizeKey]).fileSize)
    var at = UInt32(length + 8)
    try BoxTree.edit(file, to: source, behind: .box("mdat", samples)) { moov in
      func table(_ moov: inout BoxTree) {
        var table = moov.tracks[1]["mdia", "minf", "stbl"]
        table["stts"].payload = words(0, 1, 3, 10_010)
        table["stsz"].payload = words(0, 4, 3)
        table["stsc"].payload = words(0, 1, 1, 3, 1)
        table["stco"].payload = words(0, 1, at)
        // Drop frame, 24 hours, negative times.
        table["stsd"].set(7, at: 8 + 20, bytes: 4)
        moov.tracks[1]["mdia", "minf", "stbl"] = table
      }
      table(&moov)
      at = UInt32(length - (try BoxTree.index(of: file).bytes.count) + moov.bytes.count + 8)
      table(&moov)
    }
    let run = try RemuxRun(source, to: format)
    #expect(run.warnings.isEmpty, "\(run.warnings)")
    let (before, after) = (try BoxTree.index(of: source), try BoxTree.index(of: run.output))
    try #require(after.tracks.count == 2)
    let path = after.tracks[1]["mdia", "minf", "stbl", "stsd"].payload
    #expect(path == before.tracks[1]["mdia", "minf", "stbl", "stsd"].payload)
    #expect(after.tracks[1]["mdia", "minf", "stbl", "stts"].payload == words(0, 1, 3, 10_010))
    #expect(after.tracks[0]["tref", "tmcd"].payload == words(2))
    #expect(after.tracks[1]["mdia", "minf"].has(format == .mov ? "gmhd" : "nmhd"))
    #expect(try MediaRemuxTests.samples(of: 1, in: run.output).count == 3)
    #expect(
      try MediaRemuxTests.samples(of: 1, in: run.output)
        == MediaRemuxTests.samples(of: 1, in: source))
    let tags = try run.probe().streams.compactMap { $0.tags?["timecode"] }
    #expect(tags == ["00:00:03;10", "00:00:03;10"])
  }

  @Test(arguments: ContainerFormat.allCases)
  func matroskasTagsFlagsAndPicturesArrive(format: ContainerFormat) throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("all.mkv")
    try MediaRemuxTests.run([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=1", "-f", "lavfi",
      "-i", "sine=d=1", "-c:v", "libx264", "-pix_fmt", "yuvj420p", "-color_range", "pc", "-c:a",
      "aac", "-metadata", "title=Tüte", "-metadata", "DIRECTOR=me", "-metadata",
      "com.apple.quicktime.make=Apple", "-metadata", "track=A1", "-metadata:s:a", "title=Kommentar",
      "-metadata:s:a", "language=ger", "-disposition:a", "comment+hearing_impaired+original",
      "-metadata:s:a", "RATING=5", "-metadata:s:v", "stereo_mode=left_right", file.path,
    ])
    let run = try RemuxRun(file, to: format)
    let probe = try run.probe()
    let tags = Dictionary(
      uniqueKeysWithValues: (probe.format.tags ?? [:]).map { ($0.key.lowercased(), $0.value) })
    #expect(tags["title"] == "Tüte")
    #expect(tags["director"] == "me")
    #expect(tags["com.apple.quicktime.make"] == "Apple")
    #expect(tags["track"] == "A1")
    #expect(probe.audio?.disposition?["comment"] == 1)
    #expect(probe.audio?.disposition?["hearing_impaired"] == 1)
    #expect(probe.audio?.tags?["language"] == "ger")
    #expect(probe.video?.side_data_list?.map(\.side_data_type) == ["Stereo 3D"])
    #expect(probe.video?.color_range == "pc")
    let name = try BoxTree.index(of: run.output).tracks[1]["udta", "name"].payload
    #expect(name == Array("Kommentar".utf8))
    let tracks = try BoxTree.index(of: run.output).tracks
    let own = MetadataBox(.box("meta", tracks[1]["meta"].payload))
    #expect(own?.names == ["RATING"])
    #expect(!tracks[0].has("meta"))
    let lost = run.warnings.filter { $0.warning == .propertyLost }
    #expect(
      lost.map(\.message) == ["role \"original\" of stream 1 lost: the container cannot hold it"])
    #expect(try Self.isSilent(run.output))
  }

  @Test func theSourcesWordsForASoundWin() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("sound.mp4")
    try MediaRemuxTests.run([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=1", "-c:a", "eac3", file.path,
    ])
    let source = scratch.url.appendingPathComponent("atmos.mp4")
    var configuration: [UInt8] = []
    try BoxTree.edit(file, to: source) { moov in
      let path = moov.tracks[0]["mdia", "minf", "stbl", "stsd"].payload
      var entry = SampleEntry(path, handler: "soun")
      let at = try #require(entry.boxes.firstIndex { $0.fourCharacters(4) == "dec3" })
      // Objects, and how many: what libavformat doesn't write (ETSI TS 103 420 C.3).
      configuration = .box("dec3", Array(entry.boxes[at].dropFirst(8)) + [1, 16])
      entry.boxes[at] = configuration
      let head = Array(path[16..<44])
      moov.tracks[0]["mdia", "minf", "stbl", "stsd"].payload =
        words(0, 1) + .box(entry.type, head + entry.boxes.flatMap { $0 })
    }
    for format in ContainerFormat.allCases {
      let run = try RemuxRun(source, to: format)
      let path = try BoxTree.index(of: run.output).tracks[0]["mdia", "minf", "stbl", "stsd"].payload
      let boxes = SampleEntry(path, handler: "soun").firstBoxes
      if format == .mp4 { #expect(boxes["dec3"] == configuration) }
      #expect(try run.probe().audio?.packets == Probe(source).audio?.packets)
    }
  }

  @Test(arguments: ContainerFormat.allCases)
  func strippingLeavesHowItIsPlayedAndNoTag(format: ContainerFormat) throws {
    let scratch = try Scratch()
    let source = try Self.base(scratch, "strip.mp4", timed: "mett")
    var settings = ExportSettings()
    settings.metadata.strips = true
    let run = try RemuxRun(source, to: format, settings: settings)
    #expect(run.outcome != nil, "\(String(describing: run.error))")
    let index = try BoxTree.index(of: run.output)
    #expect(index.tracks.count == 4)
    #expect(!index.has("meta") && !index.has("uuid") && !index.has("udta"))
    #expect(index["mvhd"].payload.integer(4, 8) == 0)
    #expect(index.tracks[2]["mdia", "elng"].payload == words(0) + zeroEnded("zh-Hant"))
    #expect(index.tracks[2]["tref", "fall"].payload == words(2))
    #expect(index.tracks[2]["tkhd"].payload.integer(34, 2) == 5)
    #expect(index.tracks[2]["udta"].children.map(\.type) == ["kind", "ludt"])
    #expect(try topBoxes(run.output).last == "mdat")
    #expect(try Self.isSilent(run.output))
  }

  @Test func boxesThatAreTooLargeAreNamed() throws {
    let scratch = try Scratch()
    let file = scratch.url.appendingPathComponent("plain.mp4")
    try MediaRemuxTests.run([
      "ffmpeg", "-v", "error", "-i", fixture("plain.mp4").path, "-c", "copy", file.path,
    ])
    // A hole in the file will do.
    let source = scratch.url.appendingPathComponent("large.mp4")
    let size = UInt32(65 << 20)
    var bytes = [UInt8](try Data(contentsOf: file))
    let moov = try #require(bytes.boxes(in: 0..<bytes.count).last).range
    bytes.set(UInt32(moov.count) + size, at: moov.lowerBound, bytes: 4)
    try Data(bytes + words(size) + Array("uuid".utf8)).write(to: source)
    let handle = try FileHandle(forWritingTo: source)
    try handle.truncate(atOffset: UInt64(bytes.count) + UInt64(size))
    try handle.close()
    let run = try RemuxRun(source)
    #expect(run.outcome != nil)
    #expect(run.warnings.map(\.warning) == [.propertyLost])
    #expect(run.warnings.first?.message.contains("uuid") == true)
    #expect(try Data(contentsOf: run.output).count < 1 << 20)
  }
}

/// Times, sizes and hashes of a stream's packets, as ffmpeg reads them.
private func samples(of stream: Int, in file: URL) throws -> [Substring] {
  let data = try run([
    "ffmpeg", "-v", "quiet", "-i", file.path, "-map", "0:\(stream)", "-c", "copy", "-f",
    "framehash", "-",
  ])
  return String(decoding: data, as: UTF8.self).split(separator: "\n")
    .filter { !$0.hasPrefix("#") }
}
