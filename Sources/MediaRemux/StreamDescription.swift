// A stream of the source as plain values: what the plan decides from. Pure.

import FetchCore

/// One stream, without a pointer in it.
struct StreamDescription: Hashable {
  var index: Int
  var kind: StreamReport.Kind
  /// libavcodec's short name; `none` where it knows no such codec.
  var codec: String
  /// The container's four characters for the codec; nil where it has none.
  var tag: String?
  var width: Int?
  var height: Int?
  var sampleRate: Int?
  var channels: Int?
  /// ISO 639-2, as the source has it.
  var language: String?
  var title: String?
  var isAttachedPicture = false
  /// Whether it is the first of a track of pictures, one for each chapter.
  var isTimedThumbnail = false
  var isDefault = false
  var isEncrypted = false
  /// Whether the source's chapters are this text track.
  var isChapterTrack = false
  /// The timecode that the muxer makes a timecode track of, where the source has one.
  var timecode: String?
  /// The handler's type of an ISO track whose samples can be copied under the source's own
  /// description, whatever they are; nil elsewhere.
  var opaqueHandler: String?
  /// Whether codec parameters and at least one packet were seen.
  var hasMedia = true
  /// What is missing in an HEVC configuration, for the sample entry `hvc1` to be allowed.
  var lacksParameterSets = false
  /// The profile of a Dolby Vision configuration.
  var dolbyVisionProfile: Int?
  var hasStereo3D = false
  var hasSpherical = false
  /// Whether pictures are stored in another order than they are shown, in a container that has no
  /// presentation times (AVI).
  var lacksPresentationTimes = false
  /// Whether libavcodec can decode this text and encode mov_text.
  var isDecodable = true

  init(index: Int, kind: StreamReport.Kind, codec: String) {
    self.index = index
    self.kind = kind
    self.codec = codec
  }

  /// Whether it is a track of data that isn't a timecode: what a film is about, and not how it is
  /// played.
  var isTimedMetadata: Bool { kind.isOpaque && !isChapterTrack && tag != "tmcd" }

  /// The codec's name for people: the four characters where libavcodec knows none.
  var codecName: String {
    guard codec == "none" || codec == "bin_data" else { return codec }
    return tag ?? "unknown"
  }
}

/// The source as plain values.
struct SourceDescription: Hashable {
  /// libavformat's name, such as `mov,mp4,m4a,3gp,3g2,mj2`.
  var format: String
  var streams: [StreamDescription]
  /// Whether the container carries timestamps at all.
  var hasTimestamps = true
  /// Whether an ISO source is a QuickTime file.
  var isQuickTime = false

  var isISO: Bool { format.contains("mp4") }
}
