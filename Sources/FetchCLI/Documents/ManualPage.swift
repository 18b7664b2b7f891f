// vidfetch(1) in mdoc(7), from the option table. Pure.

import FetchCore

/// The man page.
package enum ManualPage {
  /// The whole page.
  package static var text: String {
    var page = Page()
    page.comment("Made by 'vidfetch --generate man'; changed in the option table.")
    page.macro("Dd \(ManualFacts.date)")
    page.macro("Dt VIDFETCH 1")
    page.macro("Os")
    page.macro("Sh NAME")
    page.macro("Nm vidfetch")
    page.macro("Nd \(ManualFacts.summary)")
    page.macro("Sh SYNOPSIS")
    page.macro("Nm")
    page.macro("Op Ar options")
    page.macro("Op Fl i Ar LIST")
    page.macro("Op Ar URL ...")
    page.macro("Sh DESCRIPTION")
    page.paragraphs(ManualFacts.description)
    page.macro("Sh OPTIONS")
    for (category, rows) in OptionTable.byCategory {
      page.macro("Ss \(category.rawValue)")
      page.macro("Bl -tag -width Ds")
      for row in rows {
        page.macro("It " + row.manualNames)
        page.sentences(row.details)
      }
      page.macro("El")
    }
    page.macro("Sh ENVIRONMENT")
    page.list(ManualFacts.environment, term: "Ev")
    page.macro("Sh FILES")
    page.list(ManualFacts.files, term: "Pa")
    page.macro("Sh EXIT STATUS")
    page.sentences(
      """
      The tens digit is the class, and 10 to 19 are worth a re-run. The names are the values of code \
      in JSON.
      """)
    page.macro("Bl -column \"128+n\" \"cannot-passthrough\" \"when\"")
    for code in OutcomeCode.allCases {
      let number = code == .signal ? "128+n" : "\(code.exitStatus)"
      page.macro(
        "It \(number) Ta \(Page.escaped(code.rawValue)) Ta "
          + Page.escaped(ExitStatus.meaning(code)))
    }
    page.macro("El")
    page.macro("Pp")
    page.sentences(
      """
      Of several items one and the same code of all failures is the status; otherwise the smallest of \
      40 to 42, else the smallest of 10 and 11, else 50.
      """)
    page.macro("Sh EXAMPLES")
    for (index, example) in ManualFacts.examples.enumerated() {
      if index > 0 { page.macro("Pp") }
      page.sentences(example.text)
      page.macro("Dl " + Page.escaped(example.term))
    }
    page.macro("Sh JSON OUTPUT")
    page.paragraphs(ManualFacts.json)
    return page.text
  }

  /// Lines of mdoc.
  private struct Page {
    var text = ""

    mutating func comment(_ text: String) { self.text += ".\\\" \(text)\n" }

    mutating func macro(_ line: String) { text += ".\(line)\n" }

    mutating func paragraphs(_ paragraphs: [String]) {
      for (index, paragraph) in paragraphs.enumerated() {
        if index > 0 { macro("Pp") }
        sentences(paragraph)
      }
    }

    mutating func list(_ entries: [ManualFacts.Entry], term: String) {
      macro("Bl -tag -width Ds")
      for entry in entries {
        let names = entry.term.split(separator: ", ").map { Page.escaped(String($0)) }
        macro("It " + names.map { "\(term) \($0)" }.joined(separator: " , "))
        sentences(entry.text)
      }
      macro("El")
    }

    /// Text with each sentence on a line of its own, which is what formatters space by.
    mutating func sentences(_ text: String) {
      var rest = Substring(text)
      while let end = rest.firstRange(of: ". ") {
        self.text(of: rest[..<end.lowerBound] + ".")
        rest = rest[end.upperBound...]
      }
      self.text(of: rest)
    }

    /// A sentence in lines that people can read and compare.
    private mutating func text(of sentence: Substring) {
      for line in HelpText.wrap(String(sentence), 0, 72).split(separator: "\n") {
        text += Page.escaped(String(line)) + "\n"
      }
    }

    /// What roff would read as its own.
    ///
    /// Dashes and apostrophes are those of the shell.
    static func escaped(_ text: String) -> String {
      var result = ""
      for character in text {
        switch character {
        case "\\": result += "\\e"
        case "-": result += "\\-"
        case "'": result += "\\(aq"
        case "\"": result += "\\(dq"
        case "`": result += "\\(ga"
        case "^": result += "\\(ha"
        case "~": result += "\\(ti"
        default: result.append(character)
        }
      }
      return result.hasPrefix(".") ? "\\&" + result : result
    }
  }
}

extension OptionDefinition {
  /// The names for an `.It` line.
  fileprivate var manualNames: String {
    let word = value.map { " Ar \($0.word)" } ?? ""
    var names: [String] = []
    if let short { names.append("Fl \(short)\(word)") }
    if let long { names.append("Fl \\-\(long.replacing("-", with: "\\-"))\(word)") }
    return names.joined(separator: " , ")
  }
}
