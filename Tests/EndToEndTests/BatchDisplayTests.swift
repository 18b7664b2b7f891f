// The display of many items in a real terminal: a line for all of them over one for each that runs.

import Foundation
import TestSupport
import Testing

@Suite("Batch display")
struct BatchDisplayTests {
  /// Four films that take some seconds, one that isn't there, and one that is a web page.
  private func list(_ server: FaultServer, _ run: VidfetchRun, rate: Int = 45_000) throws -> String
  {
    let films = (1...4).map { server.url("~rate=\(rate)/resume_a.mp4?film=\($0)") + "\tfilm\($0)" }
    let lines = films + [server.url("nothing.mp4"), server.url("~body=login/page.mp4")]
    try (lines.joined(separator: "\n") + "\n").write(
      toFile: run.file("list"), atomically: true, encoding: .utf8)
    return run.file("list")
  }

  private func terminal(
    _ run: VidfetchRun, columns: Int, rows: Int = 24, _ arguments: String
  ) throws -> Terminal {
    try Terminal(
      columns: columns, rows: rows, "cd '\(run.work)' && '\(VidfetchRun.binary)' \(arguments)",
      environment: run.environment)
  }

  /// The line of the whole batch.
  private func totals(_ screen: [String]) -> [String] {
    screen.filter { $0.contains("/6") && $0.contains("[") }
  }

  private func items(_ screen: [String]) -> [String] {
    screen.filter { $0.hasPrefix("  film") && $0.contains("%") }
  }

  @Test(arguments: [40, 80, 200])
  func oneLineForAllOverOneForEach(columns: Int) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = try list(server, run)
    let terminal = try terminal(run, columns: columns, "-j 3 -d out -i '\(list)'")
    var fractions: [Int] = []
    try terminal.wait(for: "the lines to move", limit: 30) { screen in
      let totals = totals(screen)
      let items = items(screen)
      guard let total = totals.last, !items.isEmpty else { return false }
      #expect(totals.count == 1, "\(screen)")
      #expect(items.count <= 3, "\(screen)")
      #expect(screen.allSatisfy { $0.count <= columns })
      if let value = percentage(total) { fractions.append(value) }
      return Set(fractions).count >= 4
    }
    #expect(fractions == fractions.sorted(), "\(fractions)")
    #expect(try terminal.waitForEnd() == 50)
    let last = try terminal.screen()
    // The block is gone; errors, paths and the summary are what is left.
    #expect(totals(last).isEmpty && items(last).isEmpty, "\(last)")
    let text = last.joined()
    #expect(text.contains("404") && text.contains("4 ok") && text.contains("2 failed"), "\(last)")
    #expect(text.contains(run.file("out/film4.mp4")), "\(last)")
    #expect(try terminal.cursorIsVisible())
  }

  @Test func theBlockFollowsTheWidth() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = try list(server, run, rate: 18_000)
    let terminal = try terminal(run, columns: 120, "-j 4 -d out -i '\(list)'")
    for columns in [120, 40, 160, 60] {
      try terminal.resize(columns: columns)
      try terminal.wait(for: "one block in \(columns) columns", limit: 30) { screen in
        let totals = totals(screen)
        return totals.count == 1 && items(screen).count == 4
          && (totals + items(screen)).allSatisfy { $0.count <= columns }
      }
    }
    #expect(try terminal.waitForEnd() == 50)
    #expect(totals(try terminal.screen()).isEmpty)
  }

  @Test func aLowScreenCountsWhatItCanNotShow() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = try list(server, run, rate: 30_000)
    let terminal = try terminal(run, columns: 80, rows: 6, "-j 4 -d out -i '\(list)'")
    try terminal.wait(for: "a line that counts the rest", limit: 30) { screen in
      screen.contains { $0.hasPrefix("  and ") && $0.hasSuffix(" more") }
    }
    try terminal.press("C-c")
    #expect(try terminal.waitForEnd() == 130)
    #expect(try terminal.screen().joined().contains("run the same command again to resume"))
  }

  @Test func resultsOnAPipeLeaveADoneLineEach() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = try list(server, run, rate: 400_000)
    let terminal = try terminal(run, columns: 100, "-j 2 -d out -i '\(list)' > paths")
    #expect(try terminal.waitForEnd() == 50)
    let screen = try terminal.screen()
    #expect(screen.filter { $0.contains(": done, ") }.count == 4, "\(screen)")
    let paths = String(decoding: fileBytes(run.file("paths")), as: UTF8.self)
    #expect(Set(paths.split(separator: "\n")).count == 4)
  }

  @Test func offATerminalAnItemIsALine() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = try list(server, run, rate: 400_000)
    let outcome = try run.run(["-j", "2", "-d", "out", "-i", list])
    #expect(outcome.status == .exited(50))
    #expect(outcome.stderrLines.count == 7, "\(outcome.stderr)")
    #expect(!outcome.stderr.contains("\r") && !outcome.stderr.contains("\u{1B}"))
    #expect(outcome.stderrLines.last?.contains("4 ok, 2 failed") == true, "\(outcome.stderr)")
  }

  private func percentage(_ line: String) -> Int? {
    let digits = line.prefix { $0 != "%" }.reversed().prefix { $0.isNumber }
    return Int(String(digits.reversed()))
  }
}
