// Words to ParsedArguments, by glibc's getopt_long over the option table: options and URLs in any
// order, `--` ends the options, `-qv` is `-q -v`. Abbreviated long options, which getopt_long would
// take, are refused: a later option could make a script's abbreviation ambiguous.
//
// getopt_long keeps its state in globals, so one parse runs at a time; a lock sees to it.

import CGetopt
import FetchCore
import Glibc

/// The parser of the command line.
package enum ArgumentParser {
  /// What a parse gives: all that could be understood, and the first thing that couldn't.
  ///
  /// The arguments are there even beside an error, so that `--help` works on a broken line.
  package struct Outcome: Sendable {
    package var arguments: ParsedArguments
    package var error: UsageError?
    /// The options that were typed, in order, so that others can be put beneath them.
    package var typed: [GivenOption] = []
  }

  private static let oneAtATime = Locked(())

  /// Parses words that follow the program's name.
  package static func parse(_ words: [String]) -> Outcome {
    var copies = (["vidfetch"] + words).map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeMutableBufferPointer { parse($0, hidingSecrets: false) }
  }

  /// Parses the process's own words, and overwrites the secrets among them where they lie, so that
  /// `ps` doesn't show them.
  ///
  /// To be called before any other thread is made.
  package static func parseProcessArguments() -> Outcome {
    // The array is a copy, since getopt_long reorders it; the words are the process's own.
    var words = Array(
      UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc)))
    return words.withUnsafeMutableBufferPointer { parse($0, hidingSecrets: true) }
  }

  private static func parse(
    _ words: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>, hidingSecrets: Bool
  ) -> Outcome {
    let texts = words.dropFirst().map { $0.map { String(cString: $0) } ?? "" }
    let command = CommandWords(Array(texts))
    // The command's words are another program's, and getopt_long never sees them.
    var kept = words.isEmpty ? [] : [words[0]]
    kept += command.kept.map { words[$0 + 1] }
    return kept.withUnsafeMutableBufferPointer { kept in
      oneAtATime.withLock { _ in
        var run = GetoptRun(words: kept, hidingSecrets: hidingSecrets)
        var outcome = run.outcome()
        outcome.arguments.hook = command.command
        outcome.error = command.error ?? outcome.error
        return outcome
      }
    }
  }
}

/// One run of getopt_long over one list of words.
private struct GetoptRun {
  private let words: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>
  private let hidingSecrets: Bool
  private var arguments = ParsedArguments()
  private var error: UsageError?
  private var typed: [GivenOption] = []

  /// Long options return this plus their row, which is above every character.
  private static let firstLongCode: Int32 = 256

  init(
    words: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>, hidingSecrets: Bool
  ) {
    self.words = words
    self.hidingSecrets = hidingSecrets
  }

  mutating func outcome() -> ArgumentParser.Outcome {
    let rows = OptionTable.rows
    // The leading colon asks for ':' on a missing value, and for silence.
    let shorts = rows.reduce(into: ":") { text, row in
      if let short = row.short { text += row.value == nil ? "\(short)" : "\(short):" }
    }
    let names = rows.map { row in row.long.map { strdup($0) } }
    defer { for name in names { free(name ?? nil) } }
    var longs: [option] = []
    for (index, row) in rows.enumerated() {
      guard let name = names[index] else { continue }
      longs.append(
        option(
          name: UnsafePointer(name), has_arg: row.value == nil ? 0 : 1, flag: nil,
          val: Self.firstLongCode + Int32(index)))
    }
    longs.append(option())

    vf_getopt_begin()
    var next = 1
    while true {
      let step = vf_getopt_next(Int32(words.count), words.baseAddress, shorts, longs)
      next = Int(step.next)
      if step.code == -1 { break }
      take(step)
    }
    for word in words.dropFirst(next) {
      guard let word else { continue }
      if let source = String(validatingCString: word) {
        arguments.sources.append(source)
      } else {
        note(UsageError("'\(String(cString: word))' is not valid UTF-8"))
      }
      if hidingSecrets { ArgumentMemory.hideUserInfo(word) }
    }
    return ArgumentParser.Outcome(arguments: arguments, error: error, typed: typed)
  }

