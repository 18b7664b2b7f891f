import FetchCLI
import Testing

@Suite struct CommandWordsTests {
  private func kept(_ words: [String]) -> [String] { CommandWords(words).kept.map { words[$0] } }

  @Test func theCommandGoesUpToALoneSemicolon() {
    let words = ["-q", "--exec", "mpv", "--fs", "{}", "a;", ";", "u"]
    #expect(CommandWords(words).command == ["mpv", "--fs", "{}", "a;"])
    #expect(kept(words) == ["-q", "u"])
    #expect(CommandWords(words).error == nil)
  }

  @Test func behindTwoDashesEverythingIsAURL() {
    let words = ["-q", "--", "--exec", ";"]
    #expect(kept(words) == words)
    #expect(CommandWords(words).command.isEmpty)
  }

  @Test(arguments: [
    ["--exec", "mpv", "{}"], ["--exec", ";"], ["--exec", "", ";"], ["--exec"],
    ["--exec", "a", ";", "--exec", "b", ";"],
  ])
  func whatIsNoCommandIsAUsageError(_ words: [String]) {
    #expect(CommandWords(words).error != nil)
  }

  @Test func theParserHandsItOn() {
    let outcome = ArgumentParser.parse(["--exec", "echo", "-q", "{}", ";", "u", "-v"])
    #expect(outcome.error == nil)
    #expect(outcome.arguments.hook == ["echo", "-q", "{}"])
    #expect(outcome.arguments.sources == ["u"])
    #expect(outcome.arguments.verbosity == 1)
  }
}
