import FetchCore
import Testing

@testable import VidFetchKit

@Suite struct SourceAddressTests {
  @Test(arguments: [
    ("https://example.com/a", SourceAddress.url("https://example.com/a")),
    ("FTP://example.com", .url("FTP://example.com")), ("clip.mp4", .file("clip.mp4")),
    ("file:///tmp/a%20b.mp4", .file("/tmp/a b.mp4")), ("FILE://localhost/x", .file("/x")),
    ("file:///x?y#z", .file("/x")), ("a:b", .file("a:b")), ("1http://x", .file("1http://x")),
    ("data:text/plain,x", .file("data:text/plain,x")), ("://x", .file("://x")),
  ])
  func schemeDecides(text: String, address: SourceAddress) throws {
    #expect(try SourceAddress(text) == address)
  }

  @Test(arguments: ["file://host/x", "file://", "file:///%zz", "file:///a%00b", "file:///%"])
  func brokenFileAddressIsRefused(text: String) {
    do {
      _ = try SourceAddress(text)
      Issue.record("\(text) was taken")
    } catch {
      #expect(error.code == .refused)
    }
  }

  @Test func addressWithoutItsSchemeIsRecognised() {
    #expect(
      SourceAddress.suggestion(forMissing: "example.com/a.mp4")
        == "did you mean https://example.com/a.mp4?")
    for path in ["clip.mp4", "dir/clip.mp4", "../a/b", "/a.b/c", "a b.com/x"] {
      #expect(SourceAddress.suggestion(forMissing: path) == nil)
    }
  }

  @Test(arguments: [
    ("http://u:p@ss@ho st/x?token=1", "http://ho st/x"),
    ("http://user:p/ss@127.0.0.1/x", "http://127.0.0.1/x"),
    ("http://user:p?ss@127.0.0.1/x", "http://…"), ("http://user:p#ss@127.0.0.1/x", "http://…"),
    ("http://h:x/a#access_token=1", "http://h:x/a"),
  ])
  func unreadableAddressShowsNoPassword(_ url: String, _ shown: String) {
    #expect(JobRequest(source: url).redactedSource == shown)
  }

  @Test(arguments: [
    ("http:/bob:s3cr3t@h/x", "http:/h/x"), ("http:bob:s3cr3t@h/x", "http:h/x"),
    ("//bob:s3cr3t@h/x", "//h/x"), ("bob:s3cr3t@h/x", "h/x"),
    (" http://bob:s3cr3t@h/x", " http://h/x"), ("file://bob:s3cr3t@host/x", "file://host/x"),
    ("dir/a@2x.mp4", "dir/a@2x.mp4"), ("12:30.mp4", "12:30.mp4"), ("/a/b:c@d.mp4", "/a/b:c@d.mp4"),
  ])
  func mistypedAddressShowsNoPasswordEither(source: String, shown: String) {
    #expect(JobRequest(source: source).redactedSource == shown)
  }
}
