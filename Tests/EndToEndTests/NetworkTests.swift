// Real HTTP: TLS with HTTP/2 and certificates, credentials, proxies, redirects, limits, codings.

import Foundation
import TestSupport
import Testing

@Suite("Network")
struct NetworkTests {
  @Test func plainHTTPWorksWithARealServer() throws {
    let server = try NginxServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", server.url("demo.mp4")])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "demo.mp4")
    let requests = server.log()
    #expect(requests.filter { $0.method == "GET" }.count == 1, "\(requests)")
    #expect(requests.allSatisfy { $0.userAgent.hasPrefix("vidfetch/") })
  }

  @Test func tlsSpeaksHTTP2() throws {
    let server = try NginxServer()
    let authority = try TestAuthority.shared.get()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--cacert", authority.caPath, "-o", "a.mp4", server.secureURL("demo.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "demo.mp4")
    try waitUntil("the access log") { !server.log().isEmpty }
    #expect(server.log().allSatisfy { $0.httpVersion == "HTTP/2.0" }, "\(server.log())")
  }

  @Test(arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"])
  func trustComesFromTheEnvironmentAsForCurl(variable: String) throws {
    let server = try NginxServer()
    let authority = try TestAuthority.shared.get()
    let run = try VidfetchRun()
    let outcome = try run.run(
      ["-o", "a.mp4", server.secureURL("plain.mp4")], extra: [variable: authority.caPath])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
  }

  @Test(arguments: ["unknown authority", "expired", "other host"])
  func badCertificatesAreRefusedAtOnce(kind: String) throws {
    let server = try NginxServer()
    let authority = try TestAuthority.shared.get()
    let run = try VidfetchRun()
    let port =
      switch kind {
      case "expired": server.expiredPort
      case "other host": server.wrongHostPort
      default: server.httpsPort
      }
    let trust = kind == "unknown authority" ? [] : ["--cacert", authority.caPath]
    let url = "https://127.0.0.1:\(port)/plain.mp4"
    let outcome = try run.run(trust + ["-o", "a.mp4", url])
    expectFailure(outcome, 23, of: run, naming: url, says: ["certificate"])
    #expect(outcome.seconds < 5, "no retry helps")
    #expect(server.log().isEmpty)
  }

  @Test func plainHTTPOnATLSPortIsNoInternalError() throws {
    let server = try NginxServer()
    let run = try VidfetchRun()
    let url = "https://127.0.0.1:\(server.httpPort)/plain.mp4"
    expectFailure(
      try run.run(["--retries", "0", "-o", "a.mp4", url]), 23, of: run, naming: url,
      says: ["secure connection|TLS"])
  }

  @Test func basicAuthenticationIsSentAtOnce() throws {
    let server = try NginxServer()
    let path = "private/plain.mp4"
    let login = "\(NginxServer.user):\(NginxServer.password)"
    let embedded = server.url(path).replacingOccurrences(of: "//", with: "//\(login)@")
    for arguments in [["-u", login, server.url(path)], [embedded]] {
      let run = try VidfetchRun()
      let outcome = try run.run(["-vv", "-o", "a.mp4"] + arguments)
      try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
      #expect(!outcome.stderr.contains(NginxServer.password))
      #expect(!outcome.stdout.contains(NginxServer.password))
      #expect(
        outcome.stderr.range(of: "warning", options: .caseInsensitive) != nil,
        "credentials over plain http deserve a warning")
    }
    try waitUntil("the access log") { server.log().count >= 2 }
    #expect(server.log().allSatisfy { $0.status == 200 || $0.status == 206 }, "\(server.log())")
  }

  @Test func missingAndWrongCredentialsAreDenied() throws {
    let server = try NginxServer()
    let url = server.url("private/plain.mp4")
    for arguments in [[], ["-u", "\(NginxServer.user):wrong"]] {
      let run = try VidfetchRun()
      expectFailure(
        try run.run(arguments + ["-o", "a.mp4", url]), 21, of: run, naming: url, says: ["401"])
    }
  }

  @Test func headersReachTheServer() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "T0K-from-file\n".write(
      toFile: run.file("token"), atomically: false, encoding: .utf8)
    let outcome = try run.run([
      "--bearer-file", "token", "-H", "X-Key: value", "-H", "Accept: video/mp4", "-b", "a=1", "-A",
      "agent/9", "-e", "http://referer.example/", "-o", "a.mp4", server.url("plain.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"))
    for request in try server.log() {
      #expect(request.header("Authorization") == "Bearer T0K-from-file")
      #expect(request.header("X-Key") == "value")
      #expect(request.header("Accept") == "video/mp4")
      #expect(request.header("Cookie") == "a=1")
      #expect(request.header("User-Agent") == "agent/9")
      #expect(request.header("Referer") == "http://referer.example/")
    }
    #expect(!outcome.stderr.contains("T0K-from-file"))
  }

  @Test func explicitAuthorizationBeatsTheOthers() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "from-file".write(toFile: run.file("token"), atomically: false, encoding: .utf8)
    let url = server.url("plain.mp4").replacingOccurrences(of: "//", with: "//u:p@")
    let steps: [([String], String)] = [
      (["-H", "Authorization: Custom x", "--bearer-file", "token", "-u", "a:b"], "Custom x"),
      (["--bearer-file", "token", "-u", "a:b"], "Bearer from-file"),
      (["-u", "a:b"], "Basic YTpi"),
      ([], "Basic dTpw"),
    ]
    for (arguments, expected) in steps {
      try server.reset()
      _ = try run.run(arguments + ["--overwrite", "-o", "a.mp4", url])
      #expect(try server.log().map { $0.header("Authorization") } == [expected])
    }
  }

  @Test(arguments: ["~cross=2/", "~cross=localhost/"])
  func secretsStayWithTheirOrigin(redirect: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "-u", "viewer:pa55", "-H", "X-Key: k3y", "-b", "sid=c00kie", "-o", "a.mp4",
      server.url("\(redirect)plain.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"))
    let own = "127.0.0.1:\(server.port)"
    let strangers = try server.log().filter { $0.header("Host") != own }
    #expect(!strangers.isEmpty)
    for request in strangers {
      for name in ["Authorization", "X-Key", "Cookie"] { #expect(request.header(name) == nil) }
    }
    for request in try server.log() where request.header("Host") == own {
      for name in ["Authorization", "X-Key", "Cookie"] { #expect(request.header(name) != nil) }
    }
  }

  @Test func redirectsAreFollowedUpToALimit() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    for code in [301, 302, 303, 307, 308] {
      let outcome = try run.run([
        "--overwrite", "-o", "a.mp4", server.url("~redirect=3&code=\(code)/plain.mp4"),
      ])
      try expectSuccess(outcome, at: run.file("a.mp4"))
    }
    let empty = try VidfetchRun()
    for loop in ["~loop=1/plain.mp4", "~loop=2/plain.mp4", "~to=none/plain.mp4"] {
      try server.reset()
      let outcome = try empty.run(["-o", "a.mp4", server.url(loop)])
      expectFailure(outcome, 22, of: empty, naming: server.url(loop), says: ["redirect"])
      #expect(try server.log().count < 60)
    }
  }

  @Test(arguments: ["file", "ftp:%2F%2F127.0.0.1%2Fa", "gopher:%2F%2F127.0.0.1%2Fa"])
  func redirectsNeverLeaveHTTP(target: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~to=\(target)/plain.mp4")
    expectFailure(try run.run(["-o", "a.mp4", url]), 22, of: run, naming: url, says: ["redirect"])
  }

  @Test func redirectsFromTLSToPlainHTTPNeedPermission() throws {
    let authority = try TestAuthority.shared.get()
    let secure = try FaultServer(certificate: authority.good)
    let plain = try FaultServer()
    let target = plain.url("plain.mp4").replacingOccurrences(of: "/", with: "%2F")
    let url = secure.url("~to=\(target)/plain.mp4")
    let run = try VidfetchRun()
    let trust = ["--cacert", authority.caPath, "-o", "a.mp4"]
    expectFailure(
      try run.run(trust + [url]), 22, of: run, naming: url, says: ["--allow-downgrade"])
    #expect(try plain.log().isEmpty)
    let allowed = try run.run(trust + ["--allow-downgrade", url])
    try expectSuccess(allowed, at: run.file("a.mp4"))
  }

  @Test func proxiesAreUsed() throws {
    let server = try FaultServer()
    let proxy = "http://127.0.0.1:\(server.port)"
    let url = "http://films.example/plain.mp4"
    let run = try VidfetchRun()
    try expectSuccess(
      try run.run(["--proxy", proxy, "-o", "a.mp4", url]), at: run.file("a.mp4"))
    try expectSuccess(
      try run.run(["-o", "b.mp4", url], extra: ["http_proxy": proxy]), at: run.file("b.mp4"))
    let direct = try run.run(
      ["-o", "c.mp4", server.url("plain.mp4")],
      extra: ["http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"])
    try expectSuccess(direct, at: run.file("c.mp4"))
    #expect(try server.log().map(\.proxied).filter { $0 }.count >= 2)
  }

  @Test func rateIsLimited() throws {
    let site = try ScratchDirectory()
    try outputOfTool([
      "ffmpeg", "-nostdin", "-v", "error", "-stream_loop", "7", "-i",
      FixtureFile.media("demo.mp4"), "-c", "copy", site.file("long.mp4"),
    ])
    let server = try FaultServer(root: site.path)
    let run = try VidfetchRun()
    let outcome = try run.run(["--limit-rate", "2M", "-o", "a.mp4", server.url("long.mp4")])
    try expectSuccess(outcome, at: run.file("a.mp4"))
    // libcurl lets a first burst pass, which loopback makes large.
    #expect(outcome.seconds > 1.5, "7.9 MB at 2 MB/s")
  }

  @Test(arguments: ["resume_a.mp4", "~chunked=1/resume_a.mp4", "~close=1/resume_a.mp4"])
  func sizeLimitHoldsForBytesReceived(path: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url(path)
    expectFailure(
      try run.run(["--max-filesize", "100k", "-o", "a.mp4", url]), 22, of: run, naming: url,
      says: ["--max-filesize"])
    try expectSuccess(
      try run.run(["--max-filesize", "1M", "-o", "a.mp4", url]), at: run.file("a.mp4"))
  }

  @Test(arguments: ["gzip=1", "gzip=asked", "gzip=label"])
  func codedBodiesAreNeverSavedAsVideo(fault: String) throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run(["-o", "a.mp4", server.url("~\(fault)/plain.mp4")])
    if outcome.status == .exited(0) {
      try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
    } else {
      #expect(
        [.exited(22), .exited(30), .exited(31)].contains(outcome.status), "\(outcome.stderr)")
      #expect(run.leftovers() == [])
    }
  }

  @Test(arguments: ["resume_a.mp4", "late_audio.ts"])
  func everyFramingOfACompleteBodyIsUnderstood(name: String) throws {
    let server = try FaultServer()
    for fault in ["", "~chunked=1/", "~head=405/", "~head=lie:500/", "~oversize=500/"] {
      let run = try VidfetchRun()
      let outcome = try run.run(["--json", "-o", "a.mp4", server.url("\(fault)\(name)")])
      try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: name)
      let proof = name.hasSuffix(".ts") ? "framing" : "structure"
      #expect(try outcome.result().complete_by == proof)
    }
  }

  @Test func aBodyThatEndsWithTheConnectionNeedsAContainerWithAnEnd() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try expectSuccess(
      try run.run(["-o", "a.mp4", server.url("~close=1/plain.mp4")]), at: run.file("a.mp4"),
      equalTo: "plain.mp4")
    let other = try VidfetchRun()
    let url = server.url("~close=1/late_audio.ts")
    expectFailure(try other.run(["-o", "a.mp4", url]), 31, of: other, naming: url)
  }

  @Test func aSilentServerIsGivenUp() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let url = server.url("~stall=20000/plain.mp4")
    let outcome = try run.run(["--stall-timeout", "1", "--retries", "0", "-o", "a.mp4", url])
    expectFailure(outcome, 10, of: run, naming: url, keepsPart: true)
    #expect(outcome.seconds < 10)
  }

  @Test func aSlowButLivingTransferIsNotCut() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--stall-timeout", "2", "--retries", "0", "-o", "a.mp4",
      server.url("~trickle=12000/plain.mp4"),
    ])
    try expectSuccess(outcome, at: run.file("a.mp4"), equalTo: "plain.mp4")
  }

  @Test func aLongRetryAfterEndsAtOnce() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    let outcome = try run.run([
      "--json", "-o", "a.mp4", server.url("~status=503&retry_after=86400/plain.mp4"),
    ])
    #expect(outcome.status == .exited(11))
    let result = try outcome.result()
    #expect(result.code == "busy" && result.retryable == true && result.retry_after == 86400)
    #expect(try server.gets().count == 1)
  }
}
