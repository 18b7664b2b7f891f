// What one row of the option table says. Parser, help, man page and completions are made from it.

/// Where an option stands in the help and the man page.
package enum OptionCategory: String, CaseIterable, Sendable {
  case output = "Output"
  case batch = "Many items"
  case transfer = "Transfer"
  case request = "Request"
  case export = "Export"
  case display = "Progress and messages"
  case results = "Results"
  case general = "General"
}

/// What a shell offers for an option's value.
package enum CompletionHint: Sendable, Hashable {
  case none, file, directory
  case choices([String])
}

/// The value of an option.
package struct OptionValue: Sendable, Hashable {
  /// The word that stands for it in the help, such as `FILE`.
  package let word: String
  package let completion: CompletionHint

  package init(_ word: String, _ completion: CompletionHint = .none) {
    self.word = word
    self.completion = completion
  }
}

/// One option: its names, its texts, and what it does to the parsed arguments.
package struct OptionDefinition: Sendable {
  /// What an update function gets to see.
  package struct Occurrence: Sendable {
    /// As typed: `-o` or `--output`.
    package let option: String
    /// The option's value; empty where it takes none.
    package let value: String

    package init(option: String, value: String) {
      self.option = option
      self.value = value
    }
  }

  package typealias Update =
    @Sendable (inout ParsedArguments, Occurrence) throws(UsageError) -> Void

  /// One ASCII letter or digit.
  package let short: Character?
  /// Without its dashes; nil where the option has a short name only.
  package let long: String?
  package let value: OptionValue?
  package let category: OptionCategory
  /// One line for the help, without a capital or a full stop.
  package let summary: String
  /// Whole sentences for the long help and the man page.
  package let details: String
  /// Whether each occurrence adds to those before; otherwise the last one counts.
  package let isRepeatable: Bool
  /// Whether the value may be a secret, which is overwritten in the process's argument memory.
  package let isSecret: Bool
  /// The variable that gives the option where the command line doesn't.
  package let environment: String?
  /// Long names of options that say the same thing in another way: where one of them is given, what a
  /// lower level (environment, configuration file) says by this row doesn't count.
  package let yieldsTo: [String]
  package let update: Update

  package init(
    _ short: Character? = nil, _ long: String? = nil, value: OptionValue? = nil,
    in category: OptionCategory, _ summary: String, details: String, isRepeatable: Bool = false,
    isSecret: Bool = false, environment: String? = nil, yieldsTo: [String] = [],
    update: @escaping Update
  ) {
    self.short = short
    self.long = long
    self.value = value
    self.category = category
    self.summary = summary
    self.details = details
    self.isRepeatable = isRepeatable
    self.isSecret = isSecret
    self.environment = environment
    self.yieldsTo = yieldsTo
    self.update = update
  }

  /// The names with their dashes, short one first.
  package var names: [String] {
    (short.map { ["-\($0)"] } ?? []) + (long.map { ["--\($0)"] } ?? [])
  }
}
