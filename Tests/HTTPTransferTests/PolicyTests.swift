// The pure decisions about addresses, proxies, redirects, secrets, statuses and retries.

import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct AddressClassTests {
  @Test(
    arguments: [
      ("8.8.8.8", AddressClass.global), ("1.1.1.1", .global), ("172.15.255.255", .global),
      ("172.32.0.0", .global), ("100.63.255.255", .global), ("100.128.0.0", .global),
      ("169.253.1.1", .global), ("192.167.1.1", .global), ("223.255.255.255", .global),
      ("127.0.0.1", .loopback), ("127.255.255.255", .loopback), ("10.0.0.1", .privateUse),
      ("172.16.0.1", .privateUse), ("172.31.255.255", .privateUse), ("192.168.0.1", .privateUse),
      ("100.64.0.1", .carrierNAT), ("100.127.255.255", .carrierNAT),
      ("169.254.169.254", .linkLocal), ("0.0.0.0", .unspecified), ("0.1.2.3", .unspecified),
      ("224.0.0.1", .multicast), ("239.255.255.255", .multicast), ("240.0.0.1", .reserved),
      ("255.255.255.255", .reserved), ("192.0.2.1", .reserved), ("198.18.0.1", .reserved),
      ("198.51.100.7", .reserved), ("203.0.113.9", .reserved), ("192.0.0.8", .reserved),
      ("2606:4700::1111", .global), ("2a00:1450::1", .global), ("2001:4860::8888", .global),
      ("::1", .loopback), ("::", .unspecified), ("fe80::1", .linkLocal),
      ("fe80::1%eth0", .linkLocal),
      ("febf::1", .linkLocal), ("fec0::1", .privateUse), ("fc00::1", .uniqueLocal),
      ("fdff::1", .uniqueLocal), ("ff02::1", .multicast), ("2001:db8::1", .reserved),
      ("2001:10::1", .reserved), ("3fff::1", .reserved), ("4000::1", .reserved),
      ("100::1", .reserved),
      ("::ffff:127.0.0.1", .loopback), ("::ffff:10.1.2.3", .privateUse),
      ("::ffff:8.8.8.8", .global),
      ("::127.0.0.1", .loopback), ("::10.0.0.1", .privateUse),
      ("::ffff:0:169.254.169.254", .linkLocal),
      ("64:ff9b::7f00:1", .loopback), ("64:ff9b::a9fe:a9fe", .linkLocal),
      ("64:ff9b::808:808", .global),
      ("64:ff9b:1::1", .privateUse), ("2002:7f00:1::", .loopback), ("2002:a00:1::1", .privateUse),
      ("2002:808:808::1", .global), ("2001:0:7f00:1::1", .reserved),
      ("2001:0:808:808:0:0:80ff:fffe", .loopback), ("2001:0:808:808:0:0:f7f7:f7f7", .global),
    ] as [(String, AddressClass)])
  func everyAddressHasItsClass(_ text: String, _ expected: AddressClass) {
    // The Teredo sample's client bits are 0, which flipped are 255.255.255.254: reserved.
    #expect(AddressClass(text) == expected)
  }

  @Test(arguments: ["", "localhost", "127.1", "0x7f000001", "1.2.3", "::g", "1.2.3.4.5", "[::1]"])
  func whatIsNoNumericAddressHasNone(_ text: String) {
    #expect(AddressClass(text) == nil)
  }

  @Test func onlyTheGlobalOnesArePublic() {
    #expect(AddressClass.allCases.filter(\.isPublic) == [.global])
  }

  @Test func aPublicStartForbidsAllThatIsNotPublic() {
    var policy = AddressPolicy(startedPublic: nil, allowPrivate: false)
    #expect(policy.permits(.loopback))
    policy.note(.global)
    #expect(policy.startedPublic == true)
    for found in AddressClass.allCases { #expect(policy.permits(found) == (found == .global)) }
  }

  @Test func aPrivateStartMayStayAndGoAnywhere() {
    var policy = AddressPolicy(startedPublic: nil, allowPrivate: false)
    policy.note(.privateUse)
    policy.note(.global)
    #expect(policy.startedPublic == false)
    for found in AddressClass.allCases { #expect(policy.permits(found)) }
  }

  @Test func theChoiceOutlivesAnExchange() {
    #expect(!AddressPolicy(startedPublic: true, allowPrivate: false).permits(.loopback))
    #expect(AddressPolicy(startedPublic: true, allowPrivate: true).permits(.loopback))
  }
}

@Suite struct ProxyPolicyTests {
  private func proxy(
    _ url: String, _ setting: String?, _ environment: [String: String]
  ) throws -> String? {
    ProxyPolicy.proxy(
      for: try HTTPURL(url), setting: setting, environment: TransferEnvironment(environment))
  }

  @Test func theSettingBeatsTheEnvironment() throws {
    let environment = ["http_proxy": "http://env:1", "https_proxy": "http://envs:1"]
    #expect(try proxy("http://h/", nil, environment) == "http://env:1")
    #expect(try proxy("https://h/", nil, environment) == "http://envs:1")
    #expect(try proxy("http://h/", "http://own:2", environment) == "http://own:2")
    #expect(try proxy("http://h/", "", environment) == nil)
  }

  @Test func theEnvironmentIsReadAsLibcurlDoes() throws {
    #expect(try proxy("http://h/", nil, ["HTTP_PROXY": "http://trap:1"]) == nil)
    #expect(try proxy("https://h/", nil, ["HTTPS_PROXY": "http://p:1"]) == "http://p:1")
    #expect(try proxy("http://h/", nil, ["ALL_PROXY": "socks5://p:1"]) == "socks5://p:1")
    #expect(try proxy("http://h/", nil, ["http_proxy": "", "all_proxy": "http://p:1"]) == nil)
    #expect(try proxy("http://h.example/", "http://p:1", ["no_proxy": "example"]) == nil)
  }

  @Test(arguments: [
    ("example.com", "example.com", true), ("www.example.com", "example.com", true),
    ("www.example.com", ".example.com", true), ("badexample.com", "example.com", false),
    ("example.com", "other, EXAMPLE.com", true), ("example.com.", "example.com", true),
    ("h", "*", true), ("10.1.2.3", "10.0.0.0/8", true), ("11.1.2.3", "10.0.0.0/8", false),
    ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false), ("::1", "[::1]", true),
    ("fd00::5", "fd00::/16", true), ("10.1.2.3", "10.0.0.0/99", false), ("h", "", false),
    ("10.1.2.3", "3", false),
  ])
  func exceptionsAreMatched(_ host: String, _ list: String, _ isExcepted: Bool) {
    #expect(ProxyPolicy.isExcepted(host: host, by: list) == isExcepted)
  }

  @Test func certificatesComeFromWhereCurlTakesThem() {
    func trust(_ setting: String?, _ environment: [String: String]) -> [String?] {
      let found = TrustSource(setting: setting, environment: TransferEnvironment(environment))
      return [found.file, found.directory]
    }
    let all = ["CURL_CA_BUNDLE": "b", "SSL_CERT_FILE": "f", "SSL_CERT_DIR": "d"]
    #expect(trust("own", all) == ["own", nil])
    #expect(trust(nil, all) == ["b", nil])
    #expect(trust(nil, ["SSL_CERT_FILE": "f", "SSL_CERT_DIR": "d"]) == ["f", "d"])
    #expect(trust(nil, [:]) == [nil, nil])
  }
}

@Suite struct RequestFieldsTests {
  private func fields(
    _ url: String, start: String = "http://u:p@home:80/x",
    _ change: (inout TransferSettings) -> Void = { _ in }, jar: CookieJar = CookieJar()
  ) throws -> RequestFields {
    var settings = TransferSettings()
    change(&settings)
    let start = try HTTPURL(start)
    let url = try HTTPURL(url)
    return RequestFields(
      for: url, settings: settings, secretsOrigin: start.origin,
      startCredentials: start.credentials, hopCredentials: url.credentials, cookies: jar,
      ifRange: nil)
  }

  private func value(_ fields: RequestFields, _ name: String) -> String? {
    fields.fields.first { $0.name.hasSameName(as: name) }?.value
  }

  @Test(arguments: [
    "https://home:80/", "http://home:81/", "http://other/", "http://home.other/", "http://home./",
    "http://sub.home/",
  ])
  func nothingOfThePersonGoesToAnotherOrigin(_ other: String) throws {
    let all: (inout TransferSettings) -> Void = { settings in
      settings.headers = [HeaderField(name: "X-Key", value: "K3Y")]
      settings.user = UserCredentials(user: "a", password: "b")
      settings.bearerToken = "T0K"
      settings.cookies = ["c=d"]
      settings.referer = "http://secret/"
    }
    #expect(try fields(other, all).fields.isEmpty)
    #expect(try fields("http://HOME/elsewhere", all).fields.count == 4)
  }

  @Test func anExplicitHeaderBeatsTokenBeatsUserBeatsURL() throws {
    #expect(value(try fields("http://home/"), "Authorization") == "Basic dTpw")
    #expect(
      value(
        try fields("http://home/") {
          $0.user = UserCredentials(user: "Aladdin", password: "open sesame")
        },
        "Authorization") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(
      value(
        try fields("http://home/") {
          $0.user = UserCredentials(user: "a", password: "b")
          $0.bearerToken = "T0K"
        }, "Authorization") == "Bearer T0K")
    let explicit = try fields("http://home/") {
      $0.bearerToken = "T0K"
      $0.headers = [HeaderField(name: "AUTHORIZATION", value: "Own x")]
    }
    #expect(
      explicit.fields.filter { $0.name.hasSameName(as: "authorization") }.map(\.value) == ["Own x"])
    #expect(explicit.carriesCredentials)
  }

  @Test func aRedirectsUserGoesToItsHopOnly() throws {
    #expect(value(try fields("http://v:q@other/"), "Authorization") == "Basic djpx")
    #expect(value(try fields("http://other/"), "Authorization") == nil)
    // What the person gave beats what a server wrote.
    #expect(value(try fields("http://v:q@home/"), "Authorization") == "Basic dTpw")
  }

  @Test func cookiesOfThePersonAndTheServerAreOneField() throws {
    var jar = CookieJar()
    jar.store("b=server; Path=/", from: try HTTPURL("http://home/"), now: 0)
    let found = try fields("http://home/", { $0.cookies = ["a=1; b=2"] }, jar: jar)
    #expect(value(found, "Cookie") == "a=1; b=server")
    #expect(found.fields.filter { $0.name == "Cookie" }.count == 1)
    #expect(value(try fields("http://other/", { $0.cookies = ["a=1"] }, jar: jar), "Cookie") == nil)
  }

  @Test(arguments: [
    ("Host", "x"), ("range", "bytes=0-"), ("Content-Length", "1"), ("X Y", "1"), ("", "1"),
    ("X", "a\r\nb"), ("X", "a\0"), ("Trailer", "x"), ("HTTP2-Settings", "x"),
    ("Accept-Encoding", "gzip"), ("Tränen", "1"),
  ])
  func headersThatCannotBeSentAreNamed(_ name: String, _ value: String) {
    let problem = HeaderRule.problem(with: HeaderField(name: name, value: value))
    #expect(problem != nil)
    #expect(problem?.contains("\r") != true)
  }

  @Test(arguments: [
    (
      "Location", "http://usr:sekret@h/full?token=sekret&a=1#access_token=sekret",
      "http://h/full?token=…&a=1"
    ),
    ("location", "/full?a=1#access_token=sekret", "/full?a=1"),
    ("Content-Location", "//usr:sekret@h/x", "//h/x"),
    ("Location", "http:/usr:sekret@h/x", "http://h/x"),
    ("Location", "http://usr:sek/ret@h/x", "…"), ("Location", "usr:sekret@h/x", "…"),
    ("Location", "7usr:sekret@h/x", "…"), ("Location", "/\\usr:sekret@h/x", "…"),
    ("Location", "ftp://usr:sekret@h/x", "…"), ("Location", "a/b", "a/b"),
    (
      "Link", "<http://u:sekret@h/a#sekret>; rel=next, </b?sig=sekret>; rel=prev",
      "<http://h/a>; rel=next, </b?sig=…>; rel=prev"
    ),
    ("Link", "http://u:sekret@h/a", "…"), ("Link", "</a>; anchor=\"//u:sekret@h\"", "…"),
    ("Refresh", "5; URL='http://u:sekret@h/#sekret'", "5; url=http://h/"), ("Refresh", "5", "5"),
    ("Refresh", "http://u:sekret@h/", "…"),
    ("Referer", "http://u:sekret@h/", "…"), ("X-Original-URL", "/a?t=sekret", "…"),
    ("Content-Security-Policy", "report-uri http://h/?sekret", "…"), ("X-Auth", "sekret", "…"),
    ("ETag", "\"a@b?\"", "\"a@b?\""), ("Server", "nginx/1.22", "nginx/1.22"),
  ])
  func noHeaderShowsAURLsSecrets(_ name: String, _ value: String, _ shown: String) {
    var head = ResponseHead()
    for line in ["HTTP/1.1 302 F", "\(name): \(value)", ""] {
      Array((line + "\r\n").utf8).withUnsafeBytes { head.take($0) }
    }
    #expect(TransferLog.response(head) == ["< HTTP/1.1 302", "< \(name): \(shown)"])
  }

  @Test func logsShowNoSecret() throws {
    let fields = try fields("http://home/a?token=S3C") { settings in
      settings.headers = [HeaderField(name: "X-Odd", value: "S3C")]
      settings.cookies = ["c=S3C"]
      settings.bearerToken = "S3C"
      settings.referer = "S3C"
    }
    let lines = TransferLog.request(
      url: try HTTPURL("http://home/a?token=S3C"), range: .from(5), fields: fields, proxied: false)
    #expect(lines.first == "> GET http://home/a?token=…")
    #expect(!lines.joined().contains("S3C"))
    var head = ResponseHead()
    for line in ["HTTP/1.1 302 F", "Set-Cookie: S3C", "Location: /x?sig=S3C", "Server: s", ""] {
      Array((line + "\r\n").utf8).withUnsafeBytes { head.take($0) }
    }
    let answer = TransferLog.response(head)
    #expect(!answer.joined().contains("S3C"))
    #expect(answer.contains("< Server: s"))
  }
}

