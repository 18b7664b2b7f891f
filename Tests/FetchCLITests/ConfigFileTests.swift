import FetchCLI
import FetchCore
import Glibc
import TestSupport
import Testing

@Suite struct ConfigFileTests {
  private func parse(
    _ text: String, isPrivate: Bool = true, home: String? = "/home/me"
  ) throws(UsageError) -> [GivenOption] {
    try ConfigFile.parse(
      .init(Array(text.utf8), isPrivate: isPrivate), path: "/c", home: home)
  }

  /// What a file makes of no words at all.
  private func arguments(_ text: String) throws -> ParsedArguments {
    ArgumentParser.parse([]).over([try parse(text)]).arguments
  }

  private func complaint(_ text: String, isPrivate: Bool = true) -> UsageError? {
    do {
      _ = try parse(text, isPrivate: isPrivate)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    "limit-rate = 2M", "limit-rate 2M", "--limit-rate=2M", "--limit-rate 2M", "limit-rate=2M",
    "  limit-rate\t2M  ", "# x\n\n  # y\nlimit-rate = 2M\n", "limit-rate = 2M\r\n",
    "\u{FEFF}limit-rate = 2M\n",
  ])
  func optionIsWrittenInEitherForm(text: String) throws {
    #expect(try arguments(text).limitRate == 2_000_000)
  }

  @Test func linesAddUpAndTheLastOneCounts() throws {
    let arguments = try arguments(
      "overwrite\nretries 1\nretries 2\nheader A: 1\nheader B: 2 # no comment\n")
    #expect(arguments.overwrite?.value == true)
    #expect(arguments.retries == 2)
    #expect(arguments.headers.map(\.value) == [.typed("A: 1"), .typed("B: 2 # no comment")])
  }

  @Test func valuesAreTakenAsTheyStand() throws {
    #expect(try arguments("user-agent = \"a b\"").userAgent == "\"a b\"")
    #expect(try arguments("metadata title=a = b").metadata == [.init(key: "title", value: "a = b")])
    #expect(try arguments("proxy =").proxy == "")
    #expect(try arguments("user-agent = ~/x").userAgent == "~/x")
  }

  @Test func homeIsExpandedWhereAFileOrFolderIsNamed() throws {
    #expect(try arguments("directory ~/films").directory?.value == "/home/me/films")
    #expect(try arguments("directory = ~/~/x").directory?.value == "/home/me/~/x")
    #expect(try arguments("directory ~other").directory?.value == "~other")
    #expect(throws: UsageError.self) { try parse("directory ~/x", home: nil) }
  }

  @Test(
    arguments: [
      ("\n\nretreis 1", "/c, line 3: 'retreis' is no option", "retries"),
      ("-x 4", "/c, line 1: '-x' is no option", "connections"),
      ("https://a/b", "/c, line 1: 'https://a/b' is no option", nil),
      ("retries", "/c, line 1: --retries needs a value", nil),
      ("overwrite yes", "/c, line 1: --overwrite takes no value", nil),
      ("overwrite =", "/c, line 1: --overwrite takes no value", nil),
      ("help", "/c, line 1: --help belongs on the command line", nil),
      ("version", "/c, line 1: --version belongs on the command line", nil),
      ("generate man", "/c, line 1: --generate belongs on the command line", nil),
      ("probe", "/c, line 1: --probe belongs on the command line", nil),
      ("directory =", "/c, line 1: --directory needs a folder", nil),
    ] as [(String, String, String?)])
  func mistakeIsNamedWithItsLine(text: String, message: String, meant: String?) {
    #expect(complaint(text) == UsageError(message, didYouMean: meant))
  }

