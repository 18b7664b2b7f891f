// --report over what runs have written, and the list of failures that the next run takes.

import Foundation
import TestSupport
import Testing

@Suite("Reports")
struct ReportTests {
  /// Two runs with one results file: of four items one is done at first, one in the second run.
  private func twoRuns(_ run: VidfetchRun, _ server: FaultServer) throws -> [String] {
    let list = try run.list([
      server.url("plain.mp4"), server.url("~status=503&times=1&gets=1/rot90.mp4"),
      #"{"url":"\#(server.url("~status=404/sar43.mp4"))","name":"a <b>|*name*","format":"mov"}"#,
      server.url("~body=login/x.mp4"),
    ])
    let words = [
      "-i", list, "-d", "out", "--retries", "0", "--archive", "archive", "--results", "log",
    ]
    #expect(try run.run(words).status == .exited(11))
    #expect(try run.run(words).status == .exited(50))
    return words
  }

  @Test func theLastOutcomeOfEachItemCounts() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    _ = try twoRuns(run, server)
    #expect(try run.recorded("log").count == 8)

    let table = try run.run(["--report", "--report-format", "table", "log"])
    #expect(table.status == .exited(0), "\(table.stderr)")
    let lines = table.stdoutLines
    #expect(lines.first == "2 of 4 items failed")
    #expect(lines.contains { $0.contains("merged from 8 results") })
    #expect(lines.contains { $0.hasPrefix("1  ok") })
    #expect(lines.contains { $0.hasPrefix("1  skipped") })
    #expect(lines.contains { $0.hasPrefix("1  not-found") } && !table.stdout.contains("busy"))
    #expect(lines.allSatisfy { $0.count <= 80 })

    let markdown = try run.run(["--report", "log"])
    #expect(markdown.status == .exited(0), "\(markdown.stderr)")
    #expect(markdown.stdout.hasPrefix("## vidfetch: 2 of 4 items failed\n"))
    #expect(markdown.stdoutLines.contains { $0.hasPrefix("| not-found | 1 |") })

    let page = try run.run(["--report", "--report-format", "html", "log"])
    #expect(page.status == .exited(0), "\(page.stderr)")
    #expect(page.stdout.contains("2 of 4 items failed"))
    try page.stdout.write(toFile: run.file("page"), atomically: false, encoding: .utf8)
    // One file that needs nothing else, and opens and closes its elements in pairs.
    let script = """
      import html.parser, sys
      empty = {"meta", "link", "br", "img", "hr", "input", "wbr", "col"}
      class Reader(html.parser.HTMLParser):
          open = []
          def handle_starttag(self, tag, attributes):
              if tag not in empty: self.open.append(tag)
              for name, value in attributes:
                  if name == "src" or (name == "href" and tag == "link"):
                      if not (value or "").startswith("data:"): print("needs", value)
          def handle_endtag(self, tag):
              if not self.open or self.open.pop() != tag: print("unpaired", tag, self.getpos())
      reader = Reader()
      reader.feed(open(sys.argv[1]).read())
      print(*reader.open, end="")
      """
    #expect(try outputOfTool(["/usr/bin/python3", "-c", script, run.file("page")]) == "")
    #expect(try server.log().count { $0.method == "GET" } > 0)
  }

  @Test func theListOfFailuresIsTheNextRunsList() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let words = try twoRuns(run, server)
    let failed = try run.run(["--report", "--report-format", "failed-list", "log"])
    #expect(failed.status == .exited(0), "\(failed.stderr)")
    let items = failed.stdoutLines.filter { !$0.hasPrefix("#") }
    #expect(items.count == 2, "\(failed.stdout)")

    try server.reset()
    try server.mend()
    try failed.stdout.write(toFile: run.file("again"), atomically: false, encoding: .utf8)
    let outcome = try run.run(["-i", "again"] + words.dropFirst(2))
    #expect(outcome.status == .exited(20), "\(outcome.stderr)")
    #expect(try Set(server.gets().map(\.path)) == ["/sar43.mp4", "/x.mp4"])
    let names = folderNames(run.file("out"))
    #expect(names.count == 3 && names.contains { $0.hasSuffix("name.mov") || $0.contains("name") })
    let rest = try run.run(["--report", "--report-format", "table", "log"])
    #expect(rest.stdoutLines.first == "1 of 4 items failed")
  }

  @Test func aLogWithTornLinesStillTellsTheRest() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-d", "out", "--results", "log", server.url("plain.mp4")])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    var text = String(decoding: fileBytes(run.file("log")), as: UTF8.self)
    text += String(text.dropLast(40)) + "\n" + "not json\n" + String(text.prefix(60))
    try text.write(toFile: run.file("log"), atomically: false, encoding: .utf8)
    let report = try run.run(["--report", "--report-format", "table", "log"])
    #expect(report.stdoutLines.first == "the one item is done", "\(report.stdout)")
    #expect(report.stdout.contains("3 unreadable lines"), "\(report.stdout)")
    // A run that goes on with it begins a line of its own.
    let more = try run.run(["-d", "out", "--results", "log", server.url("rot90.mp4")])
    #expect(more.status == .exited(0), "\(more.stderr)")
    let both = try run.run(["--report", "--report-format", "table", "log"])
    #expect(both.stdoutLines.first == "all 2 items are done", "\(both.stdout)")
  }

  @Test func aReportOfNothingThatIsThereIsAnError() throws {
    let run = try VidfetchRun()
    let outcome = try run.run(["--report", "no-such-log"])
    expectFailure(outcome, 20, of: run, naming: "no-such-log")
  }
}
