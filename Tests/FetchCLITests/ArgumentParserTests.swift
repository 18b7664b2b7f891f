import FetchCLI
import FetchCore
import Testing

@Suite struct ArgumentParserTests {
  private func parse(_ words: String...) -> ArgumentParser.Outcome { ArgumentParser.parse(words) }

  @Test func takesOptionsAndURLsInAnyOrder() {
    let outcome = parse("https://a/1", "--overwrite", "https://a/2", "-f", "mov", "https://a/3")
    #expect(outcome.error == nil)
    #expect(outcome.arguments.sources == ["https://a/1", "https://a/2", "https://a/3"])
    #expect(outcome.arguments.overwrite == Typed(true, option: "--overwrite"))
    #expect(outcome.arguments.format == Typed(.mov, option: "-f"))
  }

  @Test(arguments: [["-o", "x.mp4"], ["-ox.mp4"], ["--output", "x.mp4"], ["--output=x.mp4"]])
  func takesAValueInEachForm(words: [String]) {
    let outcome = ArgumentParser.parse(words + ["u"])
    #expect(outcome.error == nil)
    #expect(outcome.arguments.output?.value == "x.mp4")
    #expect(outcome.arguments.sources == ["u"])
  }

  @Test func takesExplicitNamesAsTheyAreTyped() {
    for name in ["-y.mp4", "part: one.mp4", "100%03d.mp4", "--", "ünï 視頻.mp4"] {
      let outcome = parse("u", "-o", name)
      #expect(outcome.error == nil)
      #expect(outcome.arguments.output?.value == name)
    }
  }

  @Test func endsOptionsAtTwoDashes() {
    let outcome = parse("-q", "--", "-v", "--help")
    #expect(outcome.error == nil)
    #expect(outcome.arguments.sources == ["-v", "--help"])
    #expect(outcome.arguments.action == .fetch)
  }

  @Test func takesClustersOfShortOptions() {
    #expect(parse("-vv0", "u").arguments.verbosity == 2)
    #expect(parse("-vv0", "u").arguments.null != nil)
    #expect(parse("-qfmov", "u").arguments.format?.value == .mov)
    #expect(parse("-v", "-q", "u").arguments.verbosity == -1)
    #expect(parse("-q", "-v", "u").arguments.verbosity == 1)
  }

  @Test func lastOccurrenceCountsUnlessItAdds() {
    let outcome = parse("-f", "mov", "-f", "mp4", "-b", "a=1", "-b", "b=2", "u")
    #expect(outcome.arguments.format?.value == .mp4)
    #expect(outcome.arguments.cookies.map(\.value) == [.typed("a=1"), .typed("b=2")])
  }

  @Test(
    arguments: [
      (["--ouput", "x"], "unknown option --ouput", "--output"),
      (["--outp", "x"], "unknown option --outp", "--output"),
      (["--outp=x"], "unknown option --outp", "--output"),
      (["--prog"], "unknown option --prog", "--progress"),
      (["--he"], "unknown option --he", nil),
      (["--js=1"], "unknown option --js", "--json"),
      (["--xyzzy"], "unknown option --xyzzy", nil),
      (["-Z"], "unknown option -Z", nil),
      (["-qZ"], "unknown option -Z", nil),
      (["-o"], "-o needs a value", nil),
      (["--retries"], "--retries needs a value", nil),
      (["--json=1"], "--json takes no value", nil),
      (["-f", "mpv"], "-f knows mp4, mov, not 'mpv'", "mp4"),
      (
        ["--progress", "plian"], "--progress knows auto, bar, plain, json, none, not 'plian'",
        "plain"
      ),
      (["--color=NEVER"], "--color knows auto, always, never, not 'NEVER'", "never"),
      (["-o", ""], "-o needs a file name", nil),
      (["-d", ""], "-d needs a folder", nil),
      (
        ["-o", "-"], "-o can't be standard output: a result is published as a whole file", "./-"
      ),
      (["--retries", "-1"], "--retries needs a whole number from 0 to 1000000, not '-1'", nil),
      (
        ["--stall-timeout=nan"],
        "--stall-timeout needs a time above 0, such as 30, 500ms or 2m, not 'nan'", nil
      ),
      (
        ["--limit-rate=1e3"],
        "--limit-rate needs a number of bytes, such as 500k or 2M, not '1e3'", nil
      ),
      (["--proxy", "htp://p"], "--proxy knows no scheme 'htp'", "http"),
      (["-A", "a\nb"], "-A can't hold control characters", nil),
      (["-e", "a\rb"], "-e can't hold control characters", nil),
      (["-H", "X: a\u{7F}"], "-H can't hold control characters", nil),
      (["-b", "a=\u{1}"], "-b can't hold control characters", nil),
      (["-H", "nonsense"], "-H needs a header written 'Name: value', or @FILE", nil),
      (["-H", "Range: bytes=0-"], "-H can't set Range: vidfetch sends its own", nil),
      (["-H", "host: x"], "-H can't set host: vidfetch sends its own", nil),
      (["-H", "X:"], "-H gives X no value", nil),
      (["-u", "name"], "-u needs USER:PASSWORD, @FILE or -", nil),
      (["-b", "name"], "-b needs NAME=VALUE, or @FILE", nil),
    ] as [([String], String, String?)])
  func saysWhatIsWrong(words: [String], message: String, suggestion: String?) {
    let outcome = ArgumentParser.parse(["u"] + words)
    #expect(outcome.error == UsageError(message, didYouMean: suggestion))
  }

