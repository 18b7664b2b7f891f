import FetchCore
public import FoundationEssentials
import HTTPTransfer
import PartialStorage
import VideoArchive

/// The finished videos, remembered in one file.
///
///     let library = try VideoLibrary(at: url)
///     var options = VideoDownloadOptions()
///     options.library = library
///     …
///     for video in try await library.videos() {
///       if let file = try await library.file(of: video) { play(file) }
///     }
///
/// The file is the command line's `--archive`: an SQLite database that several processes may use at
/// once, on a disk of this machine. What a download has reported as completed is in it, whatever
/// happens to the process. Everything that waits for the disk is done on threads of the library's
/// own.
public final class VideoLibrary: Sendable {
  let archive: Archive

  /// Opens a library, which is made where there is none.
  ///
  /// - Parameter url: a `file` URL, in a folder that exists.
  /// - Throws: `failedToCreateExportSession` where the place can't hold a library, or holds
  ///   something else, which is left as it is.
  public init(at url: URL) throws(VideoError) {
    guard url.isFileURL else {
      throw VideoError(FetchError(.output, "a library is a file", recovery: "give a file: URL"))
    }
    do throws(FetchError) {
      archive = try Archive(url.path)
    } catch {
      throw VideoError(error)
    }
  }

  /// All videos, newest first, whether or not their files are still there.
  ///
  /// A video that was exported to both file types is there twice.
  public func videos() async throws(VideoError) -> [VideoEntity] {
    try await run { archive throws(FetchError) in
      var videos: [VideoEntity] = []
      var position: Archive.Position?
      repeat {
        let page = try archive.entries(limit: 500, after: position)
        videos += page.entries.compactMap(VideoEntity.init)
        position = page.next
      } while position != nil
      return videos
    }
  }

  /// The video of an id; the newest, where it was exported to both file types.
  public func video(id: String) async throws(VideoError) -> VideoEntity? {
    try await run { archive throws(FetchError) in
      try archive.entry(id: id).flatMap(VideoEntity.init)
    }
  }

  /// The video that was downloaded from a URL; the newest, where it was exported to both file types.
  public func video(at url: URL) async throws(VideoError) -> VideoEntity? {
    try await video(id: VideoEntity(url: url, title: "").id)
  }

  /// The finished file of a video; nil where it is gone or is no longer as it was.
  public func file(of video: VideoEntity) async throws(VideoError) -> URL? {
    try await run { archive throws(FetchError) in
      guard let entry = try archive.entry(id: video.id, format: video.type?.rawValue) else {
        return nil
      }
      switch try ArchivedFile(entry).look() {
      case .whole, .touched: return URL(filePath: entry.path)
      case .gone, .changed: return nil
      }
    }
  }

  /// Runs what may wait on a thread of its own.
  private func run<Value: Sendable>(
    _ body: @escaping @Sendable (Archive) throws(FetchError) -> Value
  ) async throws(VideoError) -> Value {
    let archive = archive
    let result: Result<Value, FetchError> = await withCheckedContinuation { continuation in
      do throws(SystemError) {
        try WorkerThread.start("vidfetch-library") {
          do throws(FetchError) {
            continuation.resume(returning: .success(try body(archive)))
          } catch {
            continuation.resume(returning: .failure(error))
          }
        }
      } catch {
        continuation.resume(returning: .failure(error.fetchError("starting a thread")))
      }
    }
    do throws(FetchError) { return try result.get() } catch { throw VideoError(error) }
  }
}

extension VideoEntity {
  /// Describes an entry of a library; nil where its URL can't be read.
  init?(_ entry: ArchiveEntry) {
    let isRemote = entry.url.contains("://")
    guard let url = isRemote ? URL(string: entry.url) : URL(filePath: entry.url) else { return nil }
    self.init(
      id: entry.id, url: url, title: entry.title, duration: entry.duration,
      resolution: entry.height.flatMap { VideoResolution(rawValue: $0) },
      type: VideoFileType(rawValue: entry.format))
  }
}
