// The test support itself: a server, a terminal or a probe that doesn't work must not look like a
// defect of the binary.

import TestSupport
import Testing

@Suite("Test support")
struct SupportTests {
  @Test func nginxSpeaksHTTP2AndRefusesWrongPasswords() throws {
    let server = try NginxServer()
    let authority = try TestAuthority.shared.get()
    let body = try outputOfTool([
      "curl", "-sS", "--http2", "--cacert", authority.caPath, "-o", "/dev/null", "-w",
      "%{http_version} %{size_download}", server.secureURL("plain.mp4"),
    ])
    #expect(body == "2 47517")
    let refused = try outputOfTool([
      "curl", "-sS", "-u", "viewer:wrong", "-o", "/dev/null", "-w", "%{http_code}",
      server.url("private/plain.mp4"),
    ])
    #expect(refused == "401")
    try waitUntil("the access log") { server.log().count == 2 }
    #expect(server.log().map(\.httpVersion) == ["HTTP/2.0", "HTTP/1.1"])
  }

  @Test(arguments: [false, true])
  func badCertificatesAreBad(expired: Bool) throws {
    let server = try NginxServer()
    let authority = try TestAuthority.shared.get()
    let outcome = try runTool([
      "curl", "-sS", "--cacert", authority.caPath, "-o", "/dev/null",
      "https://127.0.0.1:\(expired ? server.expiredPort : server.wrongHostPort)/plain.mp4",
    ])
    #expect(outcome.status == .exited(60))
  }

  @Test func faultServerCutsTheFirstAnswerOnly() throws {
    let server = try FaultServer()
    let url = server.url("~drop=5000&times=1/plain.mp4")
    #expect(try runTool(["curl", "-sS", "-o", "/dev/null", url]).status == .exited(18))
    #expect(try runTool(["curl", "-sS", "-o", "/dev/null", url]).status == .exited(0))
    #expect(try server.gets().map(\.sent) == [5000, 47517])
  }

  @Test func terminalShowsWhatAProgramDraws() throws {
    let terminal = try Terminal(
      columns: 40, "stty size; read line; stty size; exit 3", environment: systemEnvironment)
    try terminal.wait(for: "the first size") { $0.first == "24 40" }
    try terminal.resize(columns: 100)
    try terminal.press("Enter")
    #expect(try terminal.waitForEnd() == 3)
    #expect(try terminal.screen().contains("24 100"))
  }

  @Test func factsAreThoseOfTheFixtures() throws {
    let facts = try MediaFacts(FixtureFile.media("plain.mp4"))
    #expect(facts.packets == ["h264": 50, "aac": 95])
    #expect(facts.complaints.isEmpty)
    let hash = try MediaFacts.pictureHash(FixtureFile.media("plain.mp4"))
    #expect(hash == "MD5=add5418c52f7bb144069d15ac014ada1")
    #expect(
      try MediaFacts.boxes(FixtureFile.media("plain.mp4")) == ["ftyp", "moov", "free", "mdat"])
  }

  @Test func processReportsStatusSignalAndOutput() throws {
    #expect(try runTool(["sh", "-c", "echo out; echo err >&2; exit 7"]).status == .exited(7))
    #expect(try runTool(["sh", "-c", "kill -TERM $$"]).status == .signalled(15))
    #expect(try runTool(["sh", "-c", "pwd"], in: "/usr").stdout == "/usr\n")
  }
}
