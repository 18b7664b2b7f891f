// AVI says when pictures are decoded and nothing of when they are shown; its sound has no clock but
// its own rate. What comes out decodes to the same pictures, in the same order, at an even pace.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

@Suite("AVI")
struct AVITests {
  private static let picture = "testsrc2=size=160x120:rate=25:duration=2"
  private static let xvid = ["-c:v", "mpeg4", "-bf", "2", "-g", "12", "-vtag", "XVID"]

  // MARK: Pictures that are stored in another order

  @Test(
    arguments: [
      ["-c:v", "mpeg4", "-bf", "2", "-g", "12", "-vtag", "XVID"],
      ["-c:v", "mpeg4", "-bf", "0", "-vtag", "DIVX"],
      ["-c:v", "libx264", "-preset", "fast", "-bf", "3", "-b-pyramid", "normal", "-g", "20"],
      ["-c:v", "libx264", "-preset", "fast", "-bf", "3", "-x264-params", "open-gop=1:keyint=10"],
      ["-c:v", "libx264", "-preset", "ultrafast"],
      ["-c:v", "mpeg2video", "-bf", "2", "-g", "10"],
    ], [ContainerFormat.mp4, .mov])
  func everyPictureIsShownInItsTurn(codec: [String], format: ContainerFormat) throws {
    let source = try AVI(Self.picture, codec + ["-an"])
    try expectEven(try RemuxRun(source.url, to: format), like: source.url, count: 50)
  }

  @Test func packedPicturesAreTakenApart() throws {
    let source = try AVI(Self.picture, ["-c:v", "mpeg4", "-bf", "1", "-g", "12", "-an"])
    let packed = try source.rewritten { chunks in AVI.pack(chunks) }
    // The precondition: two pictures in one chunk, and a chunk that only holds a place.
    #expect(packed.chunks.contains { $0.count == AVI.placeholder.count })
    #expect(try pictureTimes(packed.url).map(\.hash) == pictureTimes(source.url).map(\.hash))
    let run = try RemuxRun(packed.url)
    try expectEven(run, like: packed.url, count: 50)
    // One picture a sample, and no mark of packed pictures left for a decoder to believe.
    #expect(try run.probe().video?.packets == 50)
    let bytes = try Data(contentsOf: run.output)
    #expect(bytes.range(of: Data("b1393p".utf8)) == nil)
  }

