// Failures of every kind in one batch: all that is said of it agrees, and the next run touches only
// what failed.

import Foundation
import TestSupport
import Testing

@Suite("Failures in a batch")
struct BatchFailureTests {
  /// One way in which an item fails until the server is mended.
  private struct Fault {
    let code: String
    let exit: Int32
    /// The URL's path in front of the film's name.
    let prefix: String
    /// Whether the film itself must have been asked for.
    var isAsked = true
  }

  private static let faults = [
    Fault(code: "not-found", exit: 20, prefix: "~miss=*/"),
    Fault(code: "denied", exit: 21, prefix: "~status=401/"),
    Fault(code: "denied", exit: 21, prefix: "~status=403/"),
    Fault(code: "busy", exit: 11, prefix: "~status=503/"),
    Fault(code: "network", exit: 10, prefix: "~rst=15000/"),
    Fault(code: "network", exit: 10, prefix: "~drop=15000&chunked=1/"),
    Fault(code: "not-media", exit: 30, prefix: "~body=login/"),
    Fault(code: "damaged", exit: 31, prefix: "~file=cut_mdat.mp4/"),
    Fault(code: "encrypted", exit: 33, prefix: "~file=cenc.mp4/"),
    Fault(code: "refused", exit: 22, prefix: "~to=file/"),
    Fault(code: "cannot-passthrough", exit: 32, prefix: "~file=vp9_opus.webm/"),
    // The certificate's authority isn't known at first.
    Fault(code: "tls", exit: 23, prefix: "https", isAsked: false),
    // A file of that name is there at first.
    Fault(code: "output", exit: 41, prefix: "", isAsked: false),
  ]

  private struct Item {
    let url: String
    /// As the server logs it.
    let path: String
    let fault: Fault?
    let name: String
    let line: String
  }

  /// How often each film was asked for.
  private func paths(_ servers: [FaultServer]) throws -> [String: Int] {
    try servers.flatMap { try $0.gets() }.reduce(into: [:]) { $0[$1.path, default: 0] += 1 }
  }

  @Test func everyKindIsToldAlikeAndOnlyFailuresAreTriedAgain() throws {
    let count = Machine.isLong ? 1000 : 60
    let failing = max(count / 10, Self.faults.count)
    let shelf = try FilmShelf(count)
    for fixture in ["cut_mdat.mp4", "cenc.mp4", "vp9_opus.webm"] { try shelf.add(fixture) }
    let server = try FaultServer(root: shelf.path)
    let authority = try TestAuthority.shared.get()
    let secure = try FaultServer(root: shelf.path, certificate: authority.good)
    let run = try VidfetchRun()
    let out = run.file("out")
    try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: false)