@Suite struct CookieJarTests {
  private func sent(_ cookies: [String], from: String, to: String, now: Int64 = 0) throws -> String
  {
    var jar = CookieJar()
    for cookie in cookies { jar.store(cookie, from: try HTTPURL(from), now: now) }
    return jar.pairs(for: try HTTPURL(to)).map { "\($0.name)=\($0.value)" }.joined(separator: ";")
  }

  @Test(arguments: [
    ("http://h/a", "http://h/b", "n=v"), ("http://h/a", "http://h:81/", ""),
    ("http://h/a", "https://h/", ""), ("http://h/a", "http://sub.h/", ""),
    ("http://sub.h/a", "http://h/", ""),
  ])
  func aCookieGoesBackToItsVeryOriginOnly(_ from: String, _ to: String, _ expected: String) throws {
    #expect(try sent(["n=v; Path=/; Domain=h"], from: from, to: to) == expected)
  }

  @Test func pathsAreObeyed() throws {
    #expect(try sent(["n=v"], from: "http://h/a/b", to: "http://h/a/c") == "n=v")
    #expect(try sent(["n=v"], from: "http://h/a/b", to: "http://h/ab") == "")
    #expect(
      try sent(["n=1; Path=/", "n=2; Path=/a"], from: "http://h/", to: "http://h/a") == "n=2;n=1")
  }

  @Test func theLastValueCountsAndThePastDeletes() throws {
    let cookies = ["n=1;Path=/", "n=2;Path=/"]
    #expect(try sent(cookies, from: "http://h/", to: "http://h/") == "n=2")
    for end in ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01-Jan-1970 00:00:00 GMT"] {
      #expect(
        try sent(cookies + ["n=;Path=/;" + end], from: "http://h/", to: "http://h/", now: 9) == "")
    }
    let kept = "n=3;Path=/;Max-Age=60;Expires=Thu, 01 Jan 1970 00:00:00 GMT"
    #expect(try sent([kept], from: "http://h/", to: "http://h/", now: 9) == "n=3")
  }

  @Test func junkIsNoCookie() throws {
    #expect(
      try sent(["", "=v", "novalue", ";", "a\u{1}=b"], from: "http://h/", to: "http://h/") == "")
  }
}

