// What people type for languages and streams, and what a file's tags are after edits.

import FetchCore
import Testing

@Suite("Stream selection")
struct StreamSelectionTests {
  @Test(arguments: [
    ("en", "eng"), ("eng", "eng"), ("EN-gb", "eng"), ("de", "deu"), ("ger", "deu"),
    ("fre", "fra"), ("zh-Hant", "zho"), ("chi", "zho"), ("pt_BR", "por"), ("und", "und"),
    ("", "und"), ("qaa", "qaa"), ("xx", "xx"), ("mis", "mis"),
  ])
  func bringsEveryWritingOfALanguageToOneCode(text: String, code: String) {
    #expect(LanguageCode(text).code == code)
    #expect(LanguageCode(text).isWellFormed)
  }

  @Test(arguments: ["e", "english", "e1", "?", "..", "ée"])
  func tellsWhatIsNoLanguage(text: String) {
    #expect(!LanguageCode(text).isWellFormed)
  }

  @Test func takesNumbersKindsAndPlaces() {
    #expect(StreamSelection.Specifier("0") == .index(0))
    #expect(StreamSelection.Specifier("17") == .index(17))
    #expect(StreamSelection.Specifier("v") == .kind(.video))
    #expect(StreamSelection.Specifier("audio:1") == .kind(.audio, ordinal: 1))
    #expect(StreamSelection.Specifier("S:0") == .kind(.subtitle, ordinal: 0))
    #expect(StreamSelection.Specifier("a:1")?.text == "audio:1")
  }

  @Test(arguments: [
    "", "x", "-1", "+1", "1.5", "v:", ":0", "v:a", "v:0:1", "0:v", "12345678", " 1",
  ])
  func refusesOtherWords(text: String) {
    #expect(StreamSelection.Specifier(text) == nil)
  }

  @Test func saysWhichTagsAreLeftAfterEdits() {
    var edits = MetadataEdits()
    edits.changes = [
      .init(key: "Title", value: "new"), .init(key: "artist", value: ""),
      .init(key: "rating", value: "5"),
    ]
    #expect(edits.keys(after: ["title", "artist", "date"]) == ["date", "Title", "rating"])
    edits.strips = true
    #expect(edits.keys(after: ["title", "artist", "date"]) == ["Title", "rating"])
  }
}
