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

/// How it is known that a source was complete.
package enum CompletionProof: String, Sendable, Hashable, Codable {
  /// The container says where it ends, and it ends there.
  case structure
  /// The container has no end of its own; HTTP's framing says that all bytes arrived.
  case framing
}
