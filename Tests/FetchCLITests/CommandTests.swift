import FetchCLI
import FetchCore
import Foundation
import Testing
import VidFetchKit

/// Runs a command with a made-up engine, and catches what it writes.
private struct CommandRun {
  let ending: ProcessEnding
  let output: String
  let error: String

  /// What the engine does when it is cancelled; a type of its own so that the job can trail.
  struct OnCancel: Sendable {
    var run: @Sendable () -> Void = {}
  }

  typealias Job = @Sendable (JobRequest, _ send: @escaping @Sendable (JobEvent) -> Void) -> Void

  init(
    _ words: [String], terminal: Bool = false, inbox: EventInbox = EventInbox(),
    outputPath: String? = nil, onCancel: OnCancel = OnCancel(),
    job: @escaping Job = { request, send in
      send(.start(url: request.source, target: nil))
      send(.progress(ProgressSnapshot()))
      send(.result(JobResult(url: request.source, format: request.format)))
    }
  ) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("vidfetch-cli-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let outputFile = outputPath.map(URL.init(fileURLWithPath:)) ?? folder.appending(path: "output")
    let errorFile = folder.appending(path: "error")
    if outputPath == nil { try Data().write(to: outputFile) }
    try Data().write(to: errorFile)
    let output = try FileHandle(forWritingTo: outputFile)
    let error = try FileHandle(forWritingTo: errorFile)
    let environment = CommandEnvironment(
      variables: ["COLUMNS": "83", "TERM": "xterm"], standardErrorIsTerminal: terminal)
    let command = Command(
      terminal: Terminal(
        output: output.fileDescriptor, error: error.fileDescriptor, environment: environment),
      environment: environment, inbox: inbox,
      runner: { request, onEvent in
        job(request, onEvent)
        return onCancel.run
      })
    ending = command.run(ArgumentParser.parse(words))
    self.output =
      outputPath == nil ? String(decoding: try Data(contentsOf: outputFile), as: UTF8.self) : ""
    self.error = String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
  }
}

/// An engine that brings each item to the outcome that its URL names, such as `x:not-found`.
@Sendable private func namedOutcome(
  _ request: JobRequest, _ send: @escaping @Sendable (JobEvent) -> Void
) {
  let name = request.source.split(separator: ":").last.map(String.init) ?? ""
  var result = JobResult(url: request.source, format: request.format)
  result.code = OutcomeCode(rawValue: name) ?? .internal
  if result.code == .ok {
    result.path = "/tmp/\(request.source).mp4"
    result.bytes = 1000
  } else {
    result.error = FetchError(result.code, "it is \(name)", recovery: "do better")
  }
  send(.start(url: request.source, target: nil))
  send(.progress(ProgressSnapshot()))
  send(.result(result))
}

@Suite struct CommandTests {
  @Test func printsThePathAndNothingElse() throws {
    let run = try CommandRun(["a:ok"], job: namedOutcome)
    #expect(run.ending == .exit(0))
    #expect(run.output == "/tmp/a:ok.mp4\n")
    #expect(run.error.hasPrefix("vidfetch: fetching a:ok\nvidfetch: a:ok: done, 1.0 kB in "))
  }

  @Test func quietStillPrintsThePath() throws {
    let run = try CommandRun(["-q", "a:ok"], job: namedOutcome)
    #expect(run.output == "/tmp/a:ok.mp4\n")
    #expect(run.error == "")
  }

  @Test func quietShowsErrors() throws {
    let run = try CommandRun(["-q", "a:not-found"], job: namedOutcome)
    #expect(run.ending == .exit(20))
    #expect(run.output == "")
    #expect(run.error == "vidfetch: a:not-found: it is not-found; do better\n")
  }

  @Test func endsRecordsWithNUL() throws {
    let run = try CommandRun(["-0", "-q", "a:ok", "b:ok"], job: namedOutcome)
    #expect(run.output == "/tmp/a:ok.mp4\0/tmp/b:ok.mp4\0")
  }

  @Test func printsTemplatesForFailuresToo() throws {
    let run = try CommandRun(
      ["-q", "--print", "{code} {exit} {path}", "a:ok", "b:tls"], job: namedOutcome)
    #expect(run.output == "ok 0 /tmp/a:ok.mp4\ntls 23 \n")
    #expect(run.ending == .exit(23))
  }