    let items = shelf.stems.enumerated().map { index, stem -> Item in
      // Spread evenly, each kind in its turn.
      let turn = index * failing / count
      let isFailing = (index + 1) * failing / count > turn
      let fault = isFailing ? Self.faults[turn % Self.faults.count] : nil
      let path =
        switch fault?.code {
        case "tls": secure.url("\(stem).mp4")
        default: server.url((fault?.prefix ?? "") + "\(stem).mp4")
        }
      let isMov = fault?.code == "cannot-passthrough"
      return Item(
        url: path, path: "/\(stem).mp4", fault: fault, name: "\(stem).\(isMov ? "mov" : "mp4")",
        line: isMov ? #"{"url":"\#(path)","format":"mov"}"# : path)
    }
    let good = items.filter { $0.fault == nil }
    let bad = items.filter { $0.fault != nil }
    let existing = items.filter { $0.fault?.code == "output" }
    for item in existing {
      try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(out)/\(item.name)"))
    }
    var expected: [String: Int] = [:]
    for item in bad { expected[item.fault?.code ?? "", default: 0] += 1 }
    let list = try run.list(items.map(\.line))
    let words = [
      "-i", list, "-d", "out", "--archive", "archive", "--results", "log", "--json", "-x", "1",
      "--retries", "0",
    ]

    // The first run: everything that is said agrees with what was served.
    let first = try run.run(words, limit: 600)
    #expect(first.status == .exited(41), "\(first.stderr)")
    let output = try BatchOutput(first)
    #expect(output.results.count == count)
    #expect(output.summary.okCount == good.count && output.summary.skippedCount == 0)
    #expect(output.summary.failed == expected && output.failures == expected)
    #expect(output.summary.exit == 41)
    let codes = Dictionary(uniqueKeysWithValues: output.results.map { ($0.url, $0) })
    for item in items {
      let result = try #require(codes[item.url], "\(item.url)")
      #expect(result.code == item.fault?.code ?? "ok", "\(item.url): \(result.message ?? "")")
      #expect(result.exit == item.fault?.exit ?? 0)
      #expect(result.retryable == item.fault.map { [10, 11].contains($0.exit) } ?? false)
    }
    let recorded = try run.recorded("log")
    #expect(
      recorded.map { "\($0.url) \($0.code)" }.sorted()
        == output.results.map { "\($0.url) \($0.code)" }.sorted())
    #expect(try run.archive("archive") == ["ok"] + good.map { "\(out)/\($0.name)" }.sorted())
    let asked = try paths([server])
    for item in good { #expect(asked[item.path] == 1, "\(item.url)") }
    for item in bad where item.fault?.isAsked == true { #expect(asked[item.path] != nil) }
    #expect(try secure.log().isEmpty)
    for item in existing { #expect(fileBytes("\(out)/\(item.name)") == Data("mine".utf8)) }

    // The second: nothing that is done is asked for.
    try server.reset()
    let second = try run.run(words, limit: 600)
    #expect(second.status == .exited(41), "\(second.stderr)")
    let again = try BatchOutput(second)
    #expect(again.summary.skippedCount == good.count && again.summary.okCount == 0)
    #expect(again.results.count { $0.skipped == "archive" } == good.count)
    #expect(again.failures == expected)
    let touched = Set(try server.log().map(\.path))
    #expect(touched.isDisjoint(with: good.map(\.path)))
    #expect(touched.isSuperset(of: bad.filter { $0.fault?.isAsked == true }.map(\.path)))

    // The third, with all that was in the way mended: the rest is fetched, once each.
    try server.reset()
    try server.mend()
    for item in existing { try FileManager.default.removeItem(atPath: "\(out)/\(item.name)") }
    let third = try run.run(words + ["--cacert", authority.caPath], limit: 600)
    #expect(third.status == .exited(0), "\(third.stderr)")
    let rest = try BatchOutput(third)
    #expect(rest.summary.okCount == bad.count && rest.summary.skippedCount == good.count)
    let fetched = try paths([server, secure])
    #expect(fetched == Dictionary(uniqueKeysWithValues: bad.map { ($0.path, 1) }))
    let movies = items.map(\.name).filter { $0.hasSuffix(".mov") }
    try shelf.expectEach(items.map(\.name).filter { $0.hasSuffix(".mp4") }, in: out, beside: movies)
    for name in movies {
      #expect(try MediaFacts("\(out)/\(name)").packets == ["h264": 50, "aac": 95])
    }
    #expect(try run.archive("archive") == ["ok"] + items.map { "\(out)/\($0.name)" }.sorted())

    // The fourth asks nobody anything.
    try server.reset()
    try secure.reset()
    let fourth = try run.run(words, limit: 600)
    #expect(fourth.status == .exited(0), "\(fourth.stderr)")
    #expect(try BatchOutput(fourth).summary.skippedCount == count)
    #expect(try server.log().isEmpty && secure.log().isEmpty)
  }

  @Test func oneBadItemIsOneErrorLineAndOneLineInTheSummary() throws {
    let shelf = try FilmShelf(2)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("film-0001.mp4"), server.url("nothing.mp4"), server.url("film-0002.mp4"),
    ])
    let outcome = try run.run(["-i", list, "-d", "out"])
    #expect(outcome.status == .exited(20), "\(outcome.stderr)")
    #expect(outcome.stdoutLines.sorted() == shelf.names.map { run.file("out/\($0)") })
    #expect(outcome.stderrLines.count { $0.contains("nothing.mp4") } == 1, "\(outcome.stderr)")
    let summary = outcome.stderrLines.last ?? ""
    #expect(summary.contains("2 ok, 1 failed (1 not-found)"), "\(summary)")
    try shelf.expectEach(shelf.names, in: run.file("out"))
  }
}
