import FetchCore
public import FoundationEssentials

/// Downloads a video and exports it, unchanged, to an mp4 or mov file.
///
///     let downloader = VideoDownloader(video: url, with: "intro", for: .mp4)
///     for await status in downloader.download() {
///       switch status {
///       case .downloading(let progress, let session): …
///       case .completed(let path): …
///       case .error(let error): …
///       }
///     }
///
/// The result is whole and verified, or there is none. All blocking work is done on threads of the
/// library's own; signals are left to the process.
public actor VideoDownloader {
  private nonisolated let request: JobRequest

  /// Makes a downloader; nothing begins before `download()`.
  ///
  /// - Parameters:
  ///   - url: an `http`, `https` or `file` URL.
  ///   - name: the result's name without extension; made safe, and numbered in the private folder
  ///     where it is taken.
  ///   - type: the file type to export to.
  ///   - options: further settings.
  public init(
    video url: URL, with name: String, for type: VideoFileType,
    options: VideoDownloadOptions = .init()
  ) {
    var request = JobRequest(source: url.absoluteString)
    request.format = type.container
    request.keepsSource = options.keepsSource
    request.savesDisk = options.savesDisk
    request.archive = options.library.map { JobArchive($0.archive) }
    request.export = options.exportSettings
    request.transfer = options.transferSettings
    request.destination =
      options.folder.map { .directory($0.path, stem: name) } ?? .temporary(stem: name)
    request.existingTarget =
      switch options.existingTarget {
      case .fail: .fail
      case .overwrite: .overwrite
      case .skip: .skip
      }
    self.request = request
  }

  /// Starts a download and tells how it goes.
  ///
  /// The first status is `.downloading(0, …)`; the last is `.completed`, with `.downloading(1, …)`
  /// right before it, or `.error`; nothing follows. A slow reader misses progress in between, never
  /// one of these. Dropping the stream, or cancelling the task that reads it, cancels the work. Each
  /// call starts a download of its own; a stream is for one reader.
  public nonisolated func download() -> AsyncStream<VideoDownloaderStatus> {
    let latch = StatusLatch()
    let lifetime = StreamLifetime()
    let session = VideoDownloadSession(lifetime.cancellation)
    latch.put(.downloading(progress: 0, session: session))
    FetchJob(request, cancellation: lifetime.cancellation) { event in
      switch event {
      case .progress(let snapshot):
        let halves = (snapshot.download ?? 0) + (snapshot.export ?? 0)
        let progress = snapshot.fraction ?? min(halves / 2, ProgressModel.ceiling)
        latch.putProgress(.downloading(progress: progress, session: session))
      case .result(let result):
        if let error = result.error {
          latch.put(.error(VideoError(error)))
        } else {
          latch.put(.downloading(progress: 1, session: session))
          latch.put(.completed(path: URL(filePath: result.path ?? "")))
        }
        latch.close()
      case .start, .retry, .restart, .warning, .log, .probed:
        break
      }
    }.start()
    return AsyncStream {
      await withTaskCancellationHandler {
        await latch.take()
      } onCancel: {
        lifetime.cancellation.cancel()
      }
    } onCancel: {
      lifetime.cancellation.cancel()
    }
  }
}

/// Lives as long as the stream does: a stream that nobody can read any more ends its work.
private final class StreamLifetime: Sendable {
  let cancellation = CancellationFlag()

  deinit { cancellation.cancel() }
}