@Suite struct RedirectPolicyTests {
  private func target(
    _ location: String?, from: String = "https://h/a", followed: Int = 0, downgrade: Bool = false
  )
    throws -> String
  {
    try RedirectPolicy.target(
      status: 302, location: location, from: HTTPURL(from), followed: followed,
      allowDowngrade: downgrade
    ).text
  }

  @Test func tenAreFollowedAndNoMore() throws {
    #expect(try target("b", followed: 9) == "https://h/b")
    #expect(throws: FetchError.self) { try target("b", followed: 10) }
  }

  @Test(arguments: [
    nil, "", "file:///etc/hostname", "ftp://h/", "gopher://h/", "http://", "http://h/",
  ])
  func whatIsNotToBeFollowedIsRefused(_ location: String?) {
    #expect { _ = try target(location) } throws: { ($0 as? FetchError)?.code == .refused }
  }

  @Test func downgradesNeedLeave() throws {
    #expect(try target("http://h/", downgrade: true) == "http://h/")
    #expect(try target("http://i/", from: "http://h/") == "http://i/")
  }

  @Test func onlyFiveStatusesLeadOn() {
    #expect((100..<600).filter(RedirectPolicy.isRedirect) == [301, 302, 303, 307, 308])
  }
}

@Suite struct RetryPolicyTests {
  private func decide(
    _ kind: TransferFailure.Kind, attempt: Int = 1, elapsed: Duration = .zero,
    retryAfter: String? = nil, now: Int64 = 1000, jitter: Double = 0.5
  ) -> RetryPolicy.Decision {
    RetryPolicy(TransferSettings()).decide(
      kind, FetchError(.network, "it broke"), attempt: attempt, elapsed: elapsed,
      retryAfter: retryAfter.flatMap { RetryAfter($0, now: now) }, now: now, jitter: jitter)
  }

