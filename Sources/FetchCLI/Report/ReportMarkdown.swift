// A report as GitHub-flavoured Markdown, such as for the summary of a CI step. Pure.

/// The form `markdown`.
package enum ReportMarkdown {
  /// Where the list of failures ends: GitHub takes 1 MiB for the summary of a step, of which others
  /// want a part.
  private static let largest = 900_000

  /// The whole, ended by a line feed.
  package static func text(_ contents: ReportContents) -> String {
    var text = "## vidfetch: \(contents.headline)\n"
    let facts = contents.facts.joined(separator: ", ")
    if !facts.isEmpty { text += "\n\(facts)\n" }
    if contents.items > 0 { text += "\n" + totals(contents) }
    if contents.failed > 0 { text += "\n" + failures(contents, room: largest - text.utf8.count) }
    return text
  }

  private static func totals(_ contents: ReportContents) -> String {
    var text = "| outcome | items | |\n|---|---:|---|\n"
    if contents.ok > 0 { text += "| ok | \(contents.ok) | |\n" }
    if contents.skipped > 0 { text += "| skipped | \(contents.skipped) | done before |\n" }
    for failures in contents.failures {
      text += "| \(escape(failures.code)) | \(failures.items.count) | \(failures.advice ?? "") |\n"
    }
    return text
  }

  private static func failures(_ contents: ReportContents, room: Int) -> String {
    var text = "| failed | why | what helps |\n|---|---|---|\n"
    var shown = 0
    for failures in contents.failures {
      for item in failures.items {
        let row =
          "| <code>\(escape(item.url))</code> "
          + "| **\(escape(failures.code))**\(item.message.map { ": " + escape($0) } ?? "") "
          + "| \(item.recovery.map(escape) ?? "") |\n"
        guard text.utf8.count + row.utf8.count <= room else {
          return text + "\nand \(contents.failed - shown) more\n"
        }
        text += row
        shown += 1
      }
    }
    return text
  }

  /// Text from outside, so that neither Markdown nor HTML nor a table finds anything in it.
  ///
  /// A reference in place of a character is text wherever it stands (CommonMark 6.2); a backslash
  /// before one isn't, inside of a table's cell.
  package static func escape(_ text: String) -> String {
    var result = ""
    for scalar in Printable.escape(text).unicodeScalars {
      switch scalar {
      case "&", "<", ">", "\"", "|", "`", "*", "_", "~", "\\", "[", "]", "!", "$", "@", "#", "^":
        result += "&#\(scalar.value);"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
