// What became of each stream of the source. The remux makes these, the JSON output and the library
// show them.

/// The containers that vidfetch writes.
package enum ContainerFormat: String, Sendable, Hashable, Codable, CaseIterable {
  case mp4
  case mov
}

/// One stream of the source and what was done with it.
package struct StreamReport: Sendable, Hashable, Codable {
  package enum Kind: String, Sendable, Hashable, Codable {
    case video, audio, subtitle, data, attachment, unknown
  }

  package enum Action: String, Sendable, Hashable, Codable {
    case kept, converted, dropped
  }

  /// The stream's index in the source.
  package var index: Int
  package var type: Kind
  /// libavcodec's short name, such as `h264`, or the four characters of an unknown one.
  package var codec: String
  package var action: Action
  /// Why it was dropped or converted.
  package var reason: String?
  /// ISO 639-2 code, where the source has one.
  package var language: String?
  /// Pixels of the coded picture.
  package var width: Int?
  package var height: Int?
  /// Hz.
  package var sampleRate: Int?
  package var channels: Int?
  /// Whether this is a cover picture rather than a film.
  package var attachedPicture: Bool?

  package init(index: Int, type: Kind, codec: String, action: Action, reason: String? = nil) {
    self.index = index
    self.type = type
    self.codec = codec
    self.action = action
    self.reason = reason
  }
}

/// What passed through one kept stream.
package struct StreamLedger: Sendable, Hashable, Codable {
  /// The stream's index in the source.
  package var index: Int
  package var packets: Int64
  /// The payload as it came from the source, before any change of its framing.
  package var bytes: Int64
  /// Seconds from the first packet's presentation to the end of the last.
  package var duration: Double
  /// Presentation times of the first and the last packet that are shown, in seconds from the
  /// output's start; nil where none is shown.
  package var first: Double?
  package var last: Double?
  /// SHA-256, in hexadecimal, of the payload without its framing; where it was asked for.
  ///
  /// Framing is what the container decides: start codes or lengths of NAL units, ADTS headers.
  package var sha256: String?

  package init(index: Int, packets: Int64 = 0, bytes: Int64 = 0, duration: Double = 0) {
    self.index = index
    self.packets = packets
    self.bytes = bytes
    self.duration = duration
  }
}

/// How it is known that a source was complete.
package enum CompletionProof: String, Sendable, Hashable, Codable {
  /// The container says where it ends, and it ends there.
  case structure
  /// The container has no end of its own; HTTP's framing says that all bytes arrived.
  case framing
}
