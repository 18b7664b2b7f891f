import FetchCore
public import FoundationEssentials

/// How a download stands.
public enum VideoDownloaderStatus: Sendable {
  /// It is under way.
  ///
  /// `progress` is (download + export) / 2, from 0 to 1, and never falls; a half whose size is not
  /// known counts 0. It is 1 only right before `completed`. `session` stops it.
  case downloading(progress: Double, session: VideoDownloadSession)
  /// The result is whole, verified, and in place at `path`. Nothing follows.
  case completed(path: URL)
  /// It failed or was cancelled. Nothing follows.
  case error(VideoError)
}

/// The handle of one running download.
public struct VideoDownloadSession: Sendable {
  private let cancellation: CancellationFlag

  init(_ cancellation: CancellationFlag) { self.cancellation = cancellation }

  /// Stops the transfer and the export, whichever is running; `error(.userCancelled)` follows.
  ///
  /// What has come so far stays for a later download of the same address. Any thread; a second call
  /// does nothing.
  public func cancel() { cancellation.cancel() }
}