  private func isWait(_ decision: RetryPolicy.Decision) -> Bool {
    if case .wait = decision { true } else { false }
  }

  @Test(
    arguments: [
      (TransferFailure.Kind.cut, 5), (.reset, 5), (.stall, 5), (.emptyReply, 5), (.http2, 5),
      (.handshake, 5), (.connect, 5), (.connectTimeout, 5), (.resolve, 2), (.connectRefused, 2),
      (.status(503), 5), (.status(429), 5), (.status(408), 5), (.status(425), 5), (.status(500), 5),
      (.status(502), 5), (.status(504), 5), (.status(522), 5), (.status(524), 5), (.status(501), 5),
      (.status(505), 5), (.status(507), 5), (.status(511), 5), (.status(520), 5), (.status(521), 5),
      (.status(523), 5), (.status(530), 5), (.status(599), 5), (.status(600), 0),
      (.status(404), 0), (.status(403), 0), (.status(416), 0), (.trust, 0), (.redirect, 0),
      (.address, 0), (.contentCoding, 0), (.lengths, 0), (.surplus, 0), (.tooLarge, 0), (.sink, 0),
      (.cancelled, 0), (.request, 0), (.internal, 0),
    ] as [(TransferFailure.Kind, Int)])
  func eachKindHasItsNumberOfRetries(_ kind: TransferFailure.Kind, _ allowed: Int) {
    #expect((1...9).filter { isWait(decide(kind, attempt: $0)) } == Array(1..<(allowed + 1)))
  }

