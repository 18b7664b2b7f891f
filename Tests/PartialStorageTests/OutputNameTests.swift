import FetchCore
import PartialStorage
import Testing

@Suite struct OutputNameTests {
  @Test(arguments: [
    ("clip.mp4", "clip.mp4"), ("../../escaped.mp4", "escaped.mp4"),
    ("/tmp/absolute.mp4", "absolute.mp4"),
    ("..\\..\\back.mp4", "back.mp4"), (".bashrc", "bashrc.mp4"), ("-y.mp4", "y.mp4"),
    ("part: one.mp4", "part: one.mp4"), ("100%03d.mp4", "100%03d.mp4"),
    ("  lead and trail .mp4 ", "lead and trail.mp4"), ("no extension", "no extension.mp4"),
    ("setup.exe", "setup.mp4"), ("video.php", "video.mp4"), ("a.tar.gz", "a.tar.mp4"),
    ("v1.2", "v1.2.mp4"), ("Part 1. Intro", "Part 1. Intro.mp4"), ("film.webm", "film.mp4"),
    ("a\nb\u{7}c\u{1B}[31m.mp4", "abc[31m.mp4"), ("a\0.mp4", "a.mp4"),
    ("clip\u{202E}4pm.exe.mp4", "clip4pm.exe.mp4"), ("映像.mp4", "映像.mp4"), ("x...", "x.mp4"),
  ])
  func proposalBecomesASafeName(proposal: String, name: String) {
    #expect(OutputName.name(from: [proposal], format: .mp4) == name)
  }

  @Test(
    arguments: [
      ("v1.cut", "v1.cut"), ("a.mp4", "a.mp4"), ("..a", "a"), ("-y", "y"), (" a. ", "a"),
      ("a/b\\c", "a-b-c"), ("a/\u{301}b", "a-\u{301}b"), ("../x", "x"), ("a\0\u{202E}b", "ab"),
      ("..", nil), ("", nil), ("\u{1}", nil),
    ] as [(String, String?)])
  func textThatIsMeantAsAStemKeepsItsDots(text: String, stem: String?) {
    #expect(OutputName.component(text) == stem)
  }

  @Test func slashWithAnAccentIsASlash() {
    #expect(OutputName.name(from: ["up/\u{301}x.mp4"], format: .mp4).utf8.contains(0x2F) == false)
  }

  @Test(arguments: ["", ".", "..", "/", "...", "-", "--", " ", "\u{202E}", "\u{FFFD}"])
  func uselessProposalGivesWayToTheNext(proposal: String) {
    #expect(OutputName.name(from: [proposal, nil, "plain.mp4"], format: .mov) == "plain.mov")
    #expect(OutputName.name(from: [proposal], format: .mp4) == "video.mp4")
  }

  @Test func longNamesAreCutBetweenCharacters() throws {
    let long = OutputName.name(from: [String(repeating: "映", count: 300)], format: .mp4)
    #expect(long.utf8.count <= 204 && long.hasSuffix("映.mp4"))
    let accents = OutputName.name(
      from: [String(repeating: "e\u{301}", count: 200)], format: .mp4)
    #expect(accents.utf8.count <= 204 && accents.hasSuffix("e\u{301}.mp4"))
    #expect(OutputName.numbered(long, 10_000).utf8.count <= 255)
  }

  @Test func anythingAtAllBecomesOneSafeComponent() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<5000 {
      let count = Int.random(in: 0..<40, using: &random)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let proposal = String(decoding: bytes, as: UTF8.self)
      let name = OutputName.name(from: [proposal], format: .mp4)
      #expect(name.hasSuffix(".mp4") && name.utf8.count <= 255 && name.utf8.count > 4)
      #expect(!name.contains("/") && !name.utf8.contains(0))
      #expect(name.first != "." && name.first != "-")
      #expect(
        !name.unicodeScalars.contains {
          [.control, .format].contains($0.properties.generalCategory)
        }
      )
    }
  }

  @Test func numbersStandBeforeTheExtension() {
    #expect(OutputName.numbered("intro.mp4", 1) == "intro.mp4")
    #expect(OutputName.numbered("intro.mp4", 2) == "intro-2.mp4")
    #expect(OutputName.isNumbered("intro-12.mp4", of: "intro.mp4"))
    #expect(OutputName.isNumbered("intro.mp4", of: "intro.mp4"))
    #expect(!OutputName.isNumbered("intro-x.mp4", of: "intro.mp4"))
    #expect(!OutputName.isNumbered("intro-.mp4", of: "intro.mp4"))
    #expect(!OutputName.isNumbered("outro.mp4", of: "intro.mp4"))
  }

  @Test func sourceKeepsAPlainExtensionOnly() {
    #expect(OutputName.sourceName(for: "intro.mp4", source: "x/clip.MKV") == "intro.source.mkv")
    #expect(OutputName.sourceName(for: "intro.mp4", source: "clip") == "intro.source.bin")
    #expect(OutputName.sourceName(for: "intro", source: "c.m\u{301}p4") == "intro.source.bin")
  }
}
