import Foundation
import TestSupport
import Testing
import VidFetchKit

/// The library of finished videos as an app uses it.
@Suite struct VideoLibraryTests {
  private func download(
    _ url: URL, _ name: String, _ type: VideoFileType, _ folder: String, _ library: VideoLibrary
  ) async -> String? {
    var options = VideoDownloadOptions()
    options.folder = URL(fileURLWithPath: folder)
    options.library = library
    options.retries = 0
    var last: VideoDownloaderStatus?
    for await status in VideoDownloader(video: url, with: name, for: type, options: options)
      .download()
    {
      last = status
    }
    guard case .completed(let path)? = last else { return nil }
    return path.path
  }

  @Test func finishedVideosAreFoundAgainAfterARestart() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let place = URL(fileURLWithPath: scratch.file("library.db"))
    let folder = try scratch.folder("videos")
    let address = try #require(URL(string: server.url("plain.mp4")))
    let own = URL(fileURLWithPath: try scratch.folder("a b") + "/own.mp4")
    try FileManager.default.copyItem(atPath: FixtureFile.media("rot90.mp4"), toPath: own.path)
    do {
      let library = try VideoLibrary(at: place)
      #expect(try await library.videos().isEmpty)
      #expect(await download(address, "intro", .mp4, folder, library) == "\(folder)/intro.mp4")
      #expect(await download(own, "turned", .mov, folder, library) == "\(folder)/turned.mov")
    }
    try waitUntil("the library to be closed") {
      scratch.names() == ["a b", "library.db", "videos"]
    }
    let library = try VideoLibrary(at: place)
    #expect(try await library.videos().count == 2)
    let intro = try #require(try await library.video(at: address))
    #expect(intro.id == VideoEntity(url: address, title: "").id)
    #expect(intro.url == address && intro.title == "intro" && intro.type == .mp4)
    #expect((intro.duration ?? 0) > 0 && intro.resolution == .SD)
    #expect(try await library.video(id: intro.id) == intro)
    #expect(try await library.file(of: intro)?.path == "\(folder)/intro.mp4")
    let turned = try #require(try await library.video(at: own))
    #expect(turned.url.path == own.path && turned.type == .mov)
    #expect(try await library.video(id: "0123456789abcdef") == nil)
  }

  @Test func videoThatIsThereIsNotFetchedAgain() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let library = try VideoLibrary(at: URL(fileURLWithPath: scratch.file("library.db")))
    let address = try #require(URL(string: server.url("plain.mp4")))
    let first = await download(address, "a", .mp4, try scratch.folder("x"), library)
    let gets = try server.gets().count
    let second = await download(address, "b", .mp4, try scratch.folder("y"), library)
    #expect(first == scratch.file("x/a.mp4") && second == first)
    #expect(try server.gets().count == gets)
  }

  @Test func fileThatIsNoLongerWholeIsNotHandedOut() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let library = try VideoLibrary(at: URL(fileURLWithPath: scratch.file("library.db")))
    let address = try #require(URL(string: server.url("plain.mp4")))
    let path = try #require(await download(address, "a", .mp4, scratch.path, library))
    let video = try #require(try await library.video(at: address))
    truncate(path, 100)
    #expect(try await library.file(of: video) == nil)
    unlink(path)
    #expect(try await library.file(of: video) == nil)
    #expect(try await library.videos() == [video])
  }

  @Test func placeThatIsNoLibraryIsRefused() async throws {
    let scratch = try ScratchDirectory()
    try scratch.write("notes.txt", "These are notes.")
    #expect(throws: VideoError.failedToCreateExportSession) {
      try VideoLibrary(at: URL(fileURLWithPath: scratch.file("notes.txt")))
    }
    #expect(throws: VideoError.failedToCreateExportSession) {
      try VideoLibrary(at: try #require(URL(string: "https://example.org/library")))
    }
    #expect(fileBytes(scratch.file("notes.txt")) == Data("These are notes.".utf8))
  }
}
