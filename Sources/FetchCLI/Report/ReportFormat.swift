// The forms that a report can have.

/// A form of `--report`.
package enum ReportFormat: String, Sendable, Hashable, CaseIterable {
  case table, markdown, html
  case failedList = "failed-list"

  /// The form where none was asked for: a table on a terminal, else Markdown, which is what a CI
  /// step's summary takes and reads well as plain text too.
  package static func standard(onTerminal: Bool) -> ReportFormat {
    onTerminal ? .table : .markdown
  }
}