  @Test func neverRepeatsASecretInAComplaint() throws {
    for words in [
      ["-u", "s3cret"], ["-H", "s3cret"], ["-b", "s3cret"], ["-H", "X: s3cret\u{1}"],
    ] {
      let error = try #require(ArgumentParser.parse(words).error)
      #expect(!error.line.contains("s3cret"))
    }
  }

  @Test func escapesWhatWasTypedInAComplaint() {
    #expect(
      parse("--\u{1B}[31m").error?.line == "unknown option --\\u{1b}[31m; try 'vidfetch --help'")
  }

  @Test func helpAndVersionWorkOnABrokenLine() {
    #expect(parse("--nonsense", "-h").arguments.action == .shortHelp)
    #expect(parse("-f", "x", "--help").arguments.action == .longHelp)
    #expect(parse("--nonsense", "--version").arguments.action == .version)
  }

  @Test func secretsComeFromFilesAndStandardInput() {
    let outcome = parse("-u", "-", "--bearer-file", "t", "-H", "@h", "-b", "@c", "u")
    #expect(outcome.error == nil)
    #expect(outcome.arguments.user?.value == .standardInput)
    #expect(outcome.arguments.bearer?.value == .file("t"))
    #expect(outcome.arguments.headers.map(\.value) == [.file("h")])
    #expect(outcome.arguments.cookies.map(\.value) == [.file("c")])
  }

  @Test func everyNameIsUnique() {
    let names = OptionTable.rows.flatMap(\.names)
    #expect(Set(names).count == names.count)
    #expect(OptionTable.rows.allSatisfy { $0.short != nil || $0.long != nil })
  }
}

@Suite struct SpellingTests {
  @Test(arguments: [
    ("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xbc", 1),
    ("kitten", "sitting", 3), ("ca", "abc", 3),
  ])
  func countsKeystrokes(left: String, right: String, distance: Int) {
    #expect(Spelling.distance(left, right) == distance)
    #expect(Spelling.distance(right, left) == distance)
  }

  @Test func suggestsOnlyWhatIsNear() {
    let words = ["retries", "retry-max-time", "referer"]
    #expect(Spelling.nearest(to: "retires", among: words) == "retries")
    #expect(Spelling.nearest(to: "retry", among: words) == "retry-max-time")
    #expect(Spelling.nearest(to: "banana", among: words) == nil)
    #expect(Spelling.nearest(to: "", among: words) == nil)
  }
}

@Suite struct QuantityTests {
  @Test(
    arguments: [
      ("15", 15_000), ("1.5", 1500), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000),
      ("0.001", 1), (".5s", 500), ("8760h", 31_536_000_000),
    ] as [(String, Int64)])
  func readsTimes(text: String, milliseconds: Int64) {
    #expect(Quantity.time(text) == .milliseconds(milliseconds))
  }

  @Test(arguments: [
    "", "0", "-1", "nan", "inf", "1e3", "0x10", "1 s", "s", ".", "1..2", "1d", "8761h", "1.2.3",
    "99999999999999999999999999999999", "0.0001", "+5", "٣",
  ])
  func refusesOtherTimes(text: String) {
    #expect(Quantity.time(text) == nil)
  }

  @Test(
    arguments: [
      ("0", 0), ("1", 1), ("500k", 500_000), ("500K", 500_000), ("2M", 2_000_000),
      ("1.5M", 1_500_000), ("1Ki", 1024), ("1KiB", 1024), ("4GB", 4_000_000_000),
      ("2Gi", 2_147_483_648), ("1T", 1_000_000_000_000), ("10B", 10),
    ] as [(String, Int64)])
  func readsSizes(text: String, bytes: Int64) {
    #expect(Quantity.bytes(text) == bytes)
  }

  @Test(arguments: [
    "", "-1", "nan", "inf", "1e9", "0.5", "10X", "k", "1 k", "9223372036854775808", "10000000T",
  ])
  func refusesOtherSizes(text: String) {
    #expect(Quantity.bytes(text) == nil)
  }

  @Test func readsCounts() {
    #expect(Quantity.count("0", upTo: 9) == 0)
    #expect(Quantity.count("9", upTo: 9) == 9)
    for text in ["10", "-1", "+1", "1.0", "", "nan", "99999999999999999999"] {
      #expect(Quantity.count(text, upTo: 9) == nil)
    }
  }
}
