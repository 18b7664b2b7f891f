import Foundation
import TestSupport
import Testing
import VidFetchKit

/// The library as an app uses it: against a real server, with real media.
@Suite struct VideoDownloaderTests {
  /// A status, made comparable.
  private enum Seen: Equatable {
    case downloading(Double)
    case completed(String)
    case error(VideoError)

    init(_ status: VideoDownloaderStatus) {
      switch status {
      case .downloading(let progress, _): self = .downloading(progress)
      case .completed(let path): self = .completed(path.path)
      case .error(let error): self = .error(error)
      }
    }
  }

  private func options(_ folder: String) -> VideoDownloadOptions {
    var options = VideoDownloadOptions()
    options.folder = URL(fileURLWithPath: folder)
    options.retries = 0
    // The runner's threads may be taken for a while; what stalls here has to be noticed by the test.
    options.stallTimeout = .seconds(300)
    return options
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  private func statuses(_ downloader: VideoDownloader) async -> [Seen] {
    var seen: [Seen] = []
    for await status in downloader.download() { seen.append(Seen(status)) }
    return seen
  }

  @Test func startsAtZeroAndEndsWithOneAndTheFile() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let downloader = VideoDownloader(
      video: try url(server.url("~rate=60000/plain.mp4")), with: "intro", for: .mov,
      options: options(scratch.path))
    let seen = await statuses(downloader)
    let path = scratch.file("intro.mov")
    #expect(seen.first == .downloading(0))
    #expect(seen.suffix(2) == [.downloading(1), .completed(path)])
    let values = seen.compactMap { if case .downloading(let value) = $0 { value } else { nil } }
    #expect(values == values.sorted() && values.count { $0 == 1 } == 1)
    #expect(scratch.names() == ["intro.mov"])
    #expect(
      try MediaFacts.pictureHash(path) == MediaFacts.pictureHash(FixtureFile.media("plain.mp4")))
  }

  @Test func landsInTheTemporaryDirectoryAndNeverOnAnotherFile() async throws {
    let server = try FaultServer()
    let name = "intro-\(UUID().uuidString)"
    var paths: [String] = []
    for _ in 0..<2 {
      let downloader = VideoDownloader(
        video: try url(server.url("plain.mp4")), with: name, for: .mp4)
      guard case .completed(let path)? = await statuses(downloader).last else {
        Issue.record("the download failed")
        continue
      }
      paths.append(path)
    }
    defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
    let temporary = FileManager.default.temporaryDirectory.path
    #expect(paths.allSatisfy { $0.hasPrefix(temporary) })
    #expect(
      paths.map { URL(fileURLWithPath: $0).lastPathComponent } == ["\(name).mp4", "\(name)-2.mp4"])
  }

  @Test func failureIsTheLastStatusAndSaysWhatHelps() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    for (path, kind) in [
      ("nothing.mp4", VideoError.requestFailed), ("~body=login/x.mp4", .assetNotPlayable),
      ("no_moov.mp4", .assetNotPlayable),
    ] {
      let downloader = VideoDownloader(
        video: try url(server.url(path)), with: "x", for: .mp4, options: options(scratch.path))
      let seen = await statuses(downloader)
      #expect(seen.first == .downloading(0))
      #expect(seen.last == .error(kind), "\(path)")
      #expect(!seen.contains(.downloading(1)))
    }
    #expect(scratch.names().isEmpty)
  }

  @Test func codecThatTheTypeCannotHoldIsAMissingTrack() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let downloader = VideoDownloader(
      video: try url(server.url("vp9_opus.webm")), with: "x", for: .mov,
      options: options(scratch.path))
    #expect(await statuses(downloader).last == .error(.missingTracks))
  }

  @Test func localFileIsExportedInPlace() async throws {
    let scratch = try ScratchDirectory()
    let downloader = VideoDownloader(
      video: URL(fileURLWithPath: FixtureFile.media("rot90.mp4")), with: "turned", for: .mov,
      options: options(scratch.path))
    #expect(await statuses(downloader).last == .completed(scratch.file("turned.mov")))
    #expect(scratch.names() == ["turned.mov"])
  }

  @Test func sessionStopsBothStagesAndThePartIsResumed() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let downloader = VideoDownloader(
      video: try url(server.url("~stall=90000&times=1/resume_a.mp4")), with: "film", for: .mp4,
      options: options(scratch.path))
    var last: Seen?
    for await status in downloader.download() {
      last = Seen(status)
      if case .downloading(let progress, let session) = status, progress > 0.2 { session.cancel() }
    }
    #expect(last == .error(.userCancelled))
    #expect(scratch.names().count == 2)
    let second = await statuses(downloader).last
    #expect(second == .completed(scratch.file("film.mp4")))
    #expect(scratch.names() == ["film.mp4"])
    let ranges = try server.gets().compactMap(\.range)
    #expect(ranges.count == 1)
  }

  @Test func cancellingTheTaskCancelsTheWork() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let downloader = VideoDownloader(
      video: try url(server.url("~stall=50000/resume_a.mp4")), with: "film", for: .mp4,
      options: options(scratch.path))
    let task = Task {
      var count = 0
      for await _ in downloader.download() { count += 1 }
      return count
    }
    try await eventually("the part to grow") { (fileSize(part(in: scratch)) ?? 0) > 0 }
    task.cancel()
    _ = await task.value
    try await eventually("the server to see it") { try server.gets().first?.ended != nil }
  }

  @Test func droppingTheStreamCancelsTheWork() async throws {
    let server = try FaultServer()
    let scratch = try ScratchDirectory()
    let downloader = VideoDownloader(
      video: try url(server.url("~stall=50000/resume_a.mp4")), with: "film", for: .mp4,
      options: options(scratch.path))
    do {
      let stream = downloader.download()
      try await eventually("the part to grow") { (fileSize(part(in: scratch)) ?? 0) > 0 }
      withExtendedLifetime(stream) {}
    }
    try await eventually("the server to see it") { try server.gets().first?.ended != nil }
  }

  private func part(in scratch: ScratchDirectory) -> String {
    scratch.file(scratch.names().first { $0.hasSuffix(".part") } ?? "none")
  }
}
