// The bar in a real terminal, plain lines elsewhere.

import Foundation
import TestSupport
import Testing

@Suite("Terminal")
struct TerminalTests {
  private func command(_ run: VidfetchRun, _ arguments: String) -> String {
    "cd '\(run.work)' && '\(VidfetchRun.binary)' \(arguments)"
  }

  @Test(arguments: [40, 80, 200])
  func barFitsOneLine(columns: Int) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=70000/resume_a.mp4")
    let terminal = try Terminal(
      columns: columns, command(run, "-o a.mp4 '\(url)'"), environment: run.environment)
    var values: [Int] = []
    try terminal.wait(for: "the bar to move") { screen in
      let lines = screen.filter { $0.contains("%") }
      guard lines.count == 1, let line = lines.first else { return false }
      #expect(line.count <= columns)
      if let value = percentage(line) { values.append(value) }
      return Set(values).count >= 3
    }
    #expect(values == values.sorted(), "\(values)")
    #expect(try terminal.waitForEnd() == 0)
    let last = try terminal.screen()
    #expect(last.allSatisfy { $0.count <= columns })
    #expect(try terminal.cursorIsVisible())
    #expect(last.joined().contains(run.file("a.mp4")), "\(last)")
  }

  @Test func barFollowsTheWidth() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=30000/resume_a.mp4")
    let terminal = try Terminal(
      columns: 100, command(run, "-o a.mp4 '\(url)'"), environment: run.environment)
    for columns in [100, 40, 160] {
      try terminal.resize(columns: columns)
      try terminal.wait(for: "a bar in \(columns) columns") { screen in
        guard let bar = screen.last(where: { $0.contains("%") }) else { return false }
        return bar.count <= columns && bar.count > columns * 6 / 10
      }
    }
    #expect(try terminal.waitForEnd() == 0)
    try expectWhole(run)
  }

  @Test func controlCLeavesACleanTerminal() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=20000/resume_a.mp4")
    let terminal = try Terminal(
      columns: 80, command(run, "-o a.mp4 '\(url)'"), environment: run.environment)
    try terminal.wait(for: "the bar") { $0.contains { $0.contains("%") } }
    try terminal.press("C-c")
    #expect(try terminal.waitForEnd() == 130)
    #expect(try terminal.cursorIsVisible())
    #expect(fileSize(run.file("a.mp4")) == nil)
  }

  @Test func failuresReplaceTheBar() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let terminal = try Terminal(
      columns: 200, command(run, "-o a.mp4 '\(server.url("nothing.mp4"))'"),
      environment: run.environment)
    #expect(try terminal.waitForEnd() == 20)
    let screen = try terminal.screen()
    #expect(screen.contains { $0.contains("nothing.mp4") && $0.contains("404") }, "\(screen)")
  }

  @Test(arguments: [
    "a\u{4e2d}\u{6587}\u{5f71}\u{7247}\u{6620}\u{50cf}\u{6620}\u{50cf}\u{6620}\u{50cf}\u{6620}.mp4",
    "cafe\u{301} \u{1f3ac}\u{1f3ac}\u{1f3ac}\u{1f3ac}\u{1f3ac}\u{1f3ac}\u{1f3ac}\u{1f3ac}.mp4",
  ])
  func wideNamesAreCountedByColumns(name: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~rate=60000/resume_a.mp4")
    let terminal = try Terminal(
      columns: 40, command(run, "-o '\(name)' '\(url)'"), environment: run.environment)
    try terminal.wait(for: "the bar to pass 30 %") { screen in
      let bars = screen.filter { $0.contains("%") }
      #expect(bars.count <= 1, "the bar wraps: \(screen)")
      return bars.contains { (percentage($0) ?? 0) > 30 }
    }
    #expect(try terminal.waitForEnd() == 0)
  }

  @Test func offATerminalThereArePlainLines() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", server.url("~rate=70000/resume_a.mp4")])
    try expectSuccess(outcome, at: run.file("a.mp4"))
    #expect(!outcome.stderr.contains("\u{1b}") && !outcome.stderr.contains("\r"))
    #expect(outcome.stderrLines.count >= 1 && outcome.stderrLines.count < 30, "\(outcome.stderr)")
  }

  @Test func withCISetATerminalGetsPlainLinesToo() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let words = "\(VidfetchRun.binary) -o a.mp4 '\(server.url("~rate=70000/resume_a.mp4"))'"
    // script(1) gives the command a terminal and writes down every byte.
    let process = try ChildProcess(
      ["script", "-qec", words, run.file("typescript")],
      environment: run.environment.merging(["CI": "true", "TERM": "xterm", "SHELL": "/bin/sh"]) {
        $1
      },
      folder: run.work, captureIn: run.temp)
    #expect(try process.wait().status == .exited(0))
    let seen = String(decoding: fileBytes(run.file("typescript")), as: UTF8.self)
    #expect(!seen.contains("\u{1b}"), "\(seen)")
  }

  @Test(arguments: ["none", "json", "plain", "bar"])
  func progressIsWhatWasAskedFor(kind: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--progress", kind, "-o", "a.mp4", server.url("~rate=140000/resume_a.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"))
    switch kind {
    case "none": #expect(outcome.stderr == "")
    case "json": #expect(try !Event.all(in: outcome.stderr).isEmpty)
    case "plain": #expect(!outcome.stderr.contains("\r"))
    default: #expect(outcome.stderr.contains("%"))
    }
  }

  private func percentage(_ line: String) -> Int? {
    let words = line.prefix { $0 != "%" }.reversed().prefix { $0.isNumber }
    return Int(String(words.reversed()))
  }

  private func expectWhole(_ run: VidfetchRun) throws {
    #expect(try MediaFacts(run.file("a.mp4")).packets == ["h264": 100, "aac": 189])
    #expect(run.leftovers() == ["work/a.mp4"])
  }
}
