import FetchCLI
import FetchCore
import Foundation
import Testing

/// A file of the source tree.
func repositoryFile(_ path: String, from file: String = #filePath) -> URL {
  URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent(path)
}

@Suite struct DocumentTests {
  @Test(arguments: GeneratedText.allCases)
  func committedDocumentIsCurrent(what: GeneratedText) throws {
    let file = repositoryFile(GeneratedDocument.path(what))
    #expect(try String(contentsOf: file, encoding: .utf8) == GeneratedDocument.text(what))
  }

  @Test(arguments: GeneratedText.allCases)
  func everyOptionIsInEveryDocument(what: GeneratedText) {
    let text = GeneratedDocument.text(what).replacing("\\-", with: "-")
    for row in OptionTable.rows {
      if let long = row.long {
        let needle = what == .fish ? "-l \(long)" : what == .man ? "Fl -\(long)" : "--\(long)"
        #expect(text.contains(needle))
      }
    }
  }

  @Test func shortHelpIsWhatIsStored() throws {
    let file = repositoryFile("Tests/FetchCLITests/Snapshots/help-short.txt")
    #expect(try String(contentsOf: file, encoding: .utf8) == HelpText.short(width: 80))
  }

  @Test func longHelpIsWhatIsStored() throws {
    let file = repositoryFile("Tests/FetchCLITests/Snapshots/help-long.txt")
    #expect(try String(contentsOf: file, encoding: .utf8) == HelpText.long(width: 80))
  }

  @Test func shortHelpNeedsOneLineAnOption() {
    for row in OptionTable.rows { #expect(row.summary.utf8.count <= 50, "\(row.summary)") }
    for line in HelpText.short(width: 80).split(separator: "\n") { #expect(line.count <= 80) }
  }

  @Test func helpNamesEveryExitStatus() {
    let text = HelpText.long(width: 80)
    for code in OutcomeCode.allCases { #expect(text.contains("  \(code.rawValue) ")) }
  }

  @Test func versionNamesTheLicence() {
    #expect(VersionText.text.hasPrefix("vidfetch \(vidfetchVersion)\n"))
    #expect(VersionText.text.contains("MIT") && VersionText.text.contains("GPL"))
  }
}
