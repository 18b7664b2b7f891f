// Servers whose answers to a resume must not be believed, or only so far.

import Foundation
import TestSupport
import Testing
import VidFetchKit

@Suite(.serialized) struct ResumeProofTests {
  /// A server of a media file whose first answer is cut.
  private func server(_ name: String, _ script: String) throws -> ScriptedServer {
    try ScriptedServer(
      script,
      setUp: """
        data = open("\(FixtureFile.media(name))", "rb").read(); size = len(data)
        other = bytes(byte ^ 0x55 for byte in data)
        old = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\\r\\n"
        new = "Last-Modified: Tue, 06 Nov 2001 08:49:37 GMT\\r\\n"
        tag = 'ETag: "a"\\r\\n'
        def head(status, length, fields): return (
            "HTTP/1.1 %s X\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n%s\\r\\n"
            % (status, length, fields))
        def range(first, end, total): return "Content-Range: bytes %d-%d/%s\\r\\n" % (
            first, end - 1, total)
        """)
  }

  private func download(_ server: ScriptedServer, _ name: String) async throws -> String? {
    let scratch = try ScratchDirectory()
    var options = VideoDownloadOptions()
    options.folder = URL(fileURLWithPath: scratch.path)
    let source = try #require(URL(string: server.url(name)))
    let downloader = VideoDownloader(video: source, with: "x", for: .mp4, options: options)
    var last: VideoDownloaderStatus?
    for await status in downloader.download() { last = status }
    guard case .completed(let file)? = last else { return nil }
    return try MediaFacts.pictureHash(file.path)
  }

  /// A server that ignores If-Range, and says no tag with another version's range.
  @Test(arguments: ["new", "old", "''"])
  func rangeOfAnotherVersionIsNeverAppended(_ date: String) async throws {
    let server = try server(
      "resume_a.mp4",
      """
      if count == 0: send(head(200, size, tag + old)); send(data[:size // 2])
      elif first is None: send(head(200, size, tag)); send(data)
      else: send(head(206, size - first, range(first, size, size) + \(date))); send(other[first:])
      """)
    let hash = try await download(server, "resume_a.mp4")
    #expect(try hash == MediaFacts.pictureHash(FixtureFile.media("resume_a.mp4")))
    #expect(server.firstBytes.count { $0 == nil } == 2)
  }

  /// The container has no end of its own, so that only HTTP can tell that bytes are missing.
  @Test(arguments: ["tag", "''"])
  func rangeWithoutATotalIsNotTheEnd(_ tagOf416: String) async throws {
    let server = try server(
      "hevc.ts",
      """
      if count == 0:
          send("HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n" + tag + "\\r\\n")
          send("%x\\r\\n" % (size // 3)); send(data[:size // 3] + b"\\r\\n")
      elif first is None: send(head(404, 0, ""))
      elif first == size: send(head(416, 0, "Content-Range: bytes */%d\\r\\n" % size + \(tagOf416)))
      elif count > 3: send(head(206, size - first, range(first, size, size))); send(data[first:])
      else:
          end = min(first + size // 3 + 1, size)
          send(head(206, end - first, range(first, end, "*") + tag)); send(data[first:end])
      """)
    let hash = try await download(server, "hevc.ts")
    #expect(try hash == MediaFacts.pictureHash(FixtureFile.media("hevc.ts")))
    let size = try #require(fileSize(FixtureFile.media("hevc.ts")))
    #expect(server.firstBytes.contains(size))
  }

  @Test func weakTagIsNoGroundToContinueOn() async throws {
    let server = try server(
      "resume_a.mp4",
      """
      weak = 'ETag: W/"a"\\r\\n'
      if count == 0: send(head(200, size, weak)); send(data[:size // 2])
      elif first is None: send(head(200, size, weak)); send(data)
      else: send(head(206, size - first, range(first, size, size) + weak)); send(other[first:])
      """)
    let hash = try await download(server, "resume_a.mp4")
    #expect(try hash == MediaFacts.pictureHash(FixtureFile.media("resume_a.mp4")))
    #expect(server.firstBytes == [nil, nil])
  }

  /// Addresses that a redirect signs, each for one request: what is refused is asked for where it came
  /// from, and goes on with the same version.
  @Test(arguments: [1, 4])
  func anExpiredAddressIsAskedForAnewWhereItCameFrom(_ connections: Int) async throws {
    let name = "demo.mp4"
    let server = try ScriptedServer(
      """
      path = request.split(" ")[1]
      if "?" not in path:
          signed = next(signatures)
          send("HTTP/1.1 302 Found\\r\\nLocation: %s?signature=%d\\r\\n" % (path, signed))
          send("Connection: close\\r\\nContent-Length: 0\\r\\n\\r\\n")
      elif path in used:
          send("HTTP/1.1 403 Forbidden\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n\\r\\n")
      else:
          used.add(path)
          asked = re.search("range: bytes=([0-9]+)-([0-9]*)", request, re.I)
          start, end = 0, size
          if asked: start, end = first, int(asked[2]) + 1 if asked[2] else size
          lines = "HTTP/1.1 206 Part" if asked else "HTTP/1.1 200 OK"
          lines += '\\r\\nConnection: close\\r\\nETag: "a"\\r\\nContent-Length: %d' % (end - start)
          if asked: lines += "\\r\\nContent-Range: bytes %d-%d/%d" % (start, end - 1, size)
          send(lines + "\\r\\n\\r\\n")
          # Each answer is cut after half of it, until little is left.
          half = (end - start) // 2 if end - start > 20_000 else end - start
          for at in range(start, start + half, 8192):
              send(data[at:min(at + 8192, start + half)]); time.sleep(0.01)
      """,
      setUp: """
        data = open("\(FixtureFile.media(name))", "rb").read(); size = len(data)
        signatures = itertools.count(); used = set()
        """)
    let scratch = try ScratchDirectory()
    var options = VideoDownloadOptions()
    options.folder = URL(fileURLWithPath: scratch.path)
    options.connections = connections
    let source = try #require(URL(string: server.url(name)))
    let downloader = VideoDownloader(video: source, with: "x", for: .mp4, options: options)
    var last: VideoDownloaderStatus?
    for await status in downloader.download() { last = status }
    guard case .completed(let file)? = last else {
      Issue.record("\(String(describing: last))")
      return
    }
    #expect(
      try MediaFacts.pictureHash(file.path) == MediaFacts.pictureHash(FixtureFile.media(name)))
    #expect(server.firstBytes.count { $0 == nil } <= 2, "the beginning was fetched once")
  }
}
