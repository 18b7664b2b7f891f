import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct URLTests {
  @Test func partsAreThoseOfLibcurl() throws {
    let url = try HTTPURL("HTTP://us%65r:p%40ss@Example.COM:8080/a/./b/../c%20d.mp4?q=1#frag")
    #expect(url.origin == Origin(scheme: "http", host: "example.com", port: 8080))
    #expect(url.credentials == UserCredentials(user: "user", password: "p@ss"))
    #expect(url.path == "/a/c%20d.mp4")
    #expect(url.query == "q=1")
    #expect(url.lastPathComponent == "c d.mp4")
    #expect(!url.text.contains("ss@") && !url.text.contains("frag"))
    #expect(!url.redacted.contains("p%40ss"))
  }

  @Test(arguments: [
    ("ftp://example.com/x", "unsupported scheme ftp"),
    ("file:///etc/passwd", "unsupported scheme file"),
    ("javascript://x/y", "unsupported scheme javascript"),
    ("example.com/x", "malformed URL"), ("", "malformed URL"), ("http://", "malformed URL"),
    ("http:///", "malformed URL"), ("http://a b/", "malformed URL"),
    ("http://example.com/\r\nX: y", "control characters in the URL"),
    ("http://example.com/\u{0}", "control characters in the URL"),
    ("http://example.com:99999/", "malformed URL"), ("http://example.com:x/", "malformed URL"),
    ("http://[::1/", "malformed URL"),
    ("http://u%0ax@example.com/", "control characters in the URL's user name"),
    ("http://u:p%0ax@example.com/", "control characters in the URL's password"),
    ("http://u:%00@example.com/", "control characters in the URL's password"),
    ("http://u:%E4@example.com/", "the URL's password isn't UTF-8"),
    ("http://%E4:p@example.com/", "the URL's user name isn't UTF-8"),
  ])
  func whatIsNotHTTPIsRefused(_ text: String, _ message: String) {
    #expect {
      _ = try HTTPURL(text)
    } throws: { error in
      guard let error = error as? FetchError else { return false }
      return error.code == .refused && (message.isEmpty || error.message == message)
    }
  }

  @Test(arguments: [
    ("http://0x7f.1/", "127.0.0.1"), ("http://017700000001/", "127.0.0.1"),
    ("http://2130706433/", "127.0.0.1"), ("http://[::FFFF:127.0.0.1]/", "::ffff:127.0.0.1"),
    ("http://[::1%25lo]/", "::1"),
  ])
  func oddSpellingsOfAddressesAreSeenThrough(_ text: String, _ host: String) throws {
    let found = try HTTPURL(text).host
    #expect(found == host || AddressClass(found) == .loopback)
  }

  @Test(arguments: [
    ("http://example.com", "http://example.com/"),
    ("HTTP://EXAMPLE.com:80/%7Ea/%c3%a9?b=%2f%41#x", "http://example.com/~a/%C3%A9?b=%2FA"),
    ("https://example.com:443/a/../b", "https://example.com/b"),
    ("https://u:p@example.com:80/", "https://example.com:80/"),
    ("http://example.com/?", "http://example.com/"),
  ])
  func equalAddressesHaveOneNormalForm(_ text: String, _ normal: String) throws {
    let found = try HTTPURL(text).normalized
    #expect(found == normal || found == normal + "?")
  }

  @Test(arguments: [
    ("http://h/a?x=1&token=abc&y=2", "http://h/a?x=1&token=…&y=2"),
    ("http://h/a?X-Amz-Signature=abc;Key=k", "http://h/a?X-Amz-Signature=…;Key=…"),
    ("http://h/a?to%6ben=abc", "http://h/a?to%6ben=…"),
    ("http://h/a?sig=&q", "http://h/a?sig=…&q"),
    ("http://h/a?page=2&q=cats", "http://h/a?page=2&q=cats"),
    ("http://h/a?password=x&access_token=y&auth=z", "http://h/a?password=…&access_token=…&auth=…"),
  ])
  func secretsOfTheQueryAreNotShown(_ text: String, _ shown: String) throws {
    #expect(URLText.redacting(text) == shown)
    #expect(!(try HTTPURL(text).redacted.contains("abc")))
  }

  @Test(arguments: [
    ("http://user:p/ss@127.0.0.1/x", "http://127.0.0.1/x"),
    ("http://u:p@ss@ho st/x?token=1#t", "http://ho st/x"), ("http://h:x/a?b", "http://h:x/a"),
    ("http://u:p?ss@h/", "http://…"), ("http://u:p#s@s@h/", "http://…"),
    ("u:p/ss@h/x", "h/x"), ("", ""),
  ])
  func whatCannotBeParsedShowsNoPassword(_ text: String, _ shown: String) {
    #expect(URLText.redacting(unreadable: text) == shown)
  }

  @Test(arguments: [
    ("b.mp4", "http://example.com/a/b.mp4"), ("/b", "http://example.com/b"),
    ("../b", "http://example.com/b"), ("?q=2", "http://example.com/a/clip?q=2"),
    ("//other.org/x", "http://other.org/x"), ("https://other.org", "https://other.org/"),
    ("b c/é", "http://example.com/a/b%20c/%c3%a9"),
  ])
  func locationsAreResolved(_ location: String, _ result: String) throws {
    let base = try HTTPURL("http://me:pw@example.com/a/clip?q=1#f")
    let found = try base.resolving(location)
    #expect(found.text == result)
    #expect(found.credentials == nil)
  }

  @Test func aLocationsOwnUserStaysWithIt() throws {
    let found = try HTTPURL("http://a/x").resolving("http://u:p@b/y")
    #expect(found.credentials == UserCredentials(user: "u", password: "p"))
    #expect(found.text == "http://b/y")
  }

  @Test(arguments: ["file:///etc/hostname", "ftp://h/x", "", "http://", "a\r\nb"])
  func locationsThatAreNoHTTPAreRefused(_ location: String) {
    #expect(throws: FetchError.self) { try HTTPURL("http://example.com/").resolving(location) }
  }

  @Test(arguments: [
    ("http://h/", ""), ("http://h/a/", ""), ("http://h/%E6%98%A0.mp4", "映.mp4"),
    ("http://h/%FF", ""), ("http://h/a%2Fb", "a/b"),
  ])
  func theLastSegmentIsDecoded(_ text: String, _ name: String) throws {
    #expect(try HTTPURL(text).lastPathComponent == name)
  }
}
