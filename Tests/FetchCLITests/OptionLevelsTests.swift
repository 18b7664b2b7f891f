import FetchCLI
import FetchCore
import Testing

@Suite struct OptionLevelsTests {
  /// An option of the table as some level gives it.
  private func given(_ long: String, _ value: String = "") throws -> GivenOption {
    let row = try #require(OptionTable.rows.first { $0.long == long })
    return GivenOption(row, .init(option: "--\(long)", value: value))
  }

  private func over(_ words: [String], _ levels: [[GivenOption]]) -> ParsedArguments {
    ArgumentParser.parse(words).over(levels).arguments
  }

  @Test func nothingBeneathChangesNothing() {
    let words = ["--retries", "3", "-v", "-v", "-H", "A: 1", "u", "--", "-x"]
    var typed = ArgumentParser.parse(words)
    typed.arguments.hook = ["true", "{}"]
    #expect(typed.over([]).arguments == typed.arguments)
    #expect(typed.over([[], []]).arguments == typed.arguments)
  }

  @Test func eachLevelGoesBeforeTheOnesBeneath() throws {
    let levels = [
      [try given("retries", "1"), try given("connections", "1"), try given("user-agent", "1")],
      [try given("retries", "2"), try given("connections", "2")],
    ]
    let arguments = over(["--retries", "3"], levels)
    #expect(arguments.retries == 3)
    #expect(arguments.connections == 2)
    #expect(arguments.userAgent == "1")
  }

  @Test func optionsThatRepeatAddUpFromTheLowestOn() throws {
    let arguments = over(
      ["-H", "A: 3"], [[try given("header", "A: 1")], [try given("header", "A: 2")]])
    #expect(arguments.headers.map(\.value) == [.typed("A: 1"), .typed("A: 2"), .typed("A: 3")])
  }

  /// What can't be taken back by saying the same option again gives way to its opposite.
  @Test(arguments: [
    (["-o", "x.mp4"], "directory", "d"), (["-o", "x.mp4"], "output", "y.mp4"),
    (["-d", "d"], "output", "y.mp4"), (["--overwrite"], "skip-existing", ""),
    (["--skip-existing"], "overwrite", ""), (["--streams", "v"], "audio", "en"),
    (["--streams", "v"], "no-audio", ""), (["--streams", "v"], "subtitles", "none"),
    (["--audio", "en"], "streams", "v"), (["--no-audio"], "streams", "v"),
    (["--subtitles", "all"], "streams", "v"), (["--audio", "en"], "no-audio", ""),
    (["--no-audio"], "audio", "en"), (["--json"], "print", "{path}"), (["--json"], "null", ""),
    (["--print", "{path}"], "json", ""), (["-0"], "json", ""),
    (["--keep-source"], "low-disk", ""), (["--low-disk"], "keep-source", ""),
    (["-q"], "verbose", ""), (["-v"], "quiet", ""),
  ])
  func whatIsTypedBeatsItsOppositeBeneath(words: [String], long: String, value: String) throws {
    let alone = ArgumentParser.parse(words)
    #expect(alone.error == nil)
    #expect(over(words, [[try given(long, value)]]) == alone.arguments)
    #expect(over([], [[try given(long, value)]]) != ArgumentParser.parse([]).arguments)
  }

  @Test func everyNameThatARowYieldsToIsARow() {
    let known = Set(OptionTable.rows.compactMap(\.long))
    for row in OptionTable.rows {
      #expect(row.yieldsTo.allSatisfy(known.contains), "\(row.long ?? "")")
      #expect(!row.yieldsTo.contains(row.long ?? ""))
    }
  }

  // MARK: - Environment

  @Test func variablesAreNamedAsTheirOptions() {
    for row in OptionTable.rows {
      guard let name = row.environment else { continue }
      #expect(name == "VIDFETCH_" + (row.long ?? "").uppercased().replacing("-", with: "_"))
      #expect(!row.isSecret)
    }
    #expect(Set(OptionEnvironment.variables).count == OptionEnvironment.variables.count)
  }

  @Test func variableGivesWhatItsOptionGives() throws {
    let environment = CommandEnvironment(
      variables: ["VIDFETCH_FORMAT": "mov", "VIDFETCH_LIMIT_RATE": "2M", "VIDFETCH_COLOR": ""])
    let outcome = ArgumentParser.parse(["u"]).completed(by: environment)
    #expect(outcome.error == nil)
    #expect(outcome.arguments.format?.value == .mov)
    #expect(outcome.arguments.limitRate == 2_000_000)
    #expect(outcome.arguments.color == nil)
    let typed = ArgumentParser.parse(["-f", "mp4", "u"]).completed(by: environment)
    #expect(typed.arguments.format?.value == .mp4)
  }

  @Test func badVariableIsNamed() {
    let environment = CommandEnvironment(variables: ["VIDFETCH_FORMAT": "mkv"])
    let outcome = ArgumentParser.parse(["u"]).completed(by: environment)
    #expect(outcome.error?.message.hasPrefix("VIDFETCH_FORMAT knows") == true)
    #expect(ArgumentParser.parse(["--version"]).completed(by: environment).error == nil)
  }
}
