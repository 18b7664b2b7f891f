import FetchCore
import Testing

@testable import VidFetchKit

@Suite struct NameTemplateTests {
  private func name(
    _ template: String, title: String? = "intro", source: String = "https://example.com/a.mkv",
    format: ContainerFormat = .mp4, index: Int = 7
  ) throws -> String {
    try NameTemplate(template).name(
      of: .init(SourceIdentity(source), format, index: index), title: title)
  }

  @Test(arguments: [
    ("{title}", "intro.mp4"), ("{title}.{ext}", "intro.mp4"), ("{title}.mp4", "intro.mp4"),
    ("{title}.MP4", "intro.mp4"), ("{title}.v2", "intro.v2.mp4"), ("{title}.mov", "intro.mov.mp4"),
    ("{index}", "7.mp4"), ("{index:05}-{title}", "00007-intro.mp4"), ("{index:1}", "7.mp4"),
    ("{host} {ext}", "example.com mp4.mp4"), ("{{{title}}}", "{intro}.mp4"), ("x", "x.mp4"),
    ("..{title}", "intro.mp4"), ("-{title}", "intro.mp4"), ("{title}\u{1B}[2J", "intro[2J.mp4"),
    ("{title}. ", "intro.mp4"), (".{ext}", "video.mp4"),
  ])
  func fieldsAreFilledAndTheExtensionIsAlwaysThere(template: String, expected: String) throws {
    #expect(try name(template) == expected)
  }

  @Test func idIsThatOfThePart() throws {
    let id = SourceIdentity("https://example.com/a.mkv").key
    #expect(id.count == 16)
    #expect(try name("{id}") == "\(id).mp4")
    #expect(try name("{id}", source: "https://EXAMPLE.com/%61.mkv") == "\(id).mp4")
  }

  @Test func localFileHasNoHost() throws {
    #expect(try name("{host}{title}", source: "/srv/a.mkv") == "intro.mp4")
    #expect(try name("{host}", source: "/srv/a.mkv") == "video.mp4")
    #expect(try name("{host}", source: "http://[::1]:8080/a") == "::1.mp4")
  }

  @Test func formatGivesTheExtension() throws {
    #expect(try name("{title}.{ext}", format: .mov) == "intro.mov")
    #expect(try name("{title}.mp4", format: .mov) == "intro.mp4.mov")
  }

  @Test func whatComesFromOutsideNeverLeavesTheFolder() throws {
    #expect(try name("{title}", title: "../../etc/passwd") == "etc-passwd.mp4")
    let long = try name("{title}-{title}", title: String(repeating: "ü", count: 150))
    #expect(long.utf8.count <= 204 && long.hasSuffix("ü.mp4"))
  }

  @Test(
    arguments: [
      ("", "is empty", nil), ("{titel}", "not {titel}", "{title}"),
      ("{Title}", "{Title}", "{title}"),
      ("{}", "not {}", nil), ("{date}", "not {date}", nil), ("{title", "without its '}'", "'{{'"),
      ("title}", "without its '{'", "'}}'"), ("a/{title}", "not a path", "--directory"),
      ("a\\b", "not a path", "--directory"), ("a/\u{301}b", "not a path", "--directory"),
      ("{index:}", "{index:05}", nil), ("{index:0}", "{index:05}", nil),
      ("{index:19}", "{index:05}", nil), ("{index:x}", "{index:05}", nil),
      ("{index:1:2}", "not {index:1:2}", "{index}"), ("{title:3}", "not {title:3}", "{title}"),
    ] as [(String, String, String?)])
  func whatIsNoTemplateSaysWhatWasMeant(template: String, why: String, meant: String?) {
    do {
      _ = try NameTemplate(template)
      Issue.record("\(template) was taken")
    } catch {
      #expect(error.code == .usage)
      #expect(error.message.contains(why), "\(error.message)")
      #expect(meant.map { error.recovery?.contains($0) == true } ?? (error.recovery == nil))
    }
  }

  @Test func onlyTheTitleWaitsForTheServer() throws {
    #expect(try NameTemplate("{index}-{title}").namesTitle)
    #expect(try !NameTemplate("{index}-{id}-{host}.{ext}").namesTitle)
    #expect(try NameTemplate("{index}").namesItem)
    #expect(try !NameTemplate("{host}.{ext}").namesItem)
  }
}