  @Test func soundStaysWithThePicture() throws {
    let source = try AVI(Self.picture, Self.xvid + ["-c:a", "pcm_s16le"], sound: true)
    let run = try RemuxRun(source.url, to: .mov)
    let probe = try run.probe()
    let (video, audio) = (try #require(probe.video), try #require(probe.audio))
    #expect(abs(video.start - audio.start) < 0.001)
    #expect(abs(probe.duration - 2) < 0.05)
    try expectEven(run, like: source.url, count: 50)
    #expect(run.warnings.filter { $0.stream == 0 }.map(\.warning) == [.timestampsRepaired])
    #expect(run.outcome?.plan.streams.first?.reason?.contains("rebuilt") == true)
  }

  @Test func aChunkWithoutBytesLeavesThePictureBeforeOnTheScreen() throws {
    let source = try AVI(Self.picture, ["-c:v", "mpeg4", "-bf", "0", "-g", "50", "-an"])
    let holed = try source.rewritten { chunks in
      chunks.enumerated().map { $0.offset == 10 || $0.offset == 11 ? [] : $0.element }
    }
    let run = try RemuxRun(holed.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let times = try pictureTimes(run.output)
    #expect(times.count == 48)
    #expect(zip(times, times.dropFirst()).map { $1.time - $0.time }.sorted().last == 3 * 0.04)
    #expect(abs(try run.probe().duration - 2) < 0.05)
  }

  @Test func anOrderThatContradictsItselfIsRefused() throws {
    // Every second B picture stands before the reference that it leans on.
    let source = try AVI(
      Self.picture, ["-c:v", "libx264", "-preset", "fast", "-bf", "3", "-b-pyramid", "none", "-an"])
    let mixed = try source.rewritten { chunks in
      var chunks = chunks
      for at in stride(from: 2, to: chunks.count - 18, by: 19) {
        chunks.insert(chunks.remove(at: at), at: at + 17)
      }
      return chunks
    }
    let run = try RemuxRun(mixed.url)
    #expect(run.error?.code == .cannotPassthrough, "\(String(describing: run.error))")
    #expect(run.error?.reason?.isEmpty == false)
  }

  // MARK: Indexes

  @Test func anAVIWithoutItsIndexIsReadAllTheSame() throws {
    let source = try AVI(Self.picture, Self.xvid + ["-an"])
    let bare = try source.rewritten(withIndex: false) { $0 }
    try expectEven(try RemuxRun(bare.url), like: source.url, count: 50)
  }

  // MARK: Sound

  @Test func soundOfWrongBlockSizesKeepsItsOwnTime() throws {
    // A header that takes a frame of sound for a sample: read by it, 2 s last 78 samples.
    let source = try AVI(
      Self.picture, Self.xvid + ["-c:a", "libmp3lame", "-ar", "44100"], sound: true)
    var bytes = try Data(contentsOf: source.url)
    let header = try #require(bytes.range(of: Data("auds".utf8)))
    // dwScale and dwRate (AVISTREAMHEADER), then dwSampleSize: 30625 units a second of 8.
    bytes.replaceSubrange(header.lowerBound + 20..<header.lowerBound + 24, with: [8, 0, 0, 0])
    bytes.replaceSubrange(
      header.lowerBound + 24..<header.lowerBound + 28, with: [0xA1, 0x77, 0, 0])
    let odd = source.folder.url.appendingPathComponent("odd.avi")
    try bytes.write(to: odd)
    // The precondition: the stamps by the header are far from the sound's length.
    let before = try Probe(odd).audio
    #expect(abs((Double(before?.duration ?? "") ?? 0) - 2) > 0.5)
    let run = try RemuxRun(odd)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let audio = try #require(try run.probe().audio)
    #expect(abs((Double(audio.duration ?? "") ?? 0) - 2) < 0.1)
    #expect(try soundHash(run.output) == soundHash(odd))
  }

  @Test(arguments: [["-c:a", "libmp3lame", "-q:a", "4"], ["-c:a", "ac3"], ["-c:a", "mp2"]])
  func soundOfTheUsualKindsKeepsItsLength(codec: [String]) throws {
    let source = try AVI(Self.picture, Self.xvid + codec, sound: true)
    let run = try RemuxRun(source.url)
    try #require(run.outcome != nil, "\(String(describing: run.error))")
    let audio = try #require(try run.probe().audio)
    #expect(abs((Double(audio.duration ?? "") ?? 0) - 2) < 0.1)
    #expect(abs(audio.start - (try #require(try run.probe().video).start)) < 0.03)
    #expect(try soundHash(run.output) == soundHash(source.url))
  }
}

/// The pictures of `run` are those of the source, in its order, each as long as the next.
private func expectEven(
  _ run: RemuxRun, like source: URL, count: Int, location: SourceLocation = #_sourceLocation
) throws {
  guard run.outcome != nil else {
    Issue.record("\(String(describing: run.error))", sourceLocation: location)
    return
  }
  let (before, after) = (try pictureTimes(source), try pictureTimes(run.output))
  #expect(after.count == count, sourceLocation: location)
  #expect(after.map(\.hash) == before.map(\.hash), sourceLocation: location)
  for (number, picture) in after.enumerated() {
    #expect(abs(picture.time - Double(number) * 0.04) < 0.0005, sourceLocation: location)
  }
}

/// When each decoded picture is shown, in seconds, and its hash.
private func pictureTimes(_ file: URL) throws -> [(time: Double, hash: String)] {
  let data = try run([
    "ffmpeg", "-v", "error", "-i", file.path, "-map", "0:v:0", "-fps_mode", "passthrough",
    "-enc_time_base", "1:1000", "-f", "framemd5", "-",
  ])
  return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
    let fields = line.split(separator: ",").map { $0.drop(while: { $0 == " " }) }
    guard !line.hasPrefix("#"), fields.count == 6, let time = Double(fields[2]) else { return nil }
    return (time / 1000, String(fields[5]))
  }
}

private func soundHash(_ file: URL) throws -> String {
  let data = try run([
    "ffmpeg", "-v", "error", "-i", file.path, "-map", "0:a:0", "-c", "copy", "-f", "md5", "-",
  ])
  return String(decoding: data, as: UTF8.self)
}

/// An AVI file of ffmpeg's, and what can be made of its chunks.
private struct AVI {
  let url: URL
  let folder: Scratch

