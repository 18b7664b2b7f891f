// How much at once: items, items at one host, bytes a second; and what one host's wish means to all.

import Foundation
import TestSupport
import Testing

@Suite("Limits of a batch")
struct BatchLimitTests {
  @Test(arguments: [1, 4])
  func neverMoreItemsThanAskedFor(jobs: Int) throws {
    let shelf = try FilmShelf(10)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url("~rate=60000/\($0)") })
    let outcome = try run.run(["-i", list, "-d", "out", "-x", "1", "-j", "\(jobs)"])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try server.gets().mostAtOnce == jobs)
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func neverMoreItemsOfAHostThanItMayHave() throws {
    let shelf = try FilmShelf(6)
    let servers = try ["127.0.0.1", "127.0.0.2"].map { try FaultServer(root: shelf.path, host: $0) }
    let run = try VidfetchRun()
    // All of the first host's items come first, and don't keep the second host's waiting.
    let list = try run.list(
      servers.enumerated().flatMap { number, server in
        shelf.stems.map { "\(server.url("~rate=60000/\($0).mp4"))\t\($0)-\(number)" }
      })
    let outcome = try run.run(
      ["-i", list, "-d", "out", "-x", "1", "-j", "8", "--max-per-host", "2"])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    for server in servers { #expect(try server.gets().mostAtOnce == 2) }
    #expect(try servers.flatMap { try $0.gets() }.mostAtOnce == 4)
    try shelf.expectEach(
      shelf.stems.flatMap { ["\($0)-0.mp4", "\($0)-1.mp4"] }, in: run.file("out"))
  }

  @Test func aHostThatAsksForPatienceIsLeftAloneByAll() throws {
    let shelf = try FilmShelf(10)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    // The first of all requests is turned away; the others that run then end within the pause.
    let fault = "~status=503&retry_after=3&times=1&gets=1&key=door/~rate=60000"
    let list = try run.list(shelf.names.map { server.url("\(fault)/\($0)") })
    let outcome = try run.run(["-i", list, "-d", "out", "-x", "1", "-j", "3"])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let gets = try server.gets()
    let refusal = try #require(gets.first { $0.status == 503 })
    #expect(gets.count == 11)
    let times = gets.map { $0.time - (refusal.until ?? refusal.time) }.sorted()
    // Two may have been on their way.
    #expect(times.count { $0 < 0.5 } <= 3, "\(times)")
    #expect(times.allSatisfy { $0 < 0.5 || $0 >= 2.95 }, "\(times)")
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }

  @Test func theRateIsThatOfAllItemsTogether() throws {
    let shelf = try FilmShelf(4, of: FixtureFile.media("demo.mp4"))
    let server = try NginxServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list(shelf.names.map { server.url($0) })
    let rate = 600_000.0
    let outcome = try run.run(
      ["-i", list, "-d", "out", "-j", "4", "--limit-rate", "600k"], limit: 90)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    try shelf.expectEach(shelf.names, in: run.file("out"))
    let seconds = Double(4 * shelf.size) / rate
    #expect(seconds > 6)
    // Start-up and the work after the last byte come on top.
    #expect(outcome.seconds > seconds * 0.95 && outcome.seconds < seconds * 1.05 + 1.5)
  }
}
