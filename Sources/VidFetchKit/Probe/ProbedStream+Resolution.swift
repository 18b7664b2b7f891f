package import FetchCore

extension ProbedStream {
  /// The quality tier of a film's displayed height.
  package var resolution: VideoResolution? {
    guard type == .video, !isAttachedPicture else { return nil }
    return displayHeight.flatMap { VideoResolution(rawValue: $0) }
  }
}