  @Test func printsResultsAndSummaryAsJSON() throws {
    let run = try CommandRun(
      ["-q", "--json", "a:ok", "b:tls", "c:busy"], job: namedOutcome)
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(
      lines[0].hasPrefix(#"{"v":1,"event":"result","job":1,"url":"a:ok","id":""#))
    #expect(lines[0].contains(#"","code":"ok","exit":0,"#))
    #expect(lines[1].contains(#""job":2"#) && lines[1].contains(#""exit":23"#))
    #expect(
      lines[3].hasPrefix(
        #"{"v":1,"event":"summary","job":"batch","ok":1,"skipped":0,"#
          + #""failed":{"busy":1,"tls":1},"bytes":1000,"seconds":"#))
    #expect(lines[3].hasSuffix(#""exit":11}"#))
    #expect(run.ending == .exit(11))
  }

  @Test func oneItemHasNoSummary() throws {
    let run = try CommandRun(["-q", "--json", "a:ok"], job: namedOutcome)
    #expect(run.output.split(separator: "\n").count == 1)
  }

  @Test func jsonProgressIsAllThereIsOnStandardError() throws {
    let run = try CommandRun(["--progress=json", "-vv", "a:tls"]) { request, send in
      send(.log(level: 1, "noise"))
      send(.warning(FetchWarning(.unusual, "odd")))
      namedOutcome(request, send)
    }
    let lines = run.error.split(separator: "\n")
    #expect(lines.allSatisfy { $0.hasPrefix("{\"v\":1,") && $0.hasSuffix("}") })
    let events = try lines.map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return object?["event"] as? String
    }
    #expect(events == ["warning", "start", "progress", "result"])
    #expect(lines[2].contains(#""fraction":0,"#))
    #expect(run.output == "")
  }

  @Test func usageErrorIsOnePlainLineEvenWithJSON() throws {
    let run = try CommandRun(["--progress=json", "--json", "--nonsense", "u"])
    #expect(run.ending == .exit(2))
    #expect(run.error == "vidfetch: unknown option --nonsense; try 'vidfetch --help'\n")
    #expect(run.output == "")
  }

  @Test func noArgumentsIsAUsageError() throws {
    let run = try CommandRun([])
    #expect(run.ending == .exit(2))
    #expect(run.error == "vidfetch: no URL; try 'vidfetch --help'\n")
  }

  @Test func helpGoesToStandardOutput() throws {
    #expect(try CommandRun(["-h"]).output == HelpText.short(width: 80))
    #expect(try CommandRun(["--help", "--nonsense"]).output == HelpText.long(width: 80))
    #expect(try CommandRun(["--version"]).output == VersionText.text)
    #expect(try CommandRun(["--generate", "man"]).output == GeneratedDocument.text(.man))
  }

  @Test func skippedItemsPrintTheirPath() throws {
    let run = try CommandRun(["a"]) { request, send in
      var result = JobResult(url: request.source, format: .mp4)
      result.skipped = .exists
      result.path = "/tmp/a.mp4"
      send(.result(result))
    }
    #expect(run.ending == .exit(0))
    #expect(run.output == "/tmp/a.mp4\n")
    #expect(run.error == "vidfetch: a: skipped, exists already\n")
  }

  @Test func drawsOneBarAndLeavesItDone() throws {
    let run = try CommandRun(["https://h/a.mp4?x=1"], terminal: true) { request, send in
      send(.start(url: request.source, target: nil))
      send(.progress(ProgressSnapshot()))
      send(.warning(FetchWarning(.unusual, "odd")))
      var result = JobResult(url: request.source, format: .mp4)
      result.path = "/tmp/a.mp4"
      send(.result(result))
    }
    #expect(run.output == "/tmp/a.mp4\n")
    // The warning stands above the bar; the last bar says 100 % and is left.
    #expect(run.error.contains("\r\u{1B}[Kvidfetch\u{1B}[0m") == false)
    let parts = run.error.components(separatedBy: "\r\u{1B}[K")
    #expect(parts.first?.contains("0%") == true)
    #expect(parts.contains { $0.contains("warning: odd\n") })
    #expect(parts.last?.hasPrefix("100%") == true && parts.last?.hasSuffix("done       \n") == true)
  }

  @Test func signalCancelsAndIsRaisedAgain() throws {
    let inbox = EventInbox()
    let cancelled = Locked(false)
    let run = try CommandRun(
      ["--json", "a", "b"], inbox: inbox,
      onCancel: CommandRun.OnCancel {
        cancelled.withLock { $0 = true }
        var result = JobResult(url: "a", format: .mp4)
        result.code = .signal
        result.error = .cancelled
        result.part = "/tmp/.0.part"
        inbox.post(.job(1, .result(result)))
        inbox.post(.job(2, .result(result)))
      }
    ) { request, send in
      send(.start(url: request.source, target: nil))
      if request.source == "b" { inbox.post(.interrupted(by: 15)) }
    }
    #expect(run.ending == .signal(15))
    #expect(cancelled.withLock { $0 })
    let lines = run.error.split(separator: "\n")
    #expect(lines.first == "vidfetch: interrupted; run the same command again to resume")
    #expect(lines.count == 2 && lines[1].hasPrefix("vidfetch: 0 ok, 2 failed (2 signal)"))
    #expect(run.output.contains(#""code":"signal","exit":143"#))
    #expect(run.output.split(separator: "\n").last?.contains(#""failed":{"signal":2}"#) == true)
  }

  @Test func jobThatDoesNotAnswerIsGivenUp() throws {
    let inbox = EventInbox()
    let run = try CommandRun(["-q", "--json", "https://u:p@h/a"], inbox: inbox) { _, _ in
      inbox.post(.interrupted(by: 2))
    }
    #expect(run.ending == .signal(2))
    #expect(run.output.contains(#""url":"https://h/a","id":"#))
    #expect(run.output.contains(#""redacted":true,"code":"signal","exit":130"#))
  }

  @Test func resultThatCannotBeWrittenIsALocalFailure() throws {
    let run = try CommandRun(["-q", "a:ok"], outputPath: "/dev/full", job: namedOutcome)
    #expect(run.ending == .exit(42))
    #expect(run.error.contains("No space left on device"))
    #expect(
      try CommandRun(["-q", "a:tls"], outputPath: "/dev/full", job: namedOutcome).ending
        == .exit(23))
    #expect(try CommandRun(["--version"], outputPath: "/dev/full").ending == .exit(42))
  }

  @Test(
    arguments: [
      (["a:ok", "b:ok"], 0), (["a:ok", "b:denied"], 21), (["a:tls", "b:denied"], 50),
      (["a:tls", "b:network"], 10), (["a:disk-full", "b:network"], 40),
    ] as [([String], Int32)])
  func combinesItemsByTheBatchRule(sources: [String], status: Int32) throws {
    let run = try CommandRun(["-q"] + sources, job: namedOutcome)
    #expect(run.ending == .exit(status))
  }
}

@Suite struct TerminalTests {
  @Test func readerThatClosesEndsNothing() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    close(ends[0])
    defer { close(ends[1]) }
    let old = signal(SIGPIPE, SIG_IGN)
    defer { signal(SIGPIPE, old) }
    let terminal = Terminal(output: ends[1], error: ends[1], environment: CommandEnvironment())
    #expect(terminal.writeRecord("a", terminator: 10) == nil)
    #expect(terminal.writeRecord("b", terminator: 10) == nil)
    terminal.writeLine("nobody reads this")
  }

  @Test func escapesRecordsOnATerminalOnly() throws {
    for (isTerminal, text) in [(true, "a\\u{1b}b\tc\nd\n"), (false, "a\u{1B}b\tc\nd\n")] {
      let pipe = Pipe()
      let terminal = Terminal(
        output: pipe.fileHandleForWriting.fileDescriptor, error: STDERR_FILENO,
        environment: CommandEnvironment(standardOutputIsTerminal: isTerminal))
      #expect(terminal.writeRecord("a\u{1B}b\tc\nd", terminator: 10) == nil)
      try pipe.fileHandleForWriting.close()
      let data = try #require(try pipe.fileHandleForReading.readToEnd())
      #expect(String(decoding: data, as: UTF8.self) == text)
    }
  }

  @Test func widthIsColumnsElse80() {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    for (value, width) in [("120", 120), ("0", 80), ("x", 80), ("999999", 1000)] {
      let environment = CommandEnvironment(variables: ["COLUMNS": value])
      #expect(Terminal(error: descriptor, environment: environment).width == width)
    }
    #expect(Terminal(error: descriptor, environment: CommandEnvironment()).width == 80)
  }
}
