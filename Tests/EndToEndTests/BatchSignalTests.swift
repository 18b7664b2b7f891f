// Ctrl-C in a batch: gone at once, and every item that ran can be resumed.

import Foundation
import TestSupport
import Testing

@Suite("Signals to a batch")
struct BatchSignalTests {
  @Test(arguments: [SIGINT, SIGTERM])
  func everyItemThatRanIsResumed(number: Int32) throws {
    let shelf = try FilmShelf(10)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    // Two are done quickly, four are under way, four have not begun.
    let list = try run.list(
      shelf.names.enumerated().map { index, name in
        server.url(index < 2 ? name : "~rate=8000&times=1&gets=1/\(name)")
      })
    let words = ["-i", list, "-d", "out", "-x", "1", "-j", "4", "--archive", "archive", "--json"]
    let process = try run.start(words)
    let out = run.file("out")
    try waitUntil("four parts") {
      VidfetchRun.parts(in: out).count { allocatedBytes("\(out)/\($0)") >= 8192 } == 4
        && folderNames(out).count { $0.hasSuffix("mp4") } == 2
    }
    let start = now()
    process.signal(number)
    let outcome = try process.wait()
    #expect(outcome.status == .signalled(number), "\(outcome.stderr)")
    #expect(now() - start < 1)
    let cut = Set(try server.gets().filter { $0.sent < shelf.size }.map(\.path))
    let output = try BatchOutput(outcome)
    #expect(output.summary.exit == 128 + number && output.summary.okCount == 2)
    #expect(output.summary.failed == ["signal": 4])
    #expect(output.results.count { $0.code == "signal" && $0.part != nil } == 4)
    #expect(outcome.stderrLines.count { $0.contains("again to resume") } == 1, "\(outcome.stderr)")
    let names = folderNames(out)
    #expect(names.count == 10 && VidfetchRun.parts(in: out).count == 4, "\(names)")

    let again = try run.run(words)
    #expect(again.status == .exited(0), "\(again.stderr)")
    try shelf.expectEach(shelf.names, in: out)
    let gets = try server.gets()
    #expect(gets.count == 2 + 4 + 4 + 4)
    let resumed = gets.filter { $0.range != nil }
    #expect(cut.count == 4 && Set(resumed.map(\.path)) == cut)
    for request in resumed {
      #expect(request.sent <= shelf.size - 4096, "\(request.path) began anew")
    }
  }
}
