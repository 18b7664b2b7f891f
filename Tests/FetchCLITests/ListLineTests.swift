import FetchCLI
import FetchCore
import Testing

@Suite struct ListLineTests {
  private func parse(_ text: String, number: Int = 2) -> ListLine {
    ListLine.parse(Array(text.utf8)[...], number: number)
  }

  private func item(_ text: String) throws -> ListEntry {
    guard case .item(let entry) = parse(text) else {
      throw UsageError("no item: \(parse(text))")
    }
    return entry
  }

  private func complaint(_ text: String) -> String? {
    guard case .bad(let message) = parse(text) else { return nil }
    return message
  }

  @Test(arguments: ["", " ", "\t", " \t \r", "# https://a/b", "  # x", "\r"])
  func blankLinesAndCommentsAreNothing(line: String) {
    #expect(parse(line) == .nothing)
  }

  @Test func markAtTheBeginningOfTheFileDoesNotCount() {
    #expect(parse("\u{FEFF}https://a/b", number: 1) == .item(ListEntry(source: "https://a/b")))
    #expect(parse("\u{FEFF}# x", number: 1) == .nothing)
    #expect(parse("\u{FEFF}", number: 1) == .nothing)
    #expect(
      parse("\u{FEFF}https://a/b", number: 2)
        == .item(ListEntry(source: "\u{FEFF}https://a/b")))
  }

  @Test(arguments: [
    "https://a/b", "  https://a/b  ", "https://a/b\r", "https://a/b\t", "https://a/b\t \t\r",
  ])
  func urlStandsAlone(line: String) {
    #expect(parse(line) == .item(ListEntry(source: "https://a/b")))
  }

  @Test func fragmentsSpacesAndOptionsAreDataOfTheURL() throws {
    #expect(try item("https://a/b c#d").source == "https://a/b c#d")
    #expect(try item("-o x").source == "-o x")
    #expect(try item("--overwrite").source == "--overwrite")
    #expect(try item("@file").source == "@file")
  }

  @Test(arguments: [
    ("-o x", true), ("not a url", true), ("films/a.mkv", false), ("films/my film.mkv", true),
    ("https://a/b c", false),
  ])
  func wordsThatMayBeNoPathAreTold(source: String, isDoubtful: Bool) throws {
    #expect(try item(source).isDoubtfulPath == isDoubtful)
  }

  @Test(
    arguments: [
      ("https://a/b\tfilm", "film.mp4", nil), ("https://a/b\t film \r", "film.mp4", nil),
      ("https://a/b\tfilm.mov", "film.mov", .mov), ("https://a/b\tfilm.QT", "film.qt", .mov),
      ("https://a/b\tv1.cut", "v1.cut.mp4", nil), ("https://a/b\t.hidden.m4v", "hidden.m4v", .mp4),
      ("https://a/b\t-y", "y.mp4", nil), ("https://a/b\ta.mkv", "a.mkv.mp4", nil),
    ] as [(String, String, ContainerFormat?)])
  func secondColumnNamesTheResult(line: String, name: String, format: ContainerFormat?) throws {
    let entry = try item(line)
    #expect(entry.source == "https://a/b")
    #expect(entry.name?.fileName(format ?? .mp4) == name)
    #expect(entry.format == format)
  }

  @Test(arguments: [
    ("https://a/b\ta/b", "path"), ("https://a/b\t../a", "path"), ("https://a/b\ta\\b", "path"),
    ("https://a/b\ta/\u{301}b", "path"), ("https://a/b\t..", "nothing"),
    ("https://a/b\t.mp4", "nothing"), ("https://a/b\ta\tb", "columns"), ("\tname", "no URL"),
    ("https://a/\u{1}", "control"), ("https://a\0", "NUL"),
    (String(repeating: "x", count: ListLine.longest + 1), "1 MiB"),
  ])
  func whatIsNoItemSaysWhy(line: String, why: String) {
    #expect(complaint(line)?.contains(why) == true, "\(complaint(line) ?? "an item")")
  }

  @Test func bytesThatAreNoTextAreBad() {
    #expect(
      ListLine.parse([0x68, 0xFF][...], number: 1) == .bad("the line is not valid UTF-8"))
  }

  @Test func objectSaysEverythingThatOptionsSay() throws {
    let digest = String(repeating: "Ab", count: 32)
    let entry = try item(
      """
      {"url": "https://a/b", "name": "film", "format": "mov", "headers": {"X-B": "2", "X-A": "1"}, \
      "cookies": ["a=1", "b=2"], "user_agent": "me", "referer": "https://r/", \
      "checksum": "SHA256:\(digest)", "audio": ["en", "deu"], "subtitles": "none", \
      "metadata": {"title": "Intro"}}
      """)
    var expected = ListEntry(source: "https://a/b")
    expected.name = try ListName("film")
    expected.format = .mov
    expected.headers = [HeaderField(name: "X-A", value: "1"), HeaderField(name: "X-B", value: "2")]
    expected.cookies = ["a=1", "b=2"]
    expected.userAgent = "me"
    expected.referer = "https://r/"
    expected.checksum = Checksum(.sha256, digest: digest.lowercased())
    expected.audio = [LanguageCode("en"), LanguageCode("de")]
    expected.subtitles = StreamSelection.ByLanguage.none
    expected.metadata = [.init(key: "title", value: "Intro")]
    #expect(entry == expected)
  }

  @Test(arguments: [
    #"{"url":"u","headers":["A: 1","B: 2"]}"#, #"{"url":"u","headers":{"A":"1","B":"2"}}"#,
  ])
  func headersAreAnObjectOrLines(line: String) throws {
    #expect(
      try item(line).headers
        == [HeaderField(name: "A", value: "1"), HeaderField(name: "B", value: "2")])
  }

  @Test(arguments: [
    #"{"url":"u","streams":"0,a:1"}"#, #"{"url":"u","streams":["0","a:1"]}"#,
    #"{"url":"u","streams":[0,"a:1"]}"#,
  ])
  func streamsAreAsTheOptionTakesThem(line: String) throws {
    #expect(try item(line).streams == [.index(0), .kind(.audio, ordinal: 1)])
  }

  @Test func nullAndFalseSayNothing() throws {
    let line = #"{"url":"u","name":null,"no_audio":false,"headers":null,"streams":null}"#
    #expect(try item(line) == ListEntry(source: "u"))
    #expect(try item(#"{"url":"u","no_audio":true}"#).noAudio)
    #expect(try item(#"{"url":"u","name":"a.mov"}"#).format == .mov)
  }

  @Test(arguments: [
    (#"{"url":"u""#, "not a valid JSON"), (#"{"url":"u"} x"#, "not a valid JSON"),
    (#"{}"#, "\"url\""), (#"{"url":""}"#, "\"url\""), (#"{"url":7}"#, "\"url\" needs a text"),
    (#"{"url":"u","nam":"x"}"#, "did you mean \"name\""), (#"{"url":"u","o":"x"}"#, "\"o\""),
    (#"{"url":"u","name":"a/b"}"#, "path"), (#"{"url":"u","name":["a"]}"#, "\"name\""),
    (#"{"url":"u","format":"mkv"}"#, "\"format\" knows"),
    (#"{"url":"u","format":"mp4","name":"a.mov"}"#, "contradict"),
    (#"{"url":"u","headers":{"Range":"bytes=0-"}}"#, "\"headers\" can't set Range"),
    (#"{"url":"u","headers":{"A":1}}"#, "\"headers\" needs"),
    (#"{"url":"u","headers":["@/etc/passwd"]}"#, "\"headers\" needs"),
    (#"{"url":"u","headers":{"A":"b\r\nC: d"}}"#, "control"),
    (#"{"url":"u","cookies":"@jar"}"#, "\"cookies\" needs"),
    (#"{"url":"u","checksum":"sha256:ab"}"#, "\"checksum\" needs 64"),
    (#"{"url":"u","checksum":"crc:ab"}"#, "\"checksum\" knows"),
    (#"{"url":"u","audio":"english"}"#, "\"audio\" needs"),
    (#"{"url":"u","no_audio":"yes"}"#, "\"no_audio\" needs"),
    (#"{"url":"u","audio":"en","no_audio":true}"#, "contradict"),
    (#"{"url":"u","streams":"0","subtitles":"all"}"#, "contradict"),
    (#"{"url":"u","streams":"x"}"#, "\"streams\" needs"),
    (#"{"url":"u","streams":{"a":1}}"#, "\"streams\" needs"),
    (#"{"url":"u\u0000"}"#, "control"), (#"{"url":"u","user_agent":"a\nb"}"#, "control"),
    (#"{"url":"u","metadata":"title=x"}"#, "\"metadata\" needs"),
  ])
  func badObjectNamesItsKey(line: String, why: String) {
    #expect(complaint(line)?.contains(why) == true, "\(complaint(line) ?? "an item")")
  }

  @Test func complaintsNeverRepeatWhatMayBeSecret() {
    for line in [
      #"{"url":"u","headers":["hunter2"]}"#, #"{"url":"u","headers":{"Host":"hunter2"}}"#,
      #"{"url":"u","cookies":"hunter2"}"#, #"{"url":"u","headers":{"A":"hunter2\u0001"}}"#,
    ] {
      #expect(complaint(line)?.contains("hunter2") == false)
    }
  }
}
