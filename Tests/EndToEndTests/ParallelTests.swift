// Several connections for one source: the same bytes, whoever brings them, and no byte twice.

import FetchCore
import Foundation
import TestSupport
import Testing

@Suite("Parallel ranges")
struct ParallelTests {
  /// A film that a real nginx serves, and what an undisturbed run makes of it.
  private struct Served {
    let server: NginxServer
    let folder: ScratchDirectory
    let size: Int
    let expected: String

    init(slowRate: Int, frames: Int = 240, indexFirst: Bool = true) throws {
      folder = try ScratchDirectory()
      let film = folder.file("film.mp4")
      try NoisyFilm.write(to: film, frames: frames, indexFirst: indexFirst)
      size = fileSize(film) ?? 0
      server = try NginxServer(root: folder.path, slowRate: slowRate)
      let run = try VidfetchRun()
      _ = try run.run(["-o", "a.mp4", film])
      expected = try digest(run.file("a.mp4"))
    }

    /// The requests, once there are so many.
    func requests(atLeast count: Int = 1) throws -> [NginxServer.Request] {
      try waitUntil("the access log") { server.log().count >= count }
      return server.log()
    }
  }

  private func firstByte(_ request: NginxServer.Request) -> Int? {
    guard request.range.hasPrefix("bytes=") else { return nil }
    return Int(request.range.dropFirst(6).prefix { $0.isNumber })
  }

  @Test(arguments: ["4", "16", "64"])
  func manyConnectionsBringTheSameBytes(_ connections: String) throws {
    let served = try Served(slowRate: 1_000_000)
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-x", connections, "-o", "a.mp4", served.server.url("slow/film.mp4")], limit: 60)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try digest(run.file("a.mp4")) == served.expected)
    #expect(run.leftovers() == ["work/a.mp4"])
    let requests = try served.requests(atLeast: 4)
    let ranges = requests.filter { $0.status == 206 }
    #expect(ranges.count >= 3)
    #expect(ranges.allSatisfy { $0.ifRange.hasPrefix("\"") }, "each is bound to the version")
    #expect(requests.filter { $0.range == "-" || $0.range.isEmpty }.count == 1)
  }

  @Test func aServerThatIsSlowForEachConnectionGetsMoreByItself() throws {
    let served = try Served(slowRate: 300_000)
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", served.server.url("slow/film.mp4")], limit: 90)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try digest(run.file("a.mp4")) == served.expected)
    #expect(try served.requests(atLeast: 3).count { $0.status == 206 } >= 2)
  }

  @Test func aFastServerIsAskedOnce() throws {
    let served = try Served(slowRate: 1_000_000, frames: 100)
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", served.server.url("film.mp4")])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try served.requests().map(\.status) == [200])
  }

  @Test func oneConnectionIsOneConnection() throws {
    let served = try Served(slowRate: 2_000_000, frames: 100)
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-x", "1", "-o", "a.mp4", served.server.url("slow/film.mp4")], limit: 60)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try served.requests().map(\.status) == [200])
  }

  /// The index stands last: it is fetched while the media still comes.
  @Test func whatTheExportWaitsForIsFetchedAtOnce() throws {
    let served = try Served(slowRate: 2_000_000, indexFirst: false)
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", served.server.url("slow/film.mp4")], limit: 60)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try digest(run.file("a.mp4")) == served.expected)
    // nginx logs what is over: the index is before the whole.
    let first = try #require(try served.requests(atLeast: 2).first)
    #expect(first.status == 206)
    #expect(firstByte(first) ?? 0 > served.size * 9 / 10, "\(first.range) of \(served.size)")
  }

