// What bodies that are no video are called, and that nothing else is refused.

import FetchCore
import Testing

@testable import MediaRemux

@Suite struct SourceSnifferTests {
  private static func utf16(_ text: String, high: Bool, mark: Bool) -> [UInt8] {
    ((mark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit -> [UInt8] in
      let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
      return high ? bytes : bytes.reversed()
    }
  }

  private static func message(_ head: [UInt8], size: Int64? = nil) -> String? {
    guard case .notMedia(let error) = SourceSniffer.sniff(head: head, size: size) else {
      return nil
    }
    #expect(error.code == .notMedia)
    return error.message
  }

  @Test(arguments: [
    ("<!DOCTYPE html><html><body>hi</body></html>", "web page, not a video (sign-in needed?)"),
    ("\u{FEFF}  \r\n\t<HTML lang=de>", "web page, not a video (sign-in needed?)"),
    ("<!-- a --><!-- b -->\n<html>", "web page, not a video (sign-in needed?)"),
    ("<?xml version='1.0'?><!DOCTYPE html PUBLIC \"x\"><html xmlns='y'>", "web page"),
    ("<head><title>Sign in</title>", "web page"),
    ("<script>location='/login'</script>", "web page"),
    ("Moved. <html><body>", "web page"),
    ("{\"error\":\"unauthorized\"}", "a JSON document"),
    ("\n [1, 2]", "a JSON document"),
    (
      "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>no</Message></Error>",
      "an error document (AccessDenied)"
    ),
    ("<Error><Code>No\u{1B}[31m</Code></Error>", "an error document (No)"),
    ("<?xml version='1.0'?><MPD type='static'>", "a DASH manifest, which vidfetch can't fetch yet"),
    ("<x:mpd xmlns:x='urn:mpeg:dash:schema:mpd:2011'>", "a DASH manifest"),
    ("<SmoothStreamingMedia MajorVersion='2'>", "a Smooth Streaming manifest"),
    ("<rss version='2.0'>", "an XML document"),
    ("<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG image"),
    ("#EXTM3U\n#EXT-X-VERSION:3\n", "an HLS playlist, which vidfetch can't fetch yet"),
    ("#EXTM3U\r\n#EXTINF:10,\r\na.ts", "an HLS playlist"),
    ("#EXTM3U\nhttp://a/b.mp3", "an M3U playlist"),
    ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "a Git LFS pointer"),
    ("WEBVTT\n\n00:00.000 --> 00:01.000\nhi", "subtitles"),
    ("1\r\n00:00:01,000 --> 00:00:02,000\r\nhi", "subtitles"),
    ("Not Found", "plain text"),
    ("Zugriff verweigert: größer als erlaubt", "plain text"),
    ("<", "an XML document"),
  ])
  func textIsNamed(_ text: String, _ expected: String) throws {
    let named = try #require(Self.message(Array(text.utf8)))
    #expect(named.contains(expected))
    #expect(named.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
  }

  @Test func webPageIsNamedInAnyUTF16() throws {
    for high in [true, false] {
      for mark in [true, false] {
        let head = Self.utf16("<!DOCTYPE html>\n<html>", high: high, mark: mark)
        #expect(try #require(Self.message(head)).contains("web page"))
      }
    }
  }

  @Test func emptyBodyIsSaidToBeEmpty() throws {
    #expect(Self.message([], size: 0) == "the body is empty")
    #expect(Self.message([], size: nil) == "the body is empty")
  }

