import FetchCore
public import FoundationEssentials
import HTTPTransfer
import PartialStorage

/// What is known about one video.
public struct VideoEntity: Identifiable, Equatable, Hashable, Sendable, Codable {
  /// Stable for one address: by default the first 16 hex digits of the SHA-256 of the normalised URL
  /// (RFC 3986 6.2.2; fragment, user name and password removed).
  public let id: String
  /// Where the video is: on the network, or a file.
  public var url: URL
  /// The name that a person reads.
  public var title: String
  /// Seconds; nil where unknown.
  public var duration: Double?
  /// The quality tier; nil where unknown.
  public var resolution: VideoResolution?
  /// The file type; nil where unknown.
  public var type: VideoFileType?
  /// Where a still picture of it is; nil where there is none.
  public var thumb: URL?

  /// Describes a video.
  ///
  /// - Parameters:
  ///   - id: nil makes one from `url`.
  ///   - duration: seconds.
  public init(
    id: String? = nil, url: URL, title: String, duration: Double? = nil,
    resolution: VideoResolution? = nil, type: VideoFileType? = nil, thumb: URL? = nil
  ) {
    self.id = id ?? Self.identifier(for: url)
    self.url = url
    self.title = title
    self.duration = duration
    self.resolution = resolution
    self.type = type
    self.thumb = thumb
  }

  private static func identifier(for url: URL) -> String {
    if case .file(let path)? = try? SourceAddress(url.absoluteString) {
      return LocalSource.key(of: path).description
    }
    let normalized = (try? HTTPURL(url.absoluteString))?.normalized ?? url.absoluteString
    return ResourceKey(normalizedURL: normalized).description
  }
}
