// The words of --exec among those of a command line: they belong to another program, so they are
// taken out before the options are read. Pure.

/// A command line without the command of --exec, and that command.
package struct CommandWords: Sendable, Hashable {
  /// The indices of the words that stay, in order.
  package private(set) var kept: [Int] = []
  /// The command and its arguments; empty where there is none.
  package private(set) var command: [String] = []
  package private(set) var error: UsageError?

  /// Takes a command out of words that follow the program's name.
  ///
  /// The command goes from behind `--exec` to a word that is `;` alone. Behind `--` all words are URLs.
  package init(_ words: [String]) {
    var index = 0
    while index < words.count {
      let word = words[index]
      if word == "--" {
        kept += index..<words.count
        return
      }
      guard word == "--exec" else {
        kept.append(index)
        index += 1
        continue
      }
      guard let end = words[index...].firstIndex(of: ";") else {
        error =
          error
          ?? UsageError(
            "--exec needs a word that is ; alone behind its command", didYouMean: #"\;"#)
        return
      }
      if !command.isEmpty { error = error ?? UsageError("--exec is given twice") }
      command = Array(words[(index + 1)..<end])
      if command.isEmpty || command[0].isEmpty {
        error = error ?? UsageError("--exec needs a command")
      }
      index = end + 1
    }
  }
}