  @Test func valueIsCheckedWhereItStands() {
    #expect(complaint("\nretries x")?.message.hasPrefix("/c, line 2: --retries needs") == true)
    #expect(
      (try? ConfigFile.parse(.init([0xFF], isPrivate: true), path: "/c", home: nil)) == nil)
  }

  @Test(arguments: [
    ("header A: 1", true), ("user me:pw", true), ("cookie a=1", true),
    ("proxy http://me:pw@host", true), ("proxy me:pw@host", true), ("header @/etc/h", false),
    ("proxy http://host:3128", false), ("user-agent me", false),
  ])
  func secretIsRefusedInAFileThatOthersCanRead(text: String, isSecret: Bool) {
    #expect(complaint(text) == nil)
    let complaint = complaint(text, isPrivate: false)
    #expect((complaint != nil) == isSecret)
    #expect(complaint?.message.contains("pw") != true)
  }

  @Test(
    arguments: [
      (["XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/x/vidfetch/config"),
      (["XDG_CONFIG_HOME": "", "HOME": "/h"], "/h/.config/vidfetch/config"),
      (["XDG_CONFIG_HOME": "rel", "HOME": "/h"], "/h/.config/vidfetch/config"),
      (["HOME": ""], nil), ([:], nil),
    ] as [([String: String], String?)])
  func placeIsThatOfTheXDGSpecification(variables: [String: String], path: String?) {
    #expect(ConfigFile.path(variables) == path)
  }

  @Test func fileOnTheDiskIsReadAndAMissingOneIsFine() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write("config", "retries 1\n")
    chmod(path, 0o644)
    #expect(try ConfigFile.read(path)?.isPrivate == false)
    chmod(path, 0o600)
    #expect(try ConfigFile.read(path)?.isPrivate == true)
    #expect(try ConfigFile.read(path)?.bytes == Array("retries 1\n".utf8))
    #expect(try ConfigFile.read(scratch.file("none")) == nil)
    #expect(throws: SystemError("read", errno: EISDIR)) { try ConfigFile.read(scratch.path) }
  }

  // MARK: - Levels

  @Test func pipeInTheFilesPlaceHoldsUpNobody() throws {
    let scratch = try ScratchDirectory()
    mkfifo(scratch.file("config"), 0o600)
    #expect(throws: SystemError("open", errno: EINVAL)) {
      try ConfigFile.read(scratch.file("config"))
    }
  }

  private func complete(
    _ words: [String], _ variables: [String: String] = [:], file: String? = nil
  ) -> ArgumentParser.Outcome {
    let variables = variables.merging(["HOME": "/home/me"]) { first, _ in first }
    let environment = CommandEnvironment(
      variables: variables,
      readConfiguration: { path throws(SystemError) in
        #expect(path == "/home/me/.config/vidfetch/config")
        return file.map { .init(Array($0.utf8), isPrivate: true) }
      })
    return ArgumentParser.parse(words).completed(by: environment)
  }

  @Test func commandLineGoesBeforeTheFile() {
    let file = "retries 1\nstall-timeout 5\nheader A: 1"
    let outcome = complete(["--retries", "2", "-H", "B: 2", "u"], file: file)
    #expect(outcome.error == nil)
    #expect(outcome.arguments.retries == 2)
    #expect(outcome.arguments.stallTimeout == .seconds(5))
    #expect(outcome.arguments.headers.map(\.value) == [.typed("A: 1"), .typed("B: 2")])
    #expect(outcome.arguments.sources == ["u"])
  }

  @Test func noFileIsReadWhereNoneIsWanted() {
    let environment = CommandEnvironment(
      variables: ["HOME": "/home/me"],
      readConfiguration: { _ in
        Issue.record("the file was read")
        return nil
      })
    let outcome = ArgumentParser.parse(["--help"]).completed(by: environment)
    #expect(outcome.arguments.action == .longHelp)
  }

  @Test func mistakeInTheFileIsTheRunsMistake() {
    #expect(complete(["u"], file: "nothing").error?.message.contains("line 1") == true)
    // What is wrong on the command line is said first.
    #expect(
      complete(["--retries", "x", "u"], file: "nothing").error?.message.contains("line 1") == false)
  }
}
