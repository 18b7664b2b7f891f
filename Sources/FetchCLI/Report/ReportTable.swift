// A report for a terminal. Pure. All text from outside is made safe here.

/// The form `table`.
package enum ReportTable {
  /// Longer lines are hard to read.
  private static let widest = 120

  /// The whole, ended by a line feed; no line is wider than `width` columns.
  package static func text(_ contents: ReportContents, width: Int) -> String {
    let width = min(max(width, 24), widest)
    var lines = ProbeTable.wrap(contents.headline, 0, width)
    let facts = contents.facts.joined(separator: ", ")
    if !facts.isEmpty { lines += ProbeTable.wrap(facts, 0, width) }
    if contents.items > 0 { lines += [""] + totals(contents, width) }
    for failures in contents.failures {
      lines.append("")
      lines.append(cut(heading(failures), width))
      for item in failures.items { lines += failure(item, width) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func totals(_ contents: ReportContents, _ width: Int) -> [String] {
    var rows: [(count: Int, name: String, note: String?)] = []
    if contents.ok > 0 { rows.append((contents.ok, "ok", nil)) }
    if contents.skipped > 0 { rows.append((contents.skipped, "skipped", "done before")) }
    for failures in contents.failures {
      rows.append((failures.items.count, Printable.escape(failures.code), failures.advice))
    }
    let digits = rows.map { "\($0.count)".utf8.count }.max() ?? 0
    let columns = rows.map { DisplayWidth.of($0.name) }.max() ?? 0
    return rows.map { row in
      var line = "\(Figures.padded("\(row.count)", to: digits))  \(row.name)"
      if let note = row.note {
        line += String(repeating: " ", count: columns - DisplayWidth.of(row.name)) + "  \(note)"
      }
      return cut(line, width)
    }
  }

  private static func heading(_ failures: ReportContents.Failures) -> String {
    Printable.escape(failures.code) + (failures.advice.map { " (\($0))" } ?? "")
  }

  private static func failure(_ item: RecordedResult, _ width: Int) -> [String] {
    let texts = [item.message, item.recovery].compactMap { $0 }.joined(separator: "; ")
    let lines = texts.isEmpty ? [] : ProbeTable.wrap(Printable.escape(texts), 4, width)
    return ["  " + cut(Printable.escape(item.url), width - 2)] + lines
  }

  private static func cut(_ line: String, _ width: Int) -> String {
    DisplayWidth.truncate(line, columns: width)
  }
}
