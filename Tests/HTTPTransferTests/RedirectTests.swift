// Redirects, secrets, addresses and proxies over real connections.

import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct RedirectTests {
  let server = DataServer.shared

  private func secretSettings() -> TransferSettings {
    var settings = quickSettings()
    settings.headers = [HeaderField(name: "X-Key", value: "K3Y-S3C")]
    settings.cookies = ["login=C00-S3C"]
    settings.referer = "http://ref-S3C/"
    return settings
  }

  /// A URL on the server with `user:S3C@`.
  private func secretURL(_ path: String) throws -> HTTPURL {
    try HTTPURL("http://me:P4S-S3C@127.0.0.1:\(server.port)\(path)")
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectsAreFollowed(_ status: Int) async throws {
    let (recorder, outcome) = await fetch(
      HTTPRequest(url: try server.url("/~redirect=3&code=\(status)/small.txt")))
    #expect(outcome.completed?.response.redirects == 3)
    #expect(outcome.completed?.response.finalURL.query == "hop=3")
    #expect(recorder.redirects.count == 3)
    #expect(recorder.responses.count == 1)
    #expect(recorder.sink.bytes == Array("hello\n".utf8))
  }

  @Test func tenHopsAreEnough() async throws {
    let ten = await fetch(HTTPRequest(url: try server.url("/~redirect=10/small.txt"))).outcome
    #expect(ten.completed != nil)
    let eleven = await fetch(HTTPRequest(url: try server.url("/~redirect=11/small.txt"))).outcome
    #expect(eleven.failure?.kind == .redirect)
    #expect(eleven.failure?.error.code == .refused)
  }

  @Test(arguments: ["loop=1", "loop=2", "to=file", "to=none", "to=ftp:%2F%2Fh%2Fx"])
  func redirectsThatLeadNowhereAreRefused(_ fault: String) async throws {
    let mark = DataServer.mark()
    let (recorder, outcome) = await fetch(
      HTTPRequest(url: try server.url("/~\(fault)&key=\(mark)/small.txt")))
    #expect(outcome.failure?.kind == .redirect)
    #expect(outcome.failure?.error.code == .refused)
    #expect(recorder.responses.isEmpty)
    #expect(try await server.log(mark).count <= 3)
  }

  @Test func secretsReachTheirOriginOnEveryHopAndRange() async throws {
    let mark = DataServer.mark()
    var request = HTTPRequest(
      url: try secretURL("/~redirect=2/data.bin?\(mark)=1"), range: .from(5))
    request.settings = secretSettings()
    let (recorder, outcome) = await fetch(request)
    #expect(outcome.completed != nil)
    let log = try await server.log(mark)
    #expect(log.count == 3)
    for entry in log {
      #expect(entry.headers["X-Key"] == "K3Y-S3C")
      #expect(entry.headers["Cookie"] == "login=C00-S3C")
      #expect(entry.headers["Authorization"] == "Basic bWU6UDRTLVMzQw==")
      #expect(entry.headers["Referer"] == "http://ref-S3C/")
      #expect(entry.range == "bytes=5-")
    }
    #expect(recorder.warnings.map(\.warning) == [.insecureCredentials])
  }

  @Test(arguments: ["2", "localhost"])
  func noSecretReachesAnotherOrigin(_ other: String) async throws {
    let mark = DataServer.mark()
    for bearer in [nil, "T0K-S3C"] {
      var request = HTTPRequest(url: try secretURL("/~cross=\(other)&only=\(mark)*/\(mark).txt"))
      request.settings = secretSettings()
      request.settings.bearerToken = bearer
      _ = await fetch(request)
    }
    let log = try await server.log(mark)
    let strangers = log.filter {
      $0.port != server.port || $0.headers["Host"]?.hasPrefix("localhost") == true
    }
    #expect(strangers.count == 2)
    for entry in strangers {
      #expect(!entry.headers.values.contains { $0.contains("S3C") })
      #expect(entry.headers["Authorization"] == nil)
      #expect(entry.headers["Referer"] == nil)
    }
    #expect(log.contains { $0.headers["Authorization"] == "Bearer T0K-S3C" })
  }

  @Test func secretsOfAnEarlierOriginAreNotForAResumedOne() async throws {
    let mark = DataServer.mark()
    var request = HTTPRequest(url: try server.url("/small.txt?\(mark)"))
    request.settings = secretSettings()
    request.secretsOrigin = try HTTPURL("http://elsewhere/").origin
    _ = await fetch(request)
    #expect(try await server.log(mark).first?.headers["X-Key"] == nil)
  }

  @Test func basicCredentialsOpenWhatNeedsThem() async throws {
    let path = "/~auth=me:P4S-S3C/small.txt"
    #expect(await fetch(HTTPRequest(url: try secretURL(path))).outcome.completed != nil)
    let denied = await fetch(HTTPRequest(url: try server.url(path))).outcome
    #expect(denied.failure?.kind == .status(401))
    #expect(denied.failure?.error.code == .denied)
  }

  @Test func aCookieThatARedirectSetsIsSentOn() async throws {
    let path = "/~wantcookie=sid=77&after=1/~redirect=1&setcookie=sid=77/small.txt"
    let (_, outcome) = await fetch(HTTPRequest(url: try server.url(path)))
    #expect(outcome.completed?.response.cookies.isEmpty == false)
  }

  @Test func aCookieGoesToNoOtherOrigin() async throws {
    let mark = DataServer.mark()
    let path = "/~cross=2&setcookie=sid=77/\(mark).txt"
    _ = await fetch(HTTPRequest(url: try server.url(path)))
    let log = try await server.log(mark)
    #expect(log.count == 2)
    #expect(log.allSatisfy { $0.headers["Cookie"] == nil })
  }

  @Test func cookiesOutliveAnExchangeByTheRequest() async throws {
    let mark = DataServer.mark()
    let first = await fetch(
      HTTPRequest(url: try server.url("/~setcookie=sid=77/small.txt"))
    ).outcome
    var request = HTTPRequest(url: try server.url("/small.txt?\(mark)"))
    request.cookies = try #require(first.completed).response.cookies
    _ = await fetch(request)
    #expect(try await server.log(mark).first?.headers["Cookie"] == "sid=77")
  }

  @Test func aHeaderThatSmugglesALineIsNotSent() async throws {
    var request = HTTPRequest(url: try server.url("/small.txt"))
    request.settings.headers = [HeaderField(name: "X", value: "a\r\nY: b")]
    let (_, outcome) = await fetch(request)
    #expect(outcome.failure?.kind == .request)
    #expect(outcome.failure?.error.code == .usage)
    request.settings.headers = []
    request.settings.bearerToken = "a\nb"
    #expect(await fetch(request).outcome.failure?.error.code == .usage)
  }

  @Test func headsAreLoggedWithoutSecrets() async throws {
    let lines = LineCollector()
    var request = HTTPRequest(url: try secretURL("/~redirect=1/data.bin?token=T0K-S3C"))
    request.settings = secretSettings()
    request.log = { lines.append($0) }
    _ = await fetch(request)
    let text = lines.text
    #expect(text.contains("> GET http://127.0.0.1:\(server.port)/~redirect=1/data.bin?token=…"))
    #expect(text.contains("< HTTP/1.1 302"))
    #expect(text.contains("< HTTP/1.1 200"))
    #expect(!text.contains("S3C"))
  }

  // MARK: - Addresses

  /// A loop for which 127.0.0.1 is a public address and 127.0.0.2 is not.
  private func loop() -> TransferLoop {
    TransferLoop(environment: TransferEnvironment()) {
      $0 == "127.0.0.1" ? .global : AddressClass($0)
    }
  }

  @Test func aPublicStartDoesNotReachPrivateAddresses() async throws {
    let inner = DataServer(host: "127.0.0.2")
    let mark = DataServer.mark()
    let target = "/~to=http:%2F%2F127.0.0.2:\(inner.port)%2Fsmall.txt%3F\(mark)/x"
    var request = HTTPRequest(url: try server.url(target))
    let outcome = await fetch(request, loop: loop()).outcome
    #expect(outcome.failure?.kind == .address)
    #expect(outcome.failure?.error.code == .refused)
    #expect(outcome.failure?.error.message.contains("127.0.0.2") == true)
    #expect(outcome.failure?.error.recovery?.contains("--allow-private") == true)
    #expect(outcome.failure?.reachedPublic == true)
    #expect(try await inner.log(mark).isEmpty)

    request.settings.allowPrivate = true
    #expect(await fetch(request, loop: loop()).outcome.completed != nil)

    // A private start may go on to private addresses.
    request.settings.allowPrivate = false
    #expect(await fetch(request).outcome.completed?.response.reachedPublic == false)
  }

  @Test func theStartIsRememberedAcrossExchanges() async throws {
    var request = HTTPRequest(url: try server.url("/small.txt"))
    request.startedPublic = true
    let outcome = await fetch(request).outcome
    #expect(outcome.failure?.kind == .address)
  }

  @Test func aConnectionThatIsOpenAlreadyIsNoWayAround() async throws {
    let inner = DataServer(host: "127.0.0.2")
    let loop = loop()
    // A job that may, leaves a connection behind.
    let first = await fetch(HTTPRequest(url: try inner.url("/small.txt")), loop: loop).outcome
    #expect(first.completed?.response.reachedPublic == false)
    var request = HTTPRequest(url: try inner.url("/small.txt"))
    request.startedPublic = true
    #expect(await fetch(request, loop: loop).outcome.failure?.kind == .address)
  }

  // MARK: - Proxies

  @Test func aProxyIsUsedAndItsAddressIsExempt() async throws {
    let mark = DataServer.mark()
    var request = HTTPRequest(url: try HTTPURL("http://public.invalid/small.txt?\(mark)"))
    request.settings.proxy = "http://127.0.0.1:\(server.port)"
    request.startedPublic = true
    let outcome = await fetch(request).outcome
    #expect(outcome.completed != nil)
    #expect(try await server.log(mark).first?.proxied == true)
  }

  @Test func theEnvironmentsProxyIsUsedUnlessForbidden() async throws {
    let mark = DataServer.mark()
    let proxy = "http://127.0.0.1:\(server.port)"
    let loop = TransferLoop(environment: TransferEnvironment(["http_proxy": proxy]))
    var request = HTTPRequest(url: try HTTPURL("http://public.invalid/small.txt?\(mark)"))
    #expect(await fetch(request, loop: loop).outcome.completed?.response.reachedPublic == true)
    request.settings.proxy = ""
    #expect(await fetch(request, loop: loop).outcome.failure?.kind == .resolve)
  }

  @Test(arguments: [
    "127.0.0.1", "localhost", "[::1]", "169.254.169.254", "2130706433", "x.localhost",
  ])
  func aProxyIsNotAskedForPrivateAddresses(_ host: String) async throws {
    let mark = DataServer.mark()
    var request = HTTPRequest(url: try HTTPURL("http://\(host)/small.txt?\(mark)"))
    request.settings.proxy = "http://127.0.0.1:\(server.port)"
    request.startedPublic = true
    #expect(await fetch(request).outcome.failure?.kind == .address)
    #expect(try await server.log(mark).isEmpty)
  }

  /// By a name that only the proxy knows, and back around the proxy.
  @Test func aProxysNameLeadsToNoPrivateAddress() async throws {
    let mark = DataServer.mark()
    let proxy = "http://127.0.0.1:\(server.port)"
    let loop = TransferLoop(
      environment: TransferEnvironment(["http_proxy": proxy, "no_proxy": "127.0.0.0/8"]))
    let target = "http:%2F%2F127.0.0.1:\(server.port)%2Fsmall.txt%3F\(mark)"
    var request = HTTPRequest(url: try HTTPURL("http://public.invalid/~to=\(target)/x"))
    let failure = await fetch(request, loop: loop).outcome.failure
    #expect(failure?.kind == .address)
    #expect(failure?.reachedPublic == true)
    #expect(try await server.log(mark).allSatisfy { $0.proxied })
    request.settings.allowPrivate = true
    #expect(await fetch(request, loop: loop).outcome.completed != nil)
  }

  @Test(arguments: [
    "http://me:P4S-S3C@ho st:1", "odd://me:P4S-S3C@127.0.0.1:1", "me:P4S-S3C@[::1",
    "http://me:P4S/S3C@127.0.0.1:1", "http://me:P4S-S3C@proxy.invalid:1",
  ])
  func aProxysPasswordIsInNoError(_ proxy: String) async throws {
    var request = HTTPRequest(url: try HTTPURL("http://public.invalid/small.txt"))
    request.settings.proxy = proxy
    let error = try #require(await fetch(request).outcome.failure?.error)
    let text = "\(error.message) \(error.reason ?? "") \(error.recovery ?? "")"
    #expect(!text.contains("S3C") && !text.contains("P4S"), "\(text)")
  }

  @Test func aProxyThatRefusesATunnelIsNamed() async throws {
    var request = HTTPRequest(url: try HTTPURL("https://public.invalid/small.txt"))
    request.settings = secretSettings()
    request.settings.proxy = "http://127.0.0.1:\(server.port)"
    let outcome = await fetch(request).outcome
    #expect(outcome.failure?.kind == .status(501))
    #expect(outcome.failure?.error.message.contains("proxy") == true)
    // Nothing of the person's goes to the proxy with CONNECT.
    let log = try await server.log("public.invalid:443")
    #expect(log.count == 1)
    #expect(log.first?.headers.values.contains { $0.contains("S3C") } == false)
  }
}

/// Collects lines from the transfer thread.
final class LineCollector: Sendable {
  private let lines = Monitor<[String]>([])

  func append(_ line: String) { lines.withLock { $0.append(line) } }

  var text: String { lines.withLock { $0.joined(separator: "\n") } }
}