  @Test func waitsGrowToThirtySecondsWithFullJitter() {
    #expect(
      (1...7).map { RetryPolicy.backOff(attempt: $0, jitter: 1) }
        == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    #expect(RetryPolicy.backOff(attempt: 3, jitter: 0) == .zero)
    #expect(RetryPolicy.backOff(attempt: .max, jitter: 0.5) == .seconds(15))
  }

  @Test func noRetryBeginsAfterTheTimeWithoutNewBytes() {
    #expect(!isWait(decide(.cut, elapsed: .seconds(600))))
    #expect(
      decide(.cut, attempt: 5, elapsed: .seconds(599), jitter: 1)
        == .wait(.seconds(1), message: "trying again in 1.0 s"))
  }

  @Test func theServersWishBeatsTheBackOff() {
    #expect(
      decide(.status(429), retryAfter: "2")
        == .wait(.seconds(2), message: "server asks to wait 2 s"))
    #expect(
      decide(.status(503), retryAfter: "Thu, 01 Jan 1970 00:16:43 GMT")
        == .wait(.seconds(3), message: "server asks to wait 3 s"))
  }

  @Test(arguments: ["0", "-5", "soon", "Thu, 01 Jan 1970 00:01:40 GMT", ""])
  func aWishForThePastOrForNothingIsIgnored(_ text: String) {
    #expect(
      decide(.status(503), retryAfter: text)
        == .wait(.milliseconds(500), message: "trying again in 0.5 s"))
  }

  @Test func aWishBeyondWhatIsLeftEndsAtOnce() {
    guard case .giveUp(let error) = decide(.status(503), retryAfter: "86400") else {
      Issue.record("no end")
      return
    }
    #expect(error.code == .busy)
    #expect(error.retryAfter == 86400)
    #expect(error.message.contains("24 h"))
    #expect(!isWait(decide(.status(503), elapsed: .seconds(500), retryAfter: "101")))
    #expect(isWait(decide(.status(503), elapsed: .seconds(500), retryAfter: "99")))
  }

  @Test func wishesDoNotOutlastTheRetries() {
    #expect(!isWait(decide(.status(503), attempt: 6, retryAfter: "2")))
    #expect(!isWait(decide(.status(404), retryAfter: "2")))
  }
}

@Suite struct StatusPolicyTests {
  @Test func everyStatusHasItsClass() {
    for status in 100..<600 where !StatusPolicy.hasResource(status) {
      let expected: OutcomeCode =
        switch status {
        case 404, 410: .notFound
        case 401, 403, 407: .denied
        case 408, 425, 429, 500...599: .busy
        default: .refused
        }
      #expect(StatusPolicy.error(status).code == expected, "\(status)")
    }
  }
}
