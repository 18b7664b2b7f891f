// A batch that is killed: the next run with the same words makes up for it, and fetches nothing twice.

import Foundation
import TestSupport
import Testing

@Suite("Killed batches")
struct BatchKillTests {
  @Test(arguments: [["--archive", "archive"], ["--skip-existing"]])
  func whateverTheMomentTheNextRunCompletesIt(_ option: [String]) throws {
    let hasArchive = option[0] == "--archive"
    let rounds = Machine.isLong ? 100 : 6
    let shelf = try FilmShelf(16)
    let server = try FaultServer(root: shelf.path)
    func words(_ run: VidfetchRun) throws -> [String] {
      let list = try run.list(shelf.names.map { server.url("~rate=150000/\($0)") })
      return ["-i", list, "-d", "out", "-j", "4", "--results", "log"] + option
    }
    // How long it takes undisturbed.
    let whole = try VidfetchRun()
    let length = try whole.run(try words(whole)).seconds

    var numbers = SeededNumbers(seed: UInt64(rounds))
    for round in 1...rounds {
      let run = try VidfetchRun()
      let words = try words(run)
      let moment = Double.random(in: 0...length, using: &numbers)
      let process = try run.start(words)
      let start = now()
      try waitUntil("the moment") { now() - start >= moment || process.pollStatus() != nil }
      process.signal(SIGKILL)
      let killed = try process.wait()
      let place = "round \(round), killed after \(moment) s of \(length): \(killed.status)"
      let done = try run.recorded("log").filter { $0.code == "ok" }.map(\.url)
      try server.reset()

      let again = try run.run(words + ["--json"])
      #expect(again.status == .exited(0), "\(place)\n\(again.stderr)")
      try shelf.expectEach(shelf.names, in: run.file("out"))
      if hasArchive {
        #expect(
          try run.archive("archive") == ["ok"] + shelf.names.map { run.file("out/\($0)") },
          "\(place)")
      }
      let output = try BatchOutput(again)
      #expect(output.results.count == 16 && Set(output.results.map(\.url)).count == 16, "\(place)")
      let asked = Set(try server.gets().map(\.target))
      // Without an archive the server is asked for the name.
      for url in done where hasArchive {
        #expect(!asked.contains { url.hasSuffix($0) }, "\(place): \(url) was done")
      }
      let left = run.leftovers().filter { !$0.hasPrefix("work/out/") }
      #expect(
        Set(left).isSubset(of: [
          "work/list", "work/log", "work/archive", "work/archive-wal", "work/archive-shm",
        ]), "\(place): \(left)")
    }
  }
}