  @Test(
    arguments: [
      ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0], "PNG"),
      ([0xFF, 0xD8, 0xFF, 0xE0, 0, 16], "JPEG"), (Array("GIF89a\u{1}".utf8), "GIF"),
      (Array("RIFF\u{1}\u{1}\u{0}\u{0}WEBPVP8 ".utf8), "WebP"), (Array("%PDF-1.7\n".utf8), "PDF"),
      ([0x50, 0x4B, 3, 4, 20, 0], "zip"), ([0x1F, 0x8B, 8, 0, 0], "gzip"),
      ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], "xz"), ([0x28, 0xB5, 0x2F, 0xFD, 4], "zstd"),
      ([0x7F, 0x45, 0x4C, 0x46, 2, 1, 1], "ELF"),
      ([0, 0, 0, 24] + Array("ftypheic".utf8) + [0, 0, 0, 0], "HEIF"),
    ] as [([UInt8], String)])
  func binaryFormatsAreNamed(_ head: [UInt8], _ expected: String) throws {
    #expect(try #require(Self.message(head)).contains(expected))
  }

  @Test(
    arguments: [
      (Array("\u{0}\u{0}\u{0}\u{20}ftypisom".utf8), .mp4),
      (Array("\u{0}\u{0}\u{0}\u{8}wide\u{1}\u{0}\u{0}\u{0}mdat".utf8), .mp4),
      (Array("\u{0}\u{0}\u{4}\u{0}moov\u{0}\u{0}\u{0}\u{6C}mvhd".utf8), .mp4),
      (Array("\u{0}\u{0}\u{0}\u{1}mdat\u{0}\u{0}\u{0}\u{1}".utf8), .mp4),
      (Array("\u{0}\u{0}\u{0}\u{18}stypmsdh".utf8), .mp4),
      ([0x1A, 0x45, 0xDF, 0xA3, 0x9F], .matroska), ([0, 0, 1, 0xBA, 0x44, 0, 4], .mpegPS),
      (Array("FLV\u{1}\u{5}\u{0}\u{0}\u{0}\u{9}".utf8), .flv),
      (Array("RIFF\u{1}\u{0}\u{0}\u{0}AVI LIST".utf8), .avi),
      (Array("RF64\u{1}\u{0}\u{0}\u{0}WAVEds64".utf8), .wav),
      (Array("OggS\u{0}\u{2}".utf8), .ogg), (ASFObject.header, .asf),
      (Array("ID3\u{3}\u{0}\u{0}\u{0}\u{0}\u{8}\u{0}".utf8), .mp3),
      (Array("fLaC\u{0}\u{0}\u{0}\u{22}".utf8), .flac), (Array("#!AMR\n\u{3C}\u{8}".utf8), .amr),
      ([0, 0, 0, 1, 0x67, 0x64, 0, 0x1E], .other),
    ] as [([UInt8], ContainerKind)])
  func mediaIsRecognised(_ head: [UInt8], _ kind: ContainerKind) {
    #expect(SourceSniffer.sniff(head: head, size: nil) == .media(kind))
  }

  @Test(arguments: [188, 192, 204], [0, 1, 77, 500])
  func transportStreamIsRecognisedBehindJunk(_ packet: Int, _ junk: Int) {
    var head = [UInt8](repeating: 0xAA, count: junk)
    for _ in 0..<12 {
      head += (packet == 192 ? [1, 2, 3, 4] : []) + [0x47, 0x40, 0, 0x10]
      head += [UInt8](repeating: 0xFE, count: packet - (packet == 192 ? 8 : 4))
    }
    #expect(SourceSniffer.sniff(head: head, size: nil) == .media(.mpegTS))
  }

  @Test func taggedAACIsNotTakenForMP3() throws {
    var head = Array("ID3\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}\u{5}abcde".utf8)
    head += try StructureFixture.named("plain.aac").bytes().prefix(4000)
    #expect(SourceSniffer.sniff(head: head, size: nil) == .media(.adts))
  }

  @Test func randomBytesAreLeftToTheDemuxer() {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<500 {
      let head = (0..<512).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      guard case .media = SourceSniffer.sniff(head: head, size: nil) else {
        Issue.record("refused \(head.prefix(16))")
        continue
      }
    }
  }

  @Test func anyShortHeadIsHandled() {
    var generator = SeededGenerator(seed: 2)
    let starts = [
      "ID3", "RIFF", "ftyp", "<", "<!--", "<?", "{", "\u{0}\u{0}\u{0}\u{18}ftyp", "FLV",
    ]
    for start in starts {
      for count in 0..<24 {
        let noise = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        _ = SourceSniffer.sniff(head: Array(start.utf8) + noise, size: nil)
      }
    }
  }
}
