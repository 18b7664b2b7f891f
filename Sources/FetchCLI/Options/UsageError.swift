// What is wrong with a command line, before anything was started.

/// A command line that can't be carried out; exit status 2.
package struct UsageError: Error, Sendable, Hashable {
  /// One line: what is wrong.
  ///
  /// No full stop; may contain typed text, so it is escaped when shown.
  package var message: String
  /// The spelling that was probably meant.
  package var suggestion: String?

  package init(_ message: String, didYouMean suggestion: String? = nil) {
    self.message = message
    self.suggestion = suggestion
  }

  /// The whole error as one line for a terminal, without the program's name.
  package var line: String {
    let meant = suggestion.map { "; did you mean \(Printable.escape($0))?" } ?? ";"
    return "\(Printable.escape(message))\(meant) try 'vidfetch --help'"
  }
}
