// What a source is and what could be made of it, as values: found by the remux without an output,
// shown by the command line and the library.

/// A source as its head and its index describe it.
package struct SourceProbe: Sendable, Hashable, Codable {
  /// Where the index of an ISO file stands.
  package enum IndexPlace: String, Sendable, Hashable, Codable {
    /// Before the media.
    case first
    /// Behind the media.
    case last
    /// In pieces, one before each fragment.
    case fragmented
  }

  /// `mp4`, `mov`, `webm`, or libavformat's first name of the container, such as `mpegts`.
  package var container: String
  /// Seconds, where the source says so credibly.
  package var duration: Double?
  /// nil for containers other than mp4 and mov.
  package var index: IndexPlace?
  package var chapters = 0
  /// In the source's order.
  package var streams: [ProbedStream] = []
  /// One for each container that can be written.
  package var verdicts: [PassthroughVerdict] = []

  package init(container: String) { self.container = container }

  package func verdict(for format: ContainerFormat) -> PassthroughVerdict? {
    verdicts.first { $0.format == format }
  }
}

/// Whether a container can hold a source unchanged, and what becomes of each stream.
package struct PassthroughVerdict: Sendable, Hashable, Codable {
  package var format: ContainerFormat
  /// Empty where there is a refusal.
  package var streams: [StreamReport] = []
  package var warnings: [FetchWarning] = []
  /// Why there will be no output; nil where one is possible.
  package var refusal: FetchError?

  package init(format: ContainerFormat) { self.format = format }
}

/// One stream of a source, as it is.
package struct ProbedStream: Sendable, Hashable, Codable {
  package var index: Int
  package var type: StreamReport.Kind
  /// libavcodec's short name, such as `h264`, or the four characters of an unknown one.
  package var codec: String
  /// libavcodec's name of the profile, such as `Main 10`.
  package var profile: String?

  /// Pixels of the coded picture.
  package var width: Int?
  package var height: Int?
  /// Pixels of the picture as it is shown: sample aspect ratio and rotation applied.
  package var displayWidth: Int?
  package var displayHeight: Int?
  /// Degrees, clockwise, by which the picture is turned to be shown: 1 to 359.
  package var rotation: Int?
  /// Whether the picture is flipped left to right before it is turned.
  package var isMirrored = false
  /// Pictures a second, on average.
  package var frameRate: Double?
  /// nil for anything but a film.
  package var dynamicRange: DynamicRange?
  package var colour = Colour()

  /// Hz.
  package var sampleRate: Int?
  package var channels: Int?
  /// libavutil's name, such as `stereo` or `5.1(side)`.
  package var channelLayout: String?

  /// Bits a second.
  package var bitRate: Int64?
  package var language: String?
  package var title: String?
  /// libavformat's names of what the stream is for, such as `default` or `forced`.
  package var dispositions: [String] = []
  /// Whether this is a cover picture rather than a film.
  package var isAttachedPicture = false

  package init(index: Int, type: StreamReport.Kind, codec: String) {
    self.index = index
    self.type = type
    self.codec = codec
  }

  /// How the pictures' brightness is coded.
  package enum DynamicRange: Sendable, Hashable, Codable {
    case sdr
    /// PQ with the mastering display's description (SMPTE ST 2086) in the container.
    case hdr10
    /// PQ (SMPTE ST 2084) without that.
    case pq
    /// ARIB STD-B67.
    case hlg
    case dolbyVision(profile: Int)

    /// The name for people and programs.
    package var label: String {
      switch self {
      case .sdr: "SDR"
      case .hdr10: "HDR10"
      case .pq: "PQ"
      case .hlg: "HLG"
      case .dolbyVision(let profile): "Dolby Vision \(profile)"
      }
    }
  }

  /// The colour description, by libavutil's names; each nil where nothing is said.
  package struct Colour: Sendable, Hashable, Codable {
    package var primaries: String?
    package var transfer: String?
    package var matrix: String?
    /// `tv` or `pc`.
    package var range: String?

    package init() {}
  }
}
