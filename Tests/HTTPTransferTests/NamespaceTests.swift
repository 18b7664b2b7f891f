// What needs a network of its own: these run once more inside one, as a child of the tests.

import FetchCore
import Foundation
import Testing

@testable import HTTPTransfer

/// A network namespace with an address on it that is public by its number.
enum Namespace {
  static let publicAddress = "93.184.216.34"
  static let isInside = ProcessInfo.processInfo.environment["VIDFETCH_TEST_NAMESPACE"] == "1"
  static let canBeMade = !isInside && run("true").0 == 0

  /// Runs a shell line inside a new one.
  static func run(_ line: String) -> (Int32, String) {
    ChildProcess.run([
      "unshare", "-rn", "sh", "-c",
      "ip link set lo up && ip addr add \(publicAddress)/32 dev lo && \(line)",
    ])
  }
}

@Suite struct NamespaceTests {
  @Test(.enabled(if: Namespace.canBeMade, "needs unshare -rn and ip"))
  func theAddressRuleHoldsOnRealAddresses() throws {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let (status, output) = Namespace.run(
      "VIDFETCH_TEST_NAMESPACE=1 exec '\(program)' --testing-library swift-testing "
        + "--filter InsideNamespaceTests 2>&1")
    #expect(status == 0)
    #expect(output.contains("aPublicStartStaysPublic() passed"), "\(output)")
  }
}

@Suite(.enabled(if: Namespace.isInside, "runs inside a namespace only"))
struct InsideNamespaceTests {
  @Test func aPublicStartStaysPublic() async throws {
    let outside = FaultServer(host: Namespace.publicAddress)
    let inside = FaultServer(host: "127.0.0.1")
    let mark = FaultServer.mark()
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
    let away = "http:%2F%2F\(Namespace.publicAddress):\(outside.port)%2Fsmall.txt"
    let start = await fetch(HTTPRequest(url: try inside.url("/~to=\(away)/x"))).outcome
    #expect(start.completed?.response.reachedPublic == false)
  }
}