  init(_ picture: String, _ codecs: [String], sound: Bool = false) throws {
    folder = try Scratch()
    url = folder.url.appendingPathComponent("film.avi")
    var arguments = ["ffmpeg", "-v", "error", "-bitexact", "-f", "lavfi", "-i", picture]
    if sound { arguments += ["-f", "lavfi", "-i", "sine=sample_rate=44100:duration=2"] }
    try run(arguments + codecs + [url.path])
  }

  private init(url: URL, folder: Scratch) {
    self.url = url
    self.folder = folder
  }

  private static func number(_ bytes: [UInt8], _ at: Int) -> Int {
    (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
  }

  private static func little(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// Where the list `movi` begins in a file, and the payloads of its picture chunks.
  private static func pictures(_ bytes: [UInt8]) -> (start: Int, chunks: [[UInt8]]) {
    var at = 12
    while at + 12 <= bytes.count {
      let size = number(bytes, at + 4)
      if Array(bytes[at + 8..<at + 12]) == Array("movi".utf8) {
        var chunks: [[UInt8]] = []
        var inner = at + 12
        while inner + 8 <= at + 8 + size {
          let length = number(bytes, inner + 4)
          if Array(bytes[inner..<inner + 4]) == Array("00dc".utf8) {
            chunks.append(Array(bytes[inner + 8..<inner + 8 + length]))
          }
          inner += 8 + length + length % 2
        }
        return (at, chunks)
      }
      at += 8 + size + size % 2
    }
    return (bytes.count, [])
  }

  var chunks: [[UInt8]] {
    Self.pictures([UInt8]((try? Data(contentsOf: url)) ?? Data())).chunks
  }

  /// The same film with other picture chunks; for one without sound.
  func rewritten(withIndex: Bool = true, _ change: ([[UInt8]]) -> [[UInt8]]) throws -> AVI {
    let bytes = [UInt8](try Data(contentsOf: url))
    let (start, chunks) = Self.pictures(bytes)
    var movi = Array("movi".utf8)
    var index: [UInt8] = []
    for (number, chunk) in change(chunks).enumerated() {
      index += Array("00dc".utf8) + Self.little(number == 0 ? 0x10 : 0)
      index += Self.little(movi.count) + Self.little(chunk.count)
      movi += Array("00dc".utf8) + Self.little(chunk.count) + chunk
      if chunk.count % 2 == 1 { movi.append(0) }
    }
    var result = Array(bytes[..<start])
    result += Array("LIST".utf8) + Self.little(movi.count) + movi
    if withIndex { result += Array("idx1".utf8) + Self.little(index.count) + index }
    result.replaceSubrange(4..<8, with: Self.little(result.count - 8))
    if !withIndex, let flags = result.firstRange(of: Array("avih".utf8)) {
      // AVIF_HASINDEX.
      result[flags.lowerBound + 20] &= ~0x10
    }
    let target = folder.url.appendingPathComponent("film-\(UUID().uuidString).avi")
    try Data(result).write(to: target)
    return AVI(url: target, folder: folder)
  }

  /// A picture that isn't coded: it keeps the place of one that came early.
  static let placeholder: [UInt8] = [0, 0, 1, 0xB6, 0x51, 0x8F, 0xFF]

  /// Puts each B picture into the chunk of the reference before it, as DivX did.
  static func pack(_ chunks: [[UInt8]]) -> [[UInt8]] {
    func isBidirectional(_ chunk: [UInt8]) -> Bool {
      chunk.count > 4 && Array(chunk[..<4]) == [0, 0, 1, 0xB6] && chunk[4] >> 6 == 2
    }
    var packed: [[UInt8]] = []
    for chunk in chunks {
      if isBidirectional(chunk), !packed.isEmpty {
        packed[packed.count - 1] += chunk
        packed.append(placeholder)
      } else {
        packed.append(chunk)
      }
    }
    // The mark by which decoders know: user data before the first picture.
    let mark = [0, 0, 1, 0xB2] + Array("DivX503b1393p".utf8)
    if let first = packed[0].firstRange(of: [0, 0, 1, 0xB6] as [UInt8]) {
      packed[0].insert(contentsOf: mark, at: first.lowerBound)
    }
    return packed
  }
}
