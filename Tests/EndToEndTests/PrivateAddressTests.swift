// A job that starts at a public address may not be led to a private one. Needs a public address of
// our own, so everything runs in a network namespace that has nothing but a loopback device.

import Foundation
import TestSupport
import Testing

@Suite("Private addresses", .enabled(if: Machine.canMakeNetwork, "no network namespace here"))
struct PrivateAddressTests {
  /// Runs the binary in a namespace where a fault server listens on a public address and one on
  /// loopback; `PUBLIC` and `PRIVATE` in the arguments stand for their base URLs.
  private func isolated(_ run: VidfetchRun, _ arguments: String) throws -> ProcessOutcome {
    let script = """
      set -e
      ip link set lo up
      ip addr add 192.88.98.1/32 dev lo
      ip -6 addr add 2620:fe:0:98::1/128 dev lo nodad
      serve() {
        python3 '\(FixtureFile.folder)/faultserver.py' --root '\(FixtureFile.mediaFolder)' \
          --host "$1" --port 8080 --port-file "$2" > /dev/null 2>&1 &
        eval "$3=$!"
        for _ in $(seq 400); do [ -s "$2" ] && return; sleep 0.02; done
      }
      serve 192.88.98.1 public.port one
      serve 127.0.0.1 private.port two
      trap 'kill $one $two' EXIT
      mkdir out && cd out
      '\(VidfetchRun.binary)' \(arguments)
      """
      .replacingOccurrences(of: "PUBLIC", with: "http://192.88.98.1:8080")
      .replacingOccurrences(of: "PRIVATE", with: "http://127.0.0.1:8080")
    try script.write(toFile: "\(run.path)/script", atomically: false, encoding: .utf8)
    return try ChildProcess(
      ["unshare", "-n", "bash", "\(run.path)/script"], environment: run.environment,
      folder: run.work, captureIn: run.temp
    ).wait()
  }

  private static let toPrivate =
    "'PUBLIC/~to=http:%2F%2F127.0.0.1:8080%2Fplain.mp4/a.mp4'"

  @Test func aPublicStartMayNotLeadToAPrivateAddress() throws {
    let run = try VidfetchRun()
    let outcome = try isolated(run, "-o a.mp4 \(Self.toPrivate)")
    #expect(outcome.status == .exited(22), "\(outcome.stderr)")
    #expect(outcome.stderr.contains("--allow-private"), "\(outcome.stderr)")
    #expect(folderNames(run.file("out")) == [])
  }

  @Test func allowPrivateAllowsIt() throws {
    let run = try VidfetchRun()
    let outcome = try isolated(run, "--allow-private -o a.mp4 \(Self.toPrivate)")
    try expectSuccess(outcome, at: run.file("out/a.mp4"), equalTo: "plain.mp4")
  }

  @Test func aPublicStartMayStayPublic() throws {
    let run = try VidfetchRun()
    let outcome = try isolated(run, "-o a.mp4 PUBLIC/~redirect=2/plain.mp4")
    try expectSuccess(outcome, at: run.file("out/a.mp4"), equalTo: "plain.mp4")
  }

  @Test func aPrivateStartMayStayPrivate() throws {
    let run = try VidfetchRun()
    let outcome = try isolated(run, "-o a.mp4 PRIVATE/~redirect=2/plain.mp4")
    try expectSuccess(outcome, at: run.file("out/a.mp4"), equalTo: "plain.mp4")
  }

  @Test func aProxyThatWasNamedIsExempt() throws {
    let run = try VidfetchRun()
    let outcome = try isolated(
      run, "--proxy PRIVATE -o a.mp4 http://192.88.98.9/plain.mp4")
    try expectSuccess(outcome, at: run.file("out/a.mp4"), equalTo: "plain.mp4")
  }
}
