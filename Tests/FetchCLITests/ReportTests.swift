import FetchCore
import Foundation
import TestSupport
import Testing

@testable import FetchCLI

private func line(_ text: String) -> RecordedLine {
  Array(text.utf8).withUnsafeBytes { RecordedLine($0) }
}

private func contents(_ lines: [String], mostSuccesses: Int = .max) -> ReportContents {
  var merge = ResultsMerge(mostSuccesses: mostSuccesses)
  for text in lines { merge.add(line(text)) }
  return merge.contents
}

/// A result with only what is given.
private func result(_ url: String, _ code: String = "ok", _ more: String = "") -> String {
  #"{"v":1,"event":"result","job":1,"url":"\#(url)","code":"\#(code)","format":"mp4"\#(more)}"#
}

/// A run of two machines, and one that made up for a part of what had failed.
private let runs = contents([
  result(
    "https://example.com/films/one.mp4", "ok",
    #","path":"/films/one.mp4","bytes":45600000,"duration":3725.5,"exit":0,"#
      + #""time":"2026-11-30T13:58:57.123Z","host":"a""#),
  result(
    "https://example.com/films/two.mp4", "network",
    #","exit":10,"message":"reset by peer","time":"2026-11-30T13:59:01Z","host":"b""#),
  result("https://example.com/films/three.mp4", "ok", #","skipped":"exists","bytes":1000"#),
  result(
    "https://example.com/films/映像.mp4", "busy",
    #","exit":11,"message":"503 Service Unavailable","retry_after":30,"host":"b","#
      + #""recovery":"try again in 30 s""#),
  result(
    "https://example.com/a|b`c<script>alert(1)</script>&amp;.mp4", "not-found",
    #","exit":20,"message":"404 Not Found","recovery":"check the URL *or* [ask](http://x)""#),
  result(
    "https://example.com/signed.mp4?token=…", "denied",
    #","exit":21,"message":"403 \u001b[31mForbidden\u202e","list":"films.txt","line":17"#),
  result(
    "https://example.com/films/web.webm", "cannot-passthrough",
    #","exit":32,"message":"mp4 can't hold vorbis","reason":"stream 1 is vorbis","#
      + #""recovery":"choose streams that it can hold: --streams 0","name":"web film""#),
  result(
    "https://example.com/films/two.mp4", "ok",
    #","exit":0,"path":"/films/two.mp4","bytes":2000,"time":"2026-11-30T14:20:00Z","host":"a""#),
  result("https://example.com/new.mp4", "too-strange", #","exit":77,"message":"?""#),
  "{\"v\":1,\"event\":\"res",
])

@Suite struct ReportFormTests {
  private func snapshot(_ name: String) throws -> String {
    let file = repositoryFile("Tests/FetchCLITests/Snapshots/\(name)")
    return try String(contentsOf: file, encoding: .utf8)
  }

  @Test(arguments: [80, 40])
  func tableIsWhatIsStored(width: Int) throws {
    let text = ReportTable.text(runs, width: width)
    #expect(try snapshot("report-\(width).txt") == text, "\(text)")
  }

  @Test func markdownIsWhatIsStored() throws {
    let text = ReportMarkdown.text(runs)
    #expect(try snapshot("report.md") == text, "\(text)")
  }

  @Test func pageIsWhatIsStored() throws {
    let text = ReportPage(runs).text
    #expect(try snapshot("report.html") == text, "\(text)")
  }

  @Test func failedListIsWhatIsStored() throws {
    let text = FailedList.text(runs)
    #expect(try snapshot("failed-list.txt") == text, "\(text)")
  }

  @Test func nothingIsAReportToo() {
    let nothing = ReportContents()
    #expect(ReportTable.text(nothing, width: 80) == "no results\n")
    #expect(ReportMarkdown.text(nothing) == "## vidfetch: no results\n")
    #expect(FailedList.text(nothing) == "")
    #expect(ReportPage(nothing).text.contains("<h1>no results</h1>"))
  }

  @Test func aListWithoutFailuresIsEmpty() {
    #expect(FailedList.text(contents([result("https://h/a.mp4")])) == "")
  }

  @Test func noLineIsWiderThanTheScreen() {
    for width in 24...130 {
      for line in ReportTable.text(runs, width: width).split(separator: "\n") {
        #expect(DisplayWidth.of(String(line)) <= width, "\(width): \(line)")
      }
    }
  }

  @Test func nothingFromOutsideReachesATerminalRaw() {
    for text in [
      ReportTable.text(runs, width: 80), ReportMarkdown.text(runs), FailedList.text(runs),
      ReportPage(runs).text,
    ] {
      #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !Printable.isUnsafe($0) })
      #expect(text.contains("\\u{1b}") || text.contains("&#92;u{1b}") || text.contains("secrets"))
    }
  }

  /// The parser is Python's, so that the page is read as others read it.
  @Test func thePageHasNoMarkupFromOutside() throws {
    let scratch = try ScratchDirectory()
    let page = ReportPage(runs, picture: { _ in "data:image/png;base64,AA==" }).text
    try scratch.write("page.html", page)
    let script = """
      import html.parser, sys
      class Reader(html.parser.HTMLParser):
          def handle_starttag(self, tag, attributes):
              for name, value in attributes:
                  outside = value and ("//" in value) and not (tag == "a" and name == "href")
                  if tag in ("script", "link", "iframe") or name.startswith("on") or outside:
                      print(tag, attributes)
      Reader().feed(open(sys.argv[1]).read())
      """
    #expect(try outputOfTool(["/usr/bin/python3", "-c", script, scratch.file("page.html")]) == "")
    #expect(!page.contains("url(") && !page.contains("@import"))
  }

  @Test func onlyWebAddressesThatAreWholeAreLinks() {
    for (url, isLink) in [
      ("https://h/a.mp4", true), ("HTTP://h/a.mp4", true), ("javascript:alert(1)", false),
      ("https:a", false), ("data:text/html,x", false), ("/films/a.mp4", false),
      ("https://h/a.mp4?sig=…", false), ("file:///a.mp4", false), ("", false),
    ] {
      let page = ReportPage(contents([result(url, "network")])).text
      #expect(page.contains("<a ") == isLink, "\(url)")
    }
  }

  @Test func markdownStaysBelowWhatAStepMayWrite() {
    let long = String(repeating: "x|", count: 500)
    let many = contents((0..<3000).map { result("https://h/\($0)\(long)", "network") })
    let text = ReportMarkdown.text(many)
    #expect(text.utf8.count < 1_000_000)
    #expect(text.contains("| network | 3000 |"))
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| <code>") }.count
    #expect(rows > 100 && text.hasSuffix("\nand \(3000 - rows) more\n"))
  }

  @Test func aPageNamesSoManyAndCountsTheRest() {
    let many = contents((0..<10_002).map { result("https://h/\($0)") })
    let page = ReportPage(many).text
    #expect(page.ranges(of: "<li class=\"ok\">").count == 10_001)
    #expect(page.contains("and 2 more") && page.contains("all 10002 items are done"))
  }
}

@Suite struct FailedListTests {
  @Test(arguments: [
    ("https://h/a.mp4", #""#, "https://h/a.mp4"),
    (
      "https://h/a.mp4", #","name":"film""#,
      #"{"url":"https://h/a.mp4","name":"film","format":"mp4"}"#
    ),
    ("#a.mp4", "", ##"{"url":"#a.mp4","format":"mp4"}"##),
    ("{a}.mp4", "", #"{"url":"{a}.mp4","format":"mp4"}"#),
    (" a.mp4", "", #"{"url":" a.mp4","format":"mp4"}"#),
    (#"a\tb.mp4"#, "", #"{"url":"a\tb.mp4","format":"mp4"}"#),
    (#"\ufeffa.mp4"#, "", #"{"url":"\ufeffa.mp4","format":"mp4"}"#),
    ("", "", #"{"url":"","format":"mp4"}"#),
    ("-o.mp4", "", "-o.mp4"),
    ("https://h/…", #","redacted":false"#, "https://h/…"),
    (
      "https://h/a.mp4", #","redacted":true"#,
      "# secrets were taken out of https://h/a.mp4; fetch it again from where it came from"
    ),
    (
      "https://h/?sig=…", #","list":"l","line":3"#,
      "# secrets were taken out of https://h/?sig=…; fetch it again from line 3 of l"
    ),
  ])
  func aLineMeansWhatTheItemWas(url: String, more: String, expected: String) throws {
    let failed = contents([result(url, "network", more)])
    #expect(FailedList.line(try #require(failed.failures.first?.items.first)) == expected)
  }
}

@Suite struct ResultsMergeTests {
  private func outcome(_ lines: [String]) -> String {
    let contents = contents(lines)
    return "\(contents.ok) \(contents.skipped) \(contents.failed)"
  }

  @Test func theLastOutcomeCounts() {
    #expect(outcome([result("a", "network"), result("a")]) == "1 0 0")
    #expect(outcome([result("a"), result("a", "network")]) == "0 0 1")
    #expect(
      outcome([result("a", "network"), result("a", "ok", #","skipped":"archive""#)]) == "0 1 0")
  }

  @Test func theLaterTimeBeatsTheLaterLine() {
    let early = #","time":"2026-11-30T10:00:00.500Z""#
    let late = #","time":"2026-11-30T12:00:00+01:00""#
    #expect(outcome([result("a", "ok", late), result("a", "network", early)]) == "1 0 0")
    #expect(outcome([result("a", "network", early), result("a", "ok", late)]) == "1 0 0")
    #expect(outcome([result("a", "network", late), result("a", "ok", late)]) == "1 0 0")
    #expect(outcome([result("a", "network", late), result("a", "ok")]) == "1 0 0")
  }

  /// A list that names an item twice says nothing about how its fetch ended.
  @Test func aDuplicateHidesNothing() {
    let duplicate = result("a", "ok", #","skipped":"duplicate","time":"2027-01-01T00:00:00Z""#)
    let failure = result("a", "network", #","time":"2026-01-01T00:00:00Z""#)
    #expect(outcome([failure, duplicate]) == "0 0 1")
    #expect(outcome([duplicate, failure]) == "0 0 1")
    #expect(outcome([duplicate, duplicate]) == "0 1 0")
  }

  @Test func itemsDifferByFormatNameAndWhatSecretsHide() {
    let mov = result("a").replacing("mp4", with: "mov")
    #expect(outcome([result("a"), mov]) == "2 0 0")
    #expect(outcome([result("a", "ok", #","name":"x""#), result("a")]) == "2 0 0")
    let one = result("h?key=…", "network", #","id":"0123456789abcdef""#)
    let other = result("h?key=…", "ok", #","id":"fedcba9876543210""#)
    #expect(outcome([one, other]) == "1 0 1")
  }

  @Test func soManySuccessesAreNamedAndAllAreCounted() {
    let skipped = (0..<3).map { result("s\($0)", "ok", #","skipped":"exists""#) }
    let lines = (0..<4).map { result("\($0)") } + skipped + [result("0", "network"), result("9")]
    let few = contents(lines, mostSuccesses: 2)
    #expect(few.successes.map(\.url) == ["1", "s0", "s1", "9"])
    #expect((few.ok, few.skipped, few.failed) == (4, 3, 1))
    #expect(contents(lines, mostSuccesses: 0).successes == [])
  }

  @Test func failuresStandInTheOrderOfTheirExitStatus() {
    let contents = contents([
      result("e", "new-code", #","exit":15"#), result("d", "signal", #","exit":130"#),
      result("c", "damaged"), result("b", "network"), result("a", "network"), result("f", "odd"),
    ])
    #expect(contents.failures.map(\.code) == ["network", "new-code", "damaged", "signal", "odd"])
    #expect(contents.failures[0].items.map(\.url) == ["b", "a"])
    #expect(contents.failures.map(\.advice).prefix(2) == ["worth a re-run", "worth a re-run"])
  }

  @Test(arguments: [
    "", "x", "[]", "null", "1", "{}", #"{"v":1}"#, #"{"v":1,"event":"result"}"#,
    #"{"v":2,"event":"result","url":"u","code":"ok"}"#,
    #"{"v":1,"event":"result","url":1,"code":"ok"}"#,
    #"{"v":1,"event":"result","url":"u","code":"ok""#,
    #"{"v":1,"event":"result","url":"u","code":"ok"}{"#,
    String(repeating: "[", count: 100_000), "\u{FEFF}{}", "{\"v\":1,\"event\":\"result\0",
  ])
  func whatIsNoResultIsUnreadable(text: String) {
    #expect(line(text) == .unreadable)
    #expect(contents([text, result("a")]).unreadable == 1)
  }

  @Test func bytesThatAreNoUnicodeAreUnreadable() {
    let bytes: [UInt8] =
      Array(#"{"v":1,"event":"result","code":"ok","url":""#.utf8) + [0xFF, 0x22, 0x7D]
    #expect(bytes.withUnsafeBytes { RecordedLine($0) } == .unreadable)
  }

  @Test func oddValuesAreAbsent() {
    let text = result(
      "u", "ok",
      #","exit":"x","bytes":-1,"path":[],"duration":null,"time":"yesterday","line":1.5,"host":{}"#)
    guard case .result(let read) = line(text) else {
      Issue.record("not read")
      return
    }
    var expected = RecordedResult(url: "u", code: "ok")
    expected.format = "mp4"
    #expect(read == expected)
  }

  @Test func otherEventsAreNoTrouble() {
    #expect(line(#"{"v":1,"event":"progress","job":1,"stage":"x","bytes":0}"#) == .otherEvent)
    #expect(line(#"{"v":1,"event":"summary","job":"batch"}"#) == .otherEvent)
  }

  @Test func sizesAddUpToWhatANumberCanHold() {
    let huge = #","bytes":9223372036854775807"#
    #expect(contents([result("a", "ok", huge), result("b", "ok", huge)]).bytes == .max)
  }
}

@Suite struct LineSplitterTests {
  private func lines(_ text: String, blocks size: Int) -> [String?] {
    var splitter = LineSplitter()
    var lines: [String?] = []
    let bytes = Array(text.utf8)
    func take(_ line: UnsafeRawBufferPointer?) {
      lines.append(line.map { String(decoding: $0, as: UTF8.self) })
    }
    for start in stride(from: 0, to: bytes.count, by: size) {
      bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { splitter.feed($0, take) }
    }
    splitter.finish(take)
    return lines
  }

  @Test func blocksCutNoLine() {
    for size in 1...9 {
      #expect(lines("ab\n\ncde\nfghijkl", blocks: size) == ["ab", "", "cde", "fghijkl"])
      #expect(lines("ab\n", blocks: size) == ["ab"])
      #expect(lines("", blocks: size) == [])
    }
  }

  @Test func aLineThatIsTooLongIsNotHeld() {
    let long = String(repeating: "x", count: LineSplitter.longest + 1)
    for size in [65_536, long.utf8.count * 2] {
      #expect(lines("a\n\(long)\nb\n\(long)", blocks: size) == ["a", nil, "b", nil])
      #expect(lines(String(long.dropLast()) + "\nb", blocks: size).last == "b")
    }
  }
}

@Suite struct ReportRunTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private func run(
    _ files: [String], _ format: ReportFormat = .failedList
  ) throws -> (ending: ProcessEnding, output: String, error: String) {
    try scratch.write("output", "")
    try scratch.write("error", "")
    let output = try #require(FileHandle(forWritingAtPath: scratch.file("output")))
    let error = try #require(FileHandle(forWritingAtPath: scratch.file("error")))
    let terminal = Terminal(
      output: output.fileDescriptor, error: error.fileDescriptor,
      environment: CommandEnvironment())
    let ending = Report.write(files: files, format: format, terminal: terminal, width: 80)
    return (
      ending, String(decoding: fileBytes(scratch.file("output")), as: UTF8.self),
      String(decoding: fileBytes(scratch.file("error")), as: UTF8.self)
    )
  }

  @Test func filesOfManyRunsAreOneReport() throws {
    let first = try scratch.write(
      "first", [result("a", "network"), result("b", "busy")].joined(separator: "\n"))
    let second = try scratch.write("second", result("b") + "\r\n\n")
    let outcome = try run([first, second])
    #expect(outcome.ending == .exit(0) && outcome.error == "")
    #expect(outcome.output == "# 1 of 2 items failed\n# network: 1, worth a re-run\na\n")
  }

  @Test func anEmptyFileIsAnEmptyReport() throws {
    let outcome = try run([try scratch.write("empty", "")], .table)
    #expect(outcome.ending == .exit(0) && outcome.output == "no results\n" && outcome.error == "")
  }

  @Test func linesThatCannotBeReadAreNamedAndCounted() throws {
    let file = try scratch.write("torn", "\(result("a"))\n{\"v\":1,\n\nx\n\(result("b"))\n")
    let outcome = try run([file], .table)
    #expect(outcome.ending == .exit(0))
    #expect(outcome.output.hasPrefix("all 2 items are done\n2 unreadable lines\n"))
    #expect(
      outcome.error
        == "vidfetch: warning: \(file): 2 lines are no JSON of vidfetch (the first is line 2)\n")
  }

  @Test func aFileThatIsMissingEndsTheRunBeforeItWritesAnything() throws {
    let file = try scratch.write("file", result("a", "network"))
    let outcome = try run([file, scratch.file("nothing")])
    #expect(outcome.ending == .exit(20) && outcome.output == "")
    #expect(outcome.error.contains("nothing: there is no such file"))
    #expect(try run([scratch.path]).ending == .exit(22))
  }

  @Test func whatCannotBeWrittenIsTold() throws {
    let file = try scratch.write("file", result("a", "network"))
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let terminal = Terminal(
      output: full.fileDescriptor, error: full.fileDescriptor, environment: CommandEnvironment())
    let ending = Report.write(files: [file], format: .table, terminal: terminal, width: 80)
    #expect(ending == .exit(42))
  }

  @Test func aPosterIsPutIntoThePage() throws {
    let picture = scratch.file("poster.jpg")
    try outputOfTool([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x36:d=0.1", "-frames:v", "1",
      picture,
    ])
    let text = try scratch.write("secret.jpg", "root:x:0:0")
    let file = try scratch.write(
      "results",
      [
        result("a", "ok", #","poster":"\#(picture)""#), result("b", "ok", #","poster":"\#(text)""#),
        result("c", "ok", #","poster":"/dev/zero""#), result("d", "ok", #","poster":"poster.jpg""#),
      ].joined(separator: "\n"))
    let page = try run([file], .html).output
    let data = fileBytes(picture).base64EncodedString()
    #expect(page.ranges(of: "<img ").count == 1)
    #expect(page.contains(#"src="data:image/jpeg;base64,\#(data)""#))
  }

  @Test func itKnowsTheFormThatSuitsTheOutput() {
    #expect(ReportFormat.standard(onTerminal: true) == .table)
    #expect(ReportFormat.standard(onTerminal: false) == .markdown)
  }
}
