import Testing

@testable import FetchCLI

@Suite struct UserInfoTests {
  @Test(arguments: [
    ("http://user:pw@host/x", "user:pw"), ("http://host/x@2x.mp4", nil),
    ("http://user:p/ss@host/x", "user:p/ss"), ("http://host:8080/a@b", nil),
    ("http://[::1]:80/a@b", nil), ("http://u@host", "u"), ("host/x@y", nil),
    ("http://host?u:p@x", nil), ("http://a:b@c:d@host/", "a:b@c:d"),
  ])
  func isFoundEvenWhereItWasNotEscaped(url: String, userInfo: String?) {
    let bytes = Array(url.utf8)
    let found = UserInfo.range(in: bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
    #expect(found == userInfo)
  }

  @Test func proxyNeedsNoScheme() {
    let bytes = Array("user:pw@proxy:3128".utf8)
    #expect(UserInfo.range(in: bytes, needsScheme: false) == 0..<7)
  }
}
