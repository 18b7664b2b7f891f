import FetchCore
public import FoundationEssentials

/// Looks at a video without downloading it.
///
///     let found = try await VideoProbe(url).inspect()
///     if let obstacle = found.obstacle(to: .mov) { print(obstacle) }
///
/// Of a remote file it reads the head and the index, or some megabytes where the container has no
/// index; nothing is left on disk.
public struct VideoProbe: Sendable {
  private let request: ProbeRequest

  /// Names what is to be looked at; nothing is read before `inspect()`.
  ///
  /// - Parameters:
  ///   - url: an `http`, `https` or `file` URL.
  ///   - options: of these, what is about the transfer, and which streams are wanted.
  public init(_ url: URL, options: VideoDownloadOptions = .init()) {
    var request = ProbeRequest(source: url.absoluteString)
    request.transfer = options.transferSettings
    request.export = options.exportSettings
    self.request = request
  }

  /// Looks, and tells what the video is.
  ///
  /// Cancelling the task ends it with `userCancelled`. All blocking work is done on threads of the
  /// library's own.
  ///
  /// - Throws: where it can't be read or is no media. A file type that can't hold it is no error: see
  ///   `VideoInspection.obstacle(to:)`.
  public func inspect() async throws(VideoError) -> VideoInspection {
    let cancellation = CancellationFlag()
    let request = request
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        ProbeJob(request, cancellation: cancellation) { event in
          if case .probed(let result) = event { continuation.resume(returning: result) }
        }.start()
      }
    } onCancel: {
      cancellation.cancel()
    }
    guard let source = result.source else {
      throw VideoError(result.error ?? FetchError(.internal, "the look ended without a result"))
    }
    return VideoInspection(source, byteCount: result.size)
  }
}

/// What a video is, as its head and its index say.
public struct VideoInspection: Sendable, Hashable {
  /// One stream.
  public struct Stream: Sendable, Hashable {
    /// Its index in the source.
    public let index: Int
    /// `video`, `audio`, `subtitle`, `data`, `attachment` or `unknown`.
    public let type: String
    /// libavcodec's short name, such as `h264`.
    public let codec: String
    /// The codec's profile, such as `Main 10`.
    public let profile: String?
    /// Pixels of the picture as it is shown: aspect ratio and rotation applied.
    public let displayWidth: Int?
    /// Pixels of the picture as it is shown: aspect ratio and rotation applied.
    public let displayHeight: Int?
    /// Pictures a second, on average.
    public let frameRate: Double?
    /// The quality tier of a film.
    public let resolution: VideoResolution?
    /// `SDR`, `HDR10`, `PQ`, `HLG` or `Dolby Vision` and its profile; nil for anything but a film.
    public let dynamicRange: String?
    /// Hz.
    public let sampleRate: Int?
    /// How many channels of sound.
    public let channels: Int?
    /// As the source says it, mostly ISO 639-2.
    public let language: String?
    /// The stream's own title.
    public let title: String?
    /// Whether it is a cover picture rather than a film.
    public let isCoverPicture: Bool
  }

  /// `mp4`, `mov`, `matroska`, `webm`, `mpegts` and so on.
  public let container: String
  /// Seconds; nil where nothing says so credibly.
  public let duration: Double?
  /// The source's size; nil where the server didn't tell.
  public let byteCount: Int64?
  /// How many chapters there are.
  public let chapterCount: Int
  /// In the source's order.
  public let streams: [Stream]
  private let obstacles: [VideoFileType: VideoError]

  /// The quality tier of the first film stream; nil where there is none.
  public var resolution: VideoResolution? { streams.lazy.compactMap(\.resolution).first }

  /// Why the video can't be exported to a file type unchanged; nil where it can.
  ///
  /// What only reading all of it shows, such as damage in its midst, is not known yet.
  public func obstacle(to type: VideoFileType) -> VideoError? { obstacles[type] }

  init(_ source: SourceProbe, byteCount: Int64?) {
    container = source.container
    duration = source.duration
    self.byteCount = byteCount
    chapterCount = source.chapters
    streams = source.streams.map(Stream.init)
    var obstacles: [VideoFileType: VideoError] = [:]
    for type in VideoFileType.allCases {
      obstacles[type] = source.verdict(for: type.container)?.refusal.map(VideoError.init)
    }
    self.obstacles = obstacles
  }
}

extension VideoInspection.Stream {
  init(_ stream: ProbedStream) {
    index = stream.index
    type = stream.type.rawValue
    codec = stream.codec
    profile = stream.profile
    displayWidth = stream.displayWidth
    displayHeight = stream.displayHeight
    frameRate = stream.frameRate
    resolution = stream.resolution
    dynamicRange = stream.dynamicRange?.label
    sampleRate = stream.sampleRate
    channels = stream.channels
    language = stream.language
    title = stream.title
    isCoverPicture = stream.isAttachedPicture
  }
}
