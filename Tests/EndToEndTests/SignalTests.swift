// Signals and closed descriptors: gone at once, the part kept, nothing else left.

import Foundation
import TestSupport
import Testing

@Suite("Signals")
struct SignalTests {
  private func allocated(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }

  /// Starts a slow transfer and returns once its part holds some data.
  private func transferring(
    _ run: VidfetchRun, _ arguments: [String], wrapper: [String] = []
  ) throws -> ChildProcess {
    let process = try run.start(arguments, wrapper: wrapper)
    try waitUntil("the part to grow") {
      VidfetchRun.parts(in: run.work).contains { allocated(run.file($0)) >= 16384 }
    }
    return process
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func aSignalStopsBothStagesAndKeepsThePart(number: Int32) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let arguments = ["-o", "a.mp4", server.url("~rate=30000&times=1&gets=1/resume_a.mp4")]
    let process = try transferring(run, arguments)
    let start = now()
    process.signal(number)
    let outcome = try process.wait()
    #expect(outcome.status == .signalled(number), "\(outcome.stderr)")
    #expect(now() - start < 1)
    #expect(outcome.stdout == "")
    let left = run.leftovers().map { String($0.dropFirst(5)) }
    #expect(left.count == 2 && left.allSatisfy(VidfetchRun.isPartOrRecord), "\(left)")

    let again = try run.run(arguments)
    try expectSuccess(again, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
    #expect(try server.gets().last?.range != nil, "resumed")
  }

  @Test func aSecondSignalEndsAtOnce() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try transferring(run, ["-o", "a.mp4", server.url("~rate=30000/resume_a.mp4")])
    let start = now()
    process.signal(SIGINT)
    process.signal(SIGINT)
    #expect(try process.wait().status == .signalled(SIGINT))
    #expect(now() - start < 1)
    #expect(fileSize(run.file("a.mp4")) == nil)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func waitsAndConnectsCanBeInterrupted(number: Int32) throws {
    let server = try FaultServer()
    for fault in ["~status=503&retry_after=60", "~delay=60", "~stall=30000"] {
      try server.reset()
      let run = try VidfetchRun()
      let process = try run.start(["-o", "a.mp4", server.url("\(fault)/plain.mp4")])
      try waitUntil("the request") { try !server.log().isEmpty }
      let start = now()
      process.signal(number)
      #expect(try process.wait().status == .signalled(number), "\(fault)")
      #expect(now() - start < 1, "\(fault)")
    }
  }

  @Test func anIgnoredHangupStaysIgnored() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try transferring(
      run, ["-o", "a.mp4", server.url("~rate=60000/resume_a.mp4")], wrapper: ["nohup"])
    process.signal(SIGHUP)
    try expectSuccess(try process.wait(), at: run.file("a.mp4"), equalTo: "resume_a.mp4")
  }

  @Test func interruptedRunsTellTheirClass() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let process = try transferring(
      run, ["--json", "-o", "a.mp4", server.url("~rate=30000/resume_a.mp4")])
    process.signal(SIGTERM)
    let outcome = try process.wait()
    #expect(outcome.status == .signalled(SIGTERM))
    let result = try outcome.result()
    #expect(result.code == "signal" && result.exit == 143)
  }

  @Test func aReaderThatLeavesEndsNothing() throws {
    let server = try FaultServer()
    for arguments in [[], ["--json"], ["--progress", "json"]] {
      let run = try VidfetchRun()
      let outcome = try run.run(
        arguments + ["-o", "a.mp4", server.url("plain.mp4")], stdout: .brokenPipe)
      try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
      #expect(run.leftovers() == ["work/a.mp4"])
    }
  }

  @Test func aBrokenStderrEndsNothing() throws {
    let server = try FaultServer()
    for arguments in [[], ["--progress", "json"], ["-vv"]] {
      let run = try VidfetchRun()
      let outcome = try run.run(
        arguments + ["-o", "a.mp4", server.url("plain.mp4")], stderr: .brokenPipe)
      try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
    }
  }

  @Test func closedDescriptorsNeverReceiveTheFilm() throws {
    let server = try FaultServer()
    for (out, error) in [
      (ChildDescriptor.closed, ChildDescriptor.captured), (.captured, .closed), (.closed, .closed),
    ] {
      let run = try VidfetchRun()
      let outcome = try run.run(
        ["-o", "a.mp4", server.url("plain.mp4")], stdout: out, stderr: error)
      #expect([.exited(0), .exited(42)].contains(outcome.status))
      #expect(run.leftovers() == ["work/a.mp4"])
      #expect(try MediaFacts(run.file("a.mp4")).packets == ["h264": 50, "aac": 95])
    }
  }

  @Test func aFullStdoutIsAnError() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-o", "a.mp4", server.url("plain.mp4")], stdout: .file("/dev/full"))
    #expect(outcome.status == .exited(42))
    #expect(run.leftovers() == ["work/a.mp4"], "the file stays")
  }
}
