// Which item has its turn when: order on request, the first failure as the last, another attempt.

import Foundation
import TestSupport
import Testing

@Suite("Turns of a batch")
struct BatchOrderTests {
  @Test(arguments: [true, false])
  func resultsComeAsTheyAreOrInTheItemsOrder(inOrder: Bool) throws {
    let shelf = try FilmShelf(5)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    // The first takes longest; the third fails.
    let list = try run.list(
      shelf.names.enumerated().map { index, name in
        server.url([0: "~rate=20000/", 2: "~status=404/"][index, default: ""] + name)
      })
    let words = ["-i", list, "-d", "out", "-x", "1", "-j", "4", "--print", "{code} {url}"]
    let outcome = try run.run(words + (inOrder ? ["--in-order"] : []))
    #expect(outcome.status == .exited(20), "\(outcome.stderr)")
    let names = outcome.stdoutLines.map { String($0.suffix(13)) }
    #expect(outcome.stdoutLines.count { $0.hasPrefix("ok ") } == 4)
    if inOrder {
      #expect(names == shelf.names)
    } else {
      #expect(names.last == shelf.names[0] && names.sorted() == shelf.names)
    }
  }

  @Test func theFirstFailureMayBeTheLast() throws {
    let shelf = try FilmShelf(20)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let slow = server.url("~rate=10000&times=1&gets=1/film-0001.mp4")
    let list = try run.list(
      [slow, server.url("~delay=1&times=1&gets=1/nothing.mp4")]
        + shelf.names.dropFirst().map { server.url($0) })
    let words = ["-i", list, "-d", "out", "-x", "1", "-j", "2"]
    let outcome = try run.run(words + ["--fail-fast", "--max-per-host", "2", "--json"])
    #expect(outcome.status == .exited(20), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.results.count == 2 && output.summary.exit == 20)
    #expect(output.summary.failed == ["not-found": 1, "signal": 1])
    #expect(try output.result("film-0001.mp4").part != nil, "can be resumed")
    #expect(try server.gets().count == 2)
    #expect(folderNames(run.file("out")).allSatisfy(VidfetchRun.isPartOrRecord))

    let again = try run.run(words)
    #expect(again.status == .exited(20), "\(again.stderr)")
    #expect(try server.gets().last { $0.path == "/film-0001.mp4" }?.range != nil)
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func whatIsWorthItIsTriedAgainWhenTheOthersHadTheirTurn() throws {
    let shelf = try FilmShelf(3)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("~status=503&times=2/film-0001.mp4"), server.url("film-0002.mp4"),
      server.url("film-0003.mp4"),
    ])
    let outcome = try run.run([
      "-i", list, "-d", "out", "-x", "1", "-j", "1", "--retries", "0", "--max-attempts", "3",
      "--json", "--results", "log",
    ])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let paths = try server.gets().map { $0.path.dropFirst().prefix(9) }
    #expect(paths == ["film-0001", "film-0002", "film-0003", "film-0001", "film-0001"])
    #expect(try BatchOutput(outcome).results.count == 3, "one last word on each")
    let attempts = try run.recorded("log").filter { $0.url.hasSuffix("film-0001.mp4") }
    #expect(attempts.map(\.code) == ["busy", "busy", "ok"])
    #expect(attempts.map(\.attempt) == [1, 2, 3])
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func anItemTellsOneStoryWhateverAttemptsItTakes() throws {
    let shelf = try FilmShelf(1)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("~rate=100000/~drop=30000&times=1&gets=1/film-0001.mp4")
    ])
    let outcome = try run.run([
      "-i", list, "-d", "out", "-x", "1", "--retries", "0", "--max-attempts", "2", "--progress",
      "json",
    ])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let lines = try BatchLine.all(in: outcome.stderr).filter { $0.job == "1" }
    #expect(lines.count { $0.event == "start" } == 1)
    #expect(lines.count { $0.event == "result" } == 1)
    let fractions = lines.compactMap(\.fraction)
    #expect(fractions.count > 4 && fractions == fractions.sorted(), "\(fractions)")
    #expect(fractions.first == 0 && fractions.count { $0 == 1 } == 1)
    #expect(try server.gets().last?.range == "bytes=30000-")
  }

  @Test func whatWaitsForAnotherAttemptWhenTheBatchEndsHasALastWord() throws {
    let shelf = try FilmShelf(1)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("~status=503&times=1/film-0001.mp4"), server.url("~delay=1/nothing.mp4"),
    ])
    let words = [
      "-i", list, "-d", "out", "-j", "1", "--retries", "0", "--max-attempts", "3", "--fail-fast",
      "--results", "log", "--json",
    ]
    let outcome = try run.run(words)
    #expect(outcome.status == .exited(20), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.summary.failed == ["not-found": 1, "signal": 1])
    #expect(try output.result("film-0001.mp4").code == "signal")
    let again = try run.run(words)
    #expect(again.status == .exited(20), "\(again.stderr)")
    try shelf.expectEach(shelf.names, in: run.file("out"))
    // The run that was ended has made one attempt at it, and this one another.
    #expect(
      try run.recorded("log").filter { $0.url.hasSuffix("film-0001.mp4") }.map(\.attempt)
        == [1, nil, 2])
  }

  @Test func anItemThatHasHadItsAttemptsIsNotWorthAnother() throws {
    let shelf = try FilmShelf(1)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("~status=503/film-0001.mp4"), server.url("~status=503/nothing.mp4"),
    ])
    let words = ["-i", list, "-d", "out", "--retries", "0", "--json"]
    let outcome = try run.run(words + ["--max-attempts", "2"])
    #expect(outcome.status == .exited(50), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(output.results.map(\.code) == ["busy", "busy"])
    #expect(output.results.allSatisfy { $0.retryable == false })
    #expect(output.summary.exit == 50)
    #expect(try server.gets().count == 4)
  }

  @Test func attemptsCountOverRuns() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("~status=503/plain.mp4"), server.url("~status=503/rot90.mp4"),
    ])
    let words = [
      "-i", list, "-d", "out", "--retries", "0", "--json", "--results", "log", "--max-attempts",
    ]
    // Other limits in other runs: the attempts are the item's.
    let first = try run.run(words.dropLast())
    #expect(first.status == .exited(11), "\(first.stderr)")
    #expect(try BatchOutput(first).results.allSatisfy { $0.retryable == true })
    let second = try run.run(words + ["2"])
    #expect(second.status == .exited(50), "\(second.stderr)")
    #expect(try BatchOutput(second).results.map(\.retryable) == [false, false])
    #expect(try server.gets().count == 4)
    let third = try run.run(words + ["2"])
    #expect(third.status == .exited(50), "\(third.stderr)")
    #expect(try BatchOutput(third).failures == ["busy": 2], "as the last attempt said")
    #expect(try BatchOutput(third).results.map(\.retryable) == [false, false])
    #expect(try server.gets().count == 4, "nobody is asked any more")
    let more = try run.run(words + ["3"])
    #expect(more.status == .exited(50), "\(more.stderr)")
    #expect(try server.gets().count == 6)
  }
}
