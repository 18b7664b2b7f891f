// Lists of items: from any editor, from a pipe, with bad lines in them.

import Foundation
import TestSupport
import Testing

@Suite("Lists of items")
struct BatchListTests {
  @Test(arguments: [true, false])
  func aListMayBeWrittenByAnyEditor(onStandardInput: Bool) throws {
    let shelf = try FilmShelf(4)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let lines = [
      "\u{FEFF}\(server.url("film-0001.mp4"))", "", "# \(server.url("film-0004.mp4"))", " \t",
      "\(server.url("film-0002.mp4"))\tThe second one",
      #"{"url": "\#(server.url("film-0003.mp4"))", "name": "third", "format": "mp4"}"#,
    ]
    try lines.joined(separator: "\r\n").write(
      toFile: run.file("list"), atomically: false, encoding: .utf8)
    let outcome = try run.run(
      ["-i", onStandardInput ? "-" : "list", "-d", "out"],
      stdin: onStandardInput ? run.file("list") : "/dev/null")
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let names = ["film-0001.mp4", "The second one.mp4", "third.mp4"]
    try shelf.expectEach(names, in: run.file("out"))
    #expect(outcome.stdoutLines.sorted() == names.map { run.file("out/\($0)") }.sorted())
  }

  @Test func aJSONLineSaysWhatAnItemNeeds() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let digest = try digest(FixtureFile.media("plain.mp4"))
    let list = try run.list([
      #"{"url":"\#(server.url("plain.mp4"))","name":"a","format":"mov","headers":{"X-Key":"k3y"}"#
        + #","checksum":"sha256:\#(digest)","no_audio":true}"#,
      #"{"url":"\#(server.url("rot90.mp4"))","checksum":"sha256:\#(digest)"}"#,
    ])
    let outcome = try run.run(["-i", list, "-d", "out", "--json"])
    #expect(outcome.status == .exited(31), "\(outcome.stderr)")
    #expect(folderNames(run.file("out")) == ["a.mov"])
    #expect(try MediaFacts(run.file("out/a.mov")).packets == ["h264": 50])
    let output = try BatchOutput(outcome)
    #expect(try output.result("plain.mp4").name == "a.mov")
    #expect(try output.result("rot90.mp4").code == "damaged")
    for request in try server.gets() {
      #expect((request.header("X-Key") == "k3y") == (request.path == "/plain.mp4"))
    }
  }

  @Test func whatIsListedTwiceIsFetchedOnce() throws {
    let shelf = try FilmShelf(1)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let url = server.url("film-0001.mp4")
    let list = try run.list([url, url, "\(url)#there", url.replacing("http://", with: "HTTP://")])
    let outcome = try run.run(["-i", list, "-d", "out", "--json", url])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.results.count { $0.skipped == "duplicate" } == 4)
    #expect(output.summary.okCount == 1 && output.summary.skippedCount == 4)
    #expect(try server.gets().count == 1)
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func badLinesFailByTheirNumberAndStopNothing() throws {
    let shelf = try FilmShelf(2)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("film-0001.mp4"),
      "not a url",
      #"{"url": "\#(server.url("film-0002.mp4"))""#,
      #"{"address": "\#(server.url("film-0002.mp4"))"}"#,
      "\(server.url("film-0002.mp4"))\t../up",
      "\(server.url("film-0002.mp4"))\tone\ttwo",
      "\tname",
      "gopher://127.0.0.1/a.mp4",
      "# none of these",
      server.url("film-0002.mp4"),
    ])
    let outcome = try run.run(["-i", list, "-d", "out", "--json", "--results", "log"])
    #expect(outcome.status == .exited(22), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    let bad = output.results.filter { $0.code != "ok" }
    #expect(bad.compactMap(\.line).sorted() == Array(2...8))
    #expect(bad.allSatisfy { $0.exit == 22 && $0.code == "refused" && $0.list == "list" })
    #expect(bad.allSatisfy { $0.retryable == false && $0.message?.isEmpty == false })
    #expect(output.summary.okCount == 2 && output.summary.failed == ["refused": 7])
    #expect(outcome.stderrLines.count { $0.contains("list:") || $0.contains("line ") } >= 6)
    try shelf.expectEach(shelf.names, in: run.file("out"))
    #expect(try run.recorded("log").count == 9)
  }

  /// A line is data: what looks like an option is a file that isn't there.
  @Test func linesAreNeverOptions() throws {
    let run = try VidfetchRun()
    let list = try run.list(["--version", "-o", "--exec touch here ;"])
    let outcome = try run.run(["-i", list, "-d", "out", "--json"])
    #expect(outcome.status == .exited(50), "\(outcome.stderr)")
    #expect(try BatchOutput(outcome).summary.failed == ["not-found": 2, "refused": 1])
    #expect(run.leftovers() == ["work/list"])
  }

  @Test(arguments: ["", "\n\n", "# nothing\r\n\r\n"])
  func anEmptyListIsAMistakeUnlessAllowed(text: String) throws {
    let run = try VidfetchRun()
    try text.write(toFile: run.file("list"), atomically: false, encoding: .utf8)
    let refused = try run.run(["-i", "list", "-d", "out", "--json"])
    expectFailure(refused, 2, of: run, says: ["--allow-empty"], beside: ["work/list"])
    let allowed = try run.run(["-i", "list", "-d", "out", "--allow-empty", "--json"])
    #expect(allowed.status == .exited(0), "\(allowed.stderr)")
    let output = try BatchOutput(allowed)
    #expect(output.results.isEmpty && output.summary.okCount == 0 && output.summary.exit == 0)
  }

  @Test func aListThatCannotBeReadStartsNothing() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    _ = try run.list([server.url("plain.mp4")])
    chmod(run.file("list"), 0)
    chmod(run.path, 0o755)
    let asNobody =
      Machine.isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    for (list, wrapper) in [("missing", [String]()), (".", []), ("list", asNobody)] {
      let outcome = try run.run(
        ["-i", list, "-d", "out", server.url("plain.mp4")], wrapper: wrapper)
      expectFailure(outcome, 2, of: run, naming: list, beside: ["work/list"])
    }
    #expect(try server.log().isEmpty)
  }

  /// The writer of a pipe may take days between two lines.
  @Test func anItemIsDoneBeforeTheNextLineIsWritten() throws {
    let shelf = try FilmShelf(3)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    #expect(mkfifo(run.file("pipe"), 0o600) == 0)
    let process = try run.start(["-i", "pipe", "-d", "out"])
    let pipe = try #require(FileHandle(forWritingAtPath: run.file("pipe")))
    for (index, name) in shelf.names.enumerated() {
      try pipe.write(contentsOf: Data("\(server.url(name))\n".utf8))
      try waitUntil("the path of item \(index + 1)") {
        process.stdout.split(separator: "\n").count == index + 1
      }
      #expect(process.stdout.hasSuffix("/out/\(name)\n"))
    }
    try pipe.close()
    let outcome = try process.wait()
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func aShellLoopKeepsItsStandardInput() throws {
    let shelf = try FilmShelf(3)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url($0) })
    let loop = #"while read -r url; do "$0" -d out "$url" || exit; done"#
    let outcome = try run.run([], wrapper: ["sh", "-c", loop], stdin: run.file(list))
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(outcome.stdoutLines == shelf.names.map { run.file("out/\($0)") })
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }
}
