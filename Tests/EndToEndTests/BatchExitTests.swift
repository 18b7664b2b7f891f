// The exit status of a batch: fix the machine, run it again, or look at the list.

import Foundation
import TestSupport
import Testing

@Suite("Exit status of a batch")
struct BatchExitTests {
  struct Outcomes: Sendable, CustomTestStringConvertible {
    let paths: [String]
    let exit: Int32
    var testDescription: String { "\(paths) is \(exit)" }
  }

  private static let gone = "~status=404/plain.mp4"
  private static let denied = "~status=401/plain.mp4"
  private static let busy = "~status=503/plain.mp4"
  private static let broken = "~drop=0/plain.mp4"
  private static let page = "~body=login/plain.mp4"
  /// A file of this name exists.
  private static let taken = "sar43.mp4"
  private static let good = "rot90.mp4"

  @Test(arguments: [
    Outcomes(paths: [good, "plain.mp4"], exit: 0),
    Outcomes(paths: [good, good], exit: 0),
    Outcomes(paths: [good, gone], exit: 20),
    Outcomes(paths: [gone, "~status=410/plain.mp4"], exit: 20),
    Outcomes(paths: [gone, denied, good], exit: 50),
    Outcomes(paths: [gone, page], exit: 50),
    Outcomes(paths: [busy, good], exit: 11),
    Outcomes(paths: [busy, gone, denied], exit: 11),
    Outcomes(paths: [broken, busy], exit: 10),
    Outcomes(paths: [broken, gone, busy], exit: 10),
    Outcomes(paths: [taken], exit: 41),
    Outcomes(paths: [taken, good], exit: 41),
    Outcomes(paths: [gone, busy, taken, broken], exit: 41),
    Outcomes(paths: ["not a url", gone], exit: 50),
    Outcomes(paths: ["not a url", good], exit: 22),
  ])
  func failuresOfOneKindKeepTheirCodeOthersTellWhatToDo(_ outcomes: Outcomes) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try FileManager.default.createDirectory(
      atPath: run.file("out"), withIntermediateDirectories: false)
    try Data().write(to: URL(fileURLWithPath: run.file("out/sar43.mp4")))
    let list = try run.list(outcomes.paths.map { $0.contains(" ") ? $0 : server.url($0) })
    let outcome = try run.run(["-i", list, "-d", "out", "--retries", "0", "--json"])
    #expect(outcome.status == .exited(outcomes.exit), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.summary.exit == outcomes.exit)
    #expect(output.results.count == outcomes.paths.count)
  }
}
