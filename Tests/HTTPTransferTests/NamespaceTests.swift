// What needs a network, or a process, of its own: these suites run once more inside one, as a child of
// the tests.

import FetchCore
import Foundation
import Testing

@testable import HTTPTransfer

/// A child of the tests that runs one suite, in a network namespace or just by itself.
enum Inside {
  /// An address that is public by its number.
  static let publicAddress = "93.184.216.34"

  private static let place = ProcessInfo.processInfo.environment["VIDFETCH_TEST_INSIDE"]
  static let isNamespace = place == "namespace"
  static let isAlone = place == "alone"
  static let isAnywhere = place != nil
  static let canMakeNamespace = !isAnywhere && LifelineProcess.run(namespace("true")).0 == 0

  /// Loopback with a public address, and a name server there that this process may put up.
  private static func namespace(_ line: String) -> [String] {
    let set = """
      set -e; ip link set lo up; ip addr add \(publicAddress)/32 dev lo
      name=$(mktemp); echo 'nameserver \(publicAddress)' > $name
      mount --bind $name /etc/resolv.conf; rm $name; \(line)
      """
    return ["unshare", "-rnm", "sh", "-c", set]
  }

  private static func rerun(_ suite: String, place: String) throws -> String {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return "VIDFETCH_TEST_INSIDE=\(place) exec '\(program)' --testing-library swift-testing "
      + "--filter \(suite) 2>&1"
  }

  static func runInNamespace(_ suite: String) throws -> (Int32, String) {
    LifelineProcess.run(namespace(try rerun(suite, place: "namespace")))
  }

  static func runAlone(_ suite: String) throws -> (Int32, String) {
    LifelineProcess.run(["sh", "-c", try rerun(suite, place: "alone")])
  }
}

@Suite(.enabled(if: !Inside.isAnywhere, "runs outside only"))
struct NamespaceTests {
  @Test(.enabled(if: Inside.canMakeNamespace, "needs unshare -rnm and ip"))
  func theAddressRuleHoldsOnRealAddresses() throws {
    let (status, output) = try Inside.runInNamespace("InsideNamespaceTests")
    #expect(status == 0)
    #expect(output.contains("aPublicStartStaysPublic() passed"), "\(output)")
    #expect(output.contains("aSilentNameServerDelaysNoCancel() passed"), "\(output)")
  }

  @Test func nothingIsLeftOpen() throws {
    let (status, output) = try Inside.runAlone("AloneTests")
    #expect(status == 0)
    #expect(output.contains("noDescriptorStaysOpen() passed"), "\(output)")
  }
}

@Suite(.enabled(if: Inside.isNamespace, "runs inside a namespace only"))
struct InsideNamespaceTests {
  @Test func aPublicStartStaysPublic() async throws {
    let outside = DataServer(host: Inside.publicAddress)
    let inside = DataServer(host: "127.0.0.1")
    let mark = DataServer.mark()
    let direct = await fetch(HTTPRequest(url: try outside.url("/small.txt"))).outcome
    #expect(direct.completed?.response.reachedPublic == true)
    for spelling in ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "017700000001", "0"] {
      let target = "http:%2F%2F\(spelling):\(inside.port)%2F\(mark)"
      var request = HTTPRequest(url: try outside.url("/~to=\(target)/x"))
      let outcome = await fetch(request).outcome
      #expect(outcome.failure?.kind == .address, "\(spelling): \(outcome)")
      request.settings.allowPrivate = true
      let allowed = await fetch(request).outcome
      #expect(allowed.failure?.kind == .status(404), "\(spelling): \(allowed)")
    }
    // Six that were allowed, and none of those that were not.
    #expect(try await inside.log(mark).count == 6)
    // A job that begins inside may go out and come back.
    let away = "http:%2F%2F\(Inside.publicAddress):\(outside.port)%2Fsmall.txt"
    let start = await fetch(HTTPRequest(url: try inside.url("/~to=\(away)/x"))).outcome
    #expect(start.completed?.response.reachedPublic == false)
  }

  @Test func aSilentNameServerDelaysNoCancel() async throws {
    let deaf = LifelineProcess.start([
      "python3", "-c",
      """
      import socket, time
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("\(Inside.publicAddress)", 53))
      print("bound", flush=True)
      s.recv(1); print("asked", flush=True); time.sleep(600)
      """,
    ])
    #expect(deaf.firstLine() == "bound")
    let recorder = Recorder()
    let url = try HTTPURL("http://slow.example/x")
    let id = TransferLoop.shared.start(HTTPRequest(url: url), delegate: recorder)
    // Now the resolver's thread waits for an answer, five seconds and more.
    #expect(deaf.firstLine() == "asked")
    let clock = ContinuousClock()
    let start = clock.now
    TransferLoop.shared.cancel(id)
    #expect(await recorder.outcome().failure?.kind == .cancelled)
    #expect(clock.now - start < .seconds(2))
  }
}

@Suite(.enabled(if: Inside.isAlone, "runs in a process of its own only"))
struct AloneTests {
  /// What the process has open, without what it reads this from.
  private func openFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
    }.filter { !$0.hasPrefix("/proc/") }.sorted()
  }

  private func useALoop(_ server: DataServer) async throws {
    let loop = TransferLoop()
    let paths = [
      "/data.bin", "/small.txt", "/missing", "/~drop=1000/data.bin", "/~rst=1000/data.bin",
      "/~redirect=3/small.txt", "/~gzip=1/data.bin", "/~loop=1/x", "/~status=503/x",
      "/~chunked=1&drop=5/data.bin",
    ]
    for _ in 0..<5 {
      for path in paths {
        _ = await fetch(HTTPRequest(url: try server.url(path)), loop: loop)
      }
      let recorder = Recorder()
      let stalled = HTTPRequest(url: try server.url("/~stall=10&stall_for=1/data.bin"))
      loop.cancel(loop.start(stalled, delegate: recorder))
      _ = await recorder.outcome()
    }
  }

  @Test func noDescriptorStaysOpen() async throws {
    let server = DataServer()
    // What is opened once and for all is open after this.
    try await useALoop(server)
    let before = try await settled(openFiles().count)
    for _ in 0..<4 { try await useALoop(server) }
    #expect(try await settled(openFiles().count) <= before)
  }

  /// A loop's thread closes its files after the loop was let go: looks until nothing changes.
  private func settled(_ count: @autoclosure () throws -> Int) async throws -> Int {
    var last = try count()
    var same = 0
    while same < 20 {
      await Task.yield()
      usleep(5000)
      let next = try count()
      same = next == last ? same + 1 : 0
      last = next
    }
    return last
  }
}
