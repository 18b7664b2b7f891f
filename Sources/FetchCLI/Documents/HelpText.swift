// The texts of `-h` and `--help`, from the option table. Pure.

import FetchCore

/// The help at a width.
package enum HelpText {
  /// One line an option.
  package static func short(width: Int) -> String {
    var text = head()
    for (category, rows) in OptionTable.byCategory {
      text += "\n\(category.rawValue):\n"
      for row in rows { text += entry(row.usage, row.summary, width: width) }
    }
    return text + "\nMore is in 'vidfetch --help' and vidfetch(1).\n"
  }

  /// Everything about each option, and what a script needs to know.
  package static func long(width: Int) -> String {
    let width = limited(width)
    var text = head()
    for paragraph in ManualFacts.description { text += "\n" + wrap(paragraph, 0, width) }
    for (category, rows) in OptionTable.byCategory {
      text += "\n\(category.rawValue):\n"
      for row in rows {
        text += "  \(row.usage)\n" + wrap(row.details, 10, width)
      }
    }
    text += "\nExit status:\n"
    for code in OutcomeCode.allCases {
      let number = code == .signal ? "128+n" : "\(code.exitStatus)"
      text += entry(
        Figures.padded(number, to: 5) + "  " + code.rawValue, ExitStatus.meaning(code),
        width: width)
    }
    text += "\nEnvironment:\n"
    for entry in ManualFacts.environment {
      text += "  \(entry.term)\n" + wrap(entry.text, 10, width)
    }
    text += "\nExamples:\n"
    for entry in ManualFacts.examples {
      text += "  \(entry.term)\n" + wrap(entry.text, 10, width)
    }
    return text
  }

  private static func head() -> String {
    "vidfetch \(vidfetchVersion): \(ManualFacts.summary)\n\nUsage: \(ManualFacts.synopsis)\n"
  }

  /// A term with its text in a column beside it, or below where the term is too long.
  private static func entry(_ term: String, _ text: String, width: Int) -> String {
    let column = 30
    let body = wrap(text, column, limited(width))
    let lead = "  " + term
    guard lead.utf8.count <= column - 2 else { return lead + "\n" + body }
    return lead + body.dropFirst(lead.utf8.count)
  }

  /// Lines longer than this are hard to read, shorter ones leave no room beside the names.
  private static func limited(_ width: Int) -> Int { min(max(width, 60), 100) }

  /// The words in lines of at most `width` columns, each begun with `indent` spaces.
  static func wrap(_ text: String, _ indent: Int, _ width: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines = ""
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > width {
        lines += margin + line + "\n"
        line = ""
      }
      line += line.isEmpty ? String(word) : " " + word
    }
    return lines + margin + line + "\n"
  }
}

extension OptionTable {
  /// The rows by category, in the order of both.
  static var byCategory: [(OptionCategory, [OptionDefinition])] {
    OptionCategory.allCases.map { category in (category, rows.filter { $0.category == category }) }
  }
}

extension OptionDefinition {
  /// The names and the value's word, such as `-o, --output FILE`.
  var usage: String {
    let names = (short == nil ? "    " : "") + self.names.joined(separator: ", ")
    return names + (value.map { " \($0.word)" } ?? "")
  }
}