  @Test func aHostIsNotAskedMoreThanIsAllowed() throws {
    let served = try Served(slowRate: 1_000_000, frames: 100)
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-x", "16", "--max-per-host", "2", "-o", "a.mp4", served.server.url("slow/film.mp4")],
      limit: 60)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try digest(run.file("a.mp4")) == served.expected)
    #expect(try served.requests(atLeast: 2).map(\.atOnce).max() ?? 0 <= 2)
  }

  /// Streams of one connection first.
  @Test func overHTTP2AllRangesShareOneConnection() throws {
    let served = try Served(slowRate: 1_000_000, frames: 100)
    let authority = try TestAuthority.shared.get()
    let run = try VidfetchRun()
    let url = served.server.secureURL("slow/film.mp4")
    let outcome = try run.run(
      ["-x", "4", "--cacert", authority.caPath, "-o", "a.mp4", url], limit: 60)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(try digest(run.file("a.mp4")) == served.expected)
    let requests = try served.requests(atLeast: 4)
    #expect(requests.allSatisfy { $0.httpVersion == "HTTP/2.0" })
    #expect(Set(requests.map(\.connection)).count == 1)
  }

  @Test(arguments: [
    "~norange=1", "~norange=lie", "~etag=rotate", "~etag=weak", "~etag=none", "~cr=shift:100",
    "~cr=total:100", "~cr=none", "~cr=bad", "~ifrange=ignore", "~slice200=1",
  ])
  func serversThatFakeRangesChangeNothing(_ fault: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-x", "8", "-o", "a.mp4", server.url("~rate=400000/\(fault)/resume_a.mp4")], limit: 90)
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "resume_a.mp4")
    #expect(run.leftovers() == ["work/a.mp4"])
  }

  /// The limit is one for all connections together, from the first second on.
  @Test func theRateIsOneForAllConnections() throws {
    let served = try Served(slowRate: 100_000_000)
    let rate = 2_000_000.0
    let run = try VidfetchRun()
    let outcome = try run.run(
      [
        "-x", "8", "--limit-rate", "2M", "--json", "-o", "a.mp4",
        served.server.url("film.mp4"),
      ], limit: 60)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    let seconds = try #require(try outcome.result().timings?["transferring"])
    let measured = Double(served.size) / seconds
    #expect(measured < rate * 1.02, "\(measured) bytes a second")
    // A machine that is busy may take longer, but never that much.
    #expect(measured > rate * 0.8, "\(measured) bytes a second")
  }

  /// Killed at any moment, with whatever holes: the next run fetches the holes alone.
  @Test func killedWithHolesOnlyTheHolesAreFetched() throws {
    let rounds = Machine.isLong ? 300 : 10
    let served = try Served(slowRate: 400_000, frames: 120)
    var generator = SeededGenerator(state: 11)
    let moments = (0..<rounds).map { _ in Double.random(in: 0.05...1.6, using: &generator) }
    let holes = Locked(0)
    let refetched = Locked(0)
    concurrently(rounds, width: 2) { round in
      do {
        let run = try VidfetchRun()
        let url = served.server.url("slow/film.mp4?round=\(round)")
        let arguments = ["-x", "8", "-o", "a.mp4", url]
        let process = try run.start(arguments)
        usleep(UInt32(moments[round] * 1e6))
        process.signal(SIGKILL)
        _ = try process.wait()
        let claimed = try self.claims(run)
        if claimed.count > 1 { holes.withLock { $0 += 1 } }
        let lost = self.stored(run) - claimed.reduce(0) { $0 + $1.count }
        refetched.withLock { $0 = max($0, lost) }
        #expect(lost <= 8 << 20, "round \(round)")
        let outcome = try run.run(arguments + ["-vv"], limit: 60)
        #expect(outcome.status == .exited(0), "round \(round): \(outcome.stderr)")
        #expect(try digest(run.file("a.mp4")) == served.expected, "round \(round)")
        #expect(run.leftovers() == ["work/a.mp4"], "round \(round)")
        for line in outcome.stderr.split(separator: "\n") {
          guard let asked = line.firstMatch(of: /> Range: bytes=([0-9]+)-/),
            let first = Int(asked.1)
          else { continue }
          #expect(!claimed.contains { $0.contains(first) }, "round \(round): \(line)")
        }
      } catch {
        Issue.record("round \(round): \(error)")
      }
    }
    #expect(holes.withLock { $0 } >= rounds / 4, "many rounds must leave holes")
  }

  /// The ranges that the record of a killed run vouches for.
  private func claims(_ run: VidfetchRun) throws -> [Range<Int>] {
    guard let name = folderNames(run.work).first(where: { $0.hasSuffix(".part.json") }) else {
      return []
    }
    let line = fileBytes(run.file(name)).prefix { $0 != 10 }
    let record = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
    let pairs = record?["ranges"] as? [[Int]] ?? []
    return pairs.map { $0[0]..<$0[1] }
  }

  /// Bytes of the part that have been written.
  private func stored(_ run: VidfetchRun) -> Int {
    guard let part = VidfetchRun.parts(in: run.work).first else { return 0 }
    var status = stat()
    return stat(run.file(part), &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }
}
