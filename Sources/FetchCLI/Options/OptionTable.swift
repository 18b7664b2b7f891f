// Every option of vidfetch, once. An option that isn't a row here doesn't exist; one that is has its
// parser, its line in the help, its paragraph in the man page and its completions.

import FetchCore

/// The option table.
package enum OptionTable {
  /// All rows, in the order of the help.
  package static let rows: [OptionDefinition] =
    output + batch + transfer + request + export + display + results + general

  /// What is done in place of fetching: what lower levels say of the results doesn't count then.
  static let instead = ["probe", "report", "history"]

  // MARK: Values

  static func choice<Choice>(
    _ type: Choice.Type, _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) -> Choice
  where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
    if let choice = Choice(rawValue: typed.value) { return choice }
    let names = Choice.allCases.map(\.rawValue)
    throw UsageError(
      "\(typed.option) knows \(names.joined(separator: ", ")), not '\(typed.value)'",
      didYouMean: Spelling.nearest(to: typed.value.lowercased(), among: names))
  }

  /// What is no tag of the film, but says how its file is made.
  static let containerKeys: Set<String> = [
    "encoder", "duration", "filesize", "major_brand", "minor_version", "compatible_brands",
    "timecode", "language", "handler_name",
  ]

  static func languages(
    _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) -> [LanguageCode] {
    let codes = typed.value.split(separator: ",", omittingEmptySubsequences: false)
      .map { LanguageCode(String($0)) }
    // An empty word reads as an unknown language.
    let hasGap = typed.value.isEmpty || typed.value.hasPrefix(",") || typed.value.hasSuffix(",")
    guard !hasGap, !typed.value.contains(",,"), codes.allSatisfy(\.isWellFormed) else {
      throw UsageError(
        "\(typed.option) needs a language such as en or deu, or several separated by commas, not "
          + "'\(typed.value)'")
    }
    return codes
  }

  static func time(
    _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) -> Duration {
    if let time = Quantity.time(typed.value) { return time }
    throw UsageError(
      "\(typed.option) needs a time above 0, such as 30, 500ms or 2m, not '\(typed.value)'")
  }

  static func count(
    _ typed: OptionDefinition.Occurrence, from least: Int, to most: Int
  ) throws(UsageError) -> Int {
    if let count = Quantity.count(typed.value, upTo: most), count >= least { return count }
    throw UsageError(
      "\(typed.option) needs a whole number from \(least) to \(most), not '\(typed.value)'")
  }

  static func bytes(_ typed: OptionDefinition.Occurrence) throws(UsageError) -> Int64 {
    if let bytes = Quantity.bytes(typed.value) { return bytes }
    throw UsageError(
      "\(typed.option) needs a number of bytes, such as 500k or 2M, not '\(typed.value)'")
  }

  static func atFile(_ text: String) -> ValueSource {
    text.hasPrefix("@") ? .file(String(text.dropFirst())) : .typed(text)
  }

  static func refuseControls(
    _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) {
    if RequestText.hasControls(typed.value) {
      throw UsageError("\(typed.option) can't hold control characters")
    }
  }
}
