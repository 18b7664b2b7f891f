// The command after --exec: what it is given, what it is kept from, and what its failure means.

import Foundation
import TestSupport
import Testing

@Suite("The command on each file")
struct ExecTests {
  @Test func thePathIsOneArgumentWhateverIsInIt() throws {
    let shelf = try FilmShelf(1)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      "\(server.url("film-0001.mp4"))\tit's \"one\" film; $(touch here) `touch there` & {} *"
    ])
    let script = #"printf '%s\n' "$#" "$@" "$VIDFETCH_PATH" > arguments"#
    let outcome = try run.run([
      "-i", list, "-d", "out", "--json", "--exec", "sh", "-c", script, "sh", "{}", "<{}>", ";",
    ])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let path = try #require(BatchOutput(outcome).results.first?.path)
    #expect(path.contains("it's ") && path.contains("$(touch here)"))
    let arguments = String(decoding: fileBytes(run.file("arguments")), as: UTF8.self)
    #expect(arguments == "2\n\(path)\n<\(path)>\n\(path)\n")
    #expect(run.leftovers().count == 3, "list, arguments and the film: \(run.leftovers())")
  }

  @Test func itHearsAboutTheFileByVariables() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(
      [
        "-d", "out", "-f", "mov", "--exec", "sh", "-c", "env | grep ^VIDFETCH_ > variables", ";",
        server.url("plain.mp4").replacing("//", with: "//viewer:pa55@"),
      ], extra: ["VIDFETCH_TITLE": "an older one", "VIDFETCH_PROGRESS": "none"])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let lines = String(decoding: fileBytes(run.file("variables")), as: UTF8.self)
      .split(separator: "\n").map(String.init)
    let size = try #require(fileSize(run.file("out/plain.mov")))
    #expect(lines.contains("VIDFETCH_PATH=\(run.file("out/plain.mov"))"))
    #expect(lines.contains("VIDFETCH_URL=\(server.url("plain.mp4"))"), "without the password")
    #expect(lines.filter { $0.hasPrefix("VIDFETCH_TITLE=") } == ["VIDFETCH_TITLE=plain"])
    #expect(lines.contains("VIDFETCH_FORMAT=mov") && lines.contains("VIDFETCH_BYTES=\(size)"))
    #expect(lines.contains { $0.hasPrefix("VIDFETCH_DURATION=2") })
  }

  @Test func itReadsNothingAndItsOutputIsNoResult() throws {
    let shelf = try FilmShelf(3)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url($0) })
    let outcome = try run.run(
      [
        "-i", "-", "-d", "out", "-j", "1", "--exec", "sh", "-c", "cat >> read; echo heard of $0",
        "{}", ";",
      ], stdin: run.file(list))
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(fileSize(run.file("read")) == 0)
    #expect(outcome.stdoutLines == shelf.names.map { run.file("out/\($0)") })
    for name in shelf.names {
      #expect(outcome.stderrLines.contains("heard of \(run.file("out/\(name)"))"))
    }
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test(arguments: [["false"], ["sh", "-c", "kill -9 $$"], ["./no-such-command", "{}"]])
  func itsFailureLeavesTheFileAndIsToldApart(command: [String]) throws {
    let shelf = try FilmShelf(2)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let urls = shelf.names.map { server.url($0) }
    let words = ["-d", "out", "--exec"] + command + [";"]
    let outcome = try run.run(words + urls)
    #expect(outcome.status == .exited(51), "\(outcome.stderr)")
    #expect(outcome.stdoutLines.sorted() == shelf.names.map { run.file("out/\($0)") })
    #expect(outcome.stderrLines.count { $0.contains(command[0]) } == 2, "\(outcome.stderr)")
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func itsFailureIsAnOutcomeLikeOthers() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "-d", "out", "--json", "--results", "log", "--exec", "sh", "-c",
      #"case "$0" in *plain*) exit 3; esac"#, "{}", ";", server.url("plain.mp4"),
      server.url("rot90.mp4"), server.url("nothing.mp4"),
    ])
    #expect(outcome.status == .exited(50), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.summary.failed == ["hook-failed": 1, "not-found": 1])
    let failed = try output.result("plain.mp4")
    #expect(failed.exit == 51 && failed.retryable == false)
    #expect(failed.path == run.file("out/plain.mp4"))
    #expect(failed.message?.contains("3") == true)
    #expect(try run.recorded("log").count == 3)
    #expect(folderNames(run.file("out")) == ["plain.mp4", "rot90.mp4"])
  }

  @Test func itIsNotRunForWhatNeededNothing() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let words = [
      "-d", "out", "--archive", "archive", "--exec", "sh", "-c", "echo ran >> runs", ";",
      server.url("plain.mp4"),
    ]
    for _ in 0..<2 { #expect(try run.run(words).status == .exited(0)) }
    let existing = words.filter { $0 != "--archive" && $0 != "archive" } + ["--skip-existing"]
    #expect(try run.run(existing).status == .exited(0))
    #expect(try run.run(words + [server.url("plain.mp4")]).status == .exited(0))
    #expect(fileBytes(run.file("runs")) == Data("ran\n".utf8))
  }

  @Test func aSignalEndsItToo() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try run.start([
      "-d", "out", "--exec", "sh", "-c", "echo $$ > new && mv new number; exec sleep 600", ";",
      server.url("plain.mp4"),
    ])
    try waitUntil("the command") { fileSize(run.file("number")) != nil }
    let text = String(decoding: fileBytes(run.file("number")), as: UTF8.self)
    let number = try #require(pid_t(text.filter(\.isNumber)))
    let start = now()
    process.signal(SIGINT)
    let outcome = try process.wait()
    #expect(outcome.status == .signalled(SIGINT), "\(outcome.stderr)")
    #expect(now() - start < 1)
    try waitUntil("the command's end", limit: 5) { kill(number, 0) != 0 }
    #expect(folderNames(run.file("out")) == ["plain.mp4"], "the file stays")
  }

  @Test(arguments: [["--exec"], ["--exec", "true"], ["--exec", ";"], ["--exec", "true", "\\;"]])
  func aCommandWithoutAnEndStartsNothing(words: [String]) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-d", "out", server.url("plain.mp4")] + words)
    expectFailure(outcome, 2, of: run, says: ["--exec"])
    #expect(try server.log().isEmpty)
  }
}