  private mutating func take(_ step: vf_getopt_step) {
    switch step.code {
    case Int32(UInt8(ascii: "?")): note(unknownOption(step))
    case Int32(UInt8(ascii: ":")):
      note(
        abbreviation(step, of: step.option)
          ?? UsageError("\(name(of: step.option)) needs a value"))
    default:
      guard let row = row(of: step.code) else { return }
      let option = name(of: step.code)
      if let problem = abbreviation(step, of: step.code) {
        note(problem)
        return
      }
      var value = ""
      if let argument = step.argument {
        let text = String(validatingCString: argument)
        if hidingSecrets, row.isSecret { ArgumentMemory.hideValue(argument, of: row) }
        guard let text else {
          note(UsageError("the value of \(option) is not valid UTF-8"))
          return
        }
        value = text
      }
      let given = GivenOption(row, OptionDefinition.Occurrence(option: option, value: value))
      typed.append(given)
      do throws(UsageError) {
        try row.update(&arguments, given.occurrence)
      } catch {
        note(error)
      }
    }
  }

  /// getopt_long says `?` for an unknown option, an ambiguous abbreviation, and a value that an
  /// option doesn't take.
  private func unknownOption(_ step: vf_getopt_step) -> UsageError {
    if step.option >= Self.firstLongCode {
      return abbreviation(step, of: step.option)
        ?? UsageError("\(name(of: step.option)) takes no value")
    }
    if step.option > 0 {
      // The byte of a short option; one of several bytes is better shown as the word it is in.
      if step.option < 0x80, let scalar = Unicode.Scalar(UInt32(step.option)) {
        return UsageError("unknown option -\(Character(scalar))")
      }
      return UsageError("unknown option in '\(word(before: step) ?? "")'")
    }
    let typed = word(before: step)?.prefix { $0 != "=" } ?? ""
    let known = OptionTable.rows.compactMap(\.long)
    let meant = Spelling.nearest(to: String(typed.dropFirst(2)), among: known)
    return UsageError("unknown option \(typed)", didYouMean: meant.map { "--\($0)" })
  }

  /// The complaint about a long option that was not typed in full.
  private func abbreviation(_ step: vf_getopt_step, of code: Int32) -> UsageError? {
    guard code >= Self.firstLongCode, let typed = typedLongName(step) else { return nil }
    let option = name(of: code)
    return typed == option ? nil : UsageError("unknown option \(typed)", didYouMean: option)
  }

  /// The long option as it was typed, with its dashes and without a value.
  private func typedLongName(_ step: vf_getopt_step) -> String? {
    // A value of its own word was taken last; then the option is the word before it.
    let isSeparate = step.argument != nil && words[Int(step.next) - 1] == step.argument
    let index = Int(step.next) - (isSeparate ? 2 : 1)
    guard words.indices.contains(index), let word = words[index] else { return nil }
    return String(String(cString: word).prefix { $0 != "=" })
  }

  private func word(before step: vf_getopt_step) -> String? {
    // Within a cluster such as -qx getopt_long still stands on the word.
    for index in [Int(step.next) - 1, Int(step.next)] where words.indices.contains(index) {
      if let word = words[index], word[0] == CChar(UInt8(ascii: "-")) {
        return String(cString: word)
      }
    }
    return nil
  }

  private func row(of code: Int32) -> OptionDefinition? {
    if code >= Self.firstLongCode {
      let index = Int(code - Self.firstLongCode)
      return OptionTable.rows.indices.contains(index) ? OptionTable.rows[index] : nil
    }
    guard let scalar = Unicode.Scalar(UInt32(code)) else { return nil }
    return OptionTable.rows.first { $0.short == Character(scalar) }
  }

  private func name(of code: Int32) -> String {
    guard let row = row(of: code) else { return "the option" }
    if code >= Self.firstLongCode { return "--\(row.long ?? "")" }
    return row.short.map { "-\($0)" } ?? ""
  }

  private mutating func note(_ problem: UsageError) {
    if error == nil { error = problem }
  }
}
