// Which streams of a source are wanted, as said before anybody has seen the source. Pure.

/// A choice among a source's streams.
package struct StreamSelection: Sendable, Hashable, Codable {
  /// Streams by number or by kind.
  package enum Specifier: Sendable, Hashable, Codable {
    /// The stream's index in the source, from 0.
    case index(Int)
    /// All streams of a kind, or the one with this place among them, from 0.
    case kind(StreamReport.Kind, ordinal: Int? = nil)
  }

  /// Which of the streams of one kind are wanted.
  package enum ByLanguage: Sendable, Hashable, Codable {
    case all
    case none
    /// Those in one of these languages; there must be one at least.
    case only([LanguageCode])
  }

  /// Exactly these, where it isn't nil.
  ///
  /// Each must match at least one stream.
  package var streams: [Specifier]?
  package var audio = ByLanguage.all
  package var subtitles = ByLanguage.all

  package init() {}
}

extension StreamSelection.Specifier {
  /// A stream's number, or `v`, `a`, `s`, `d` (also the whole word: `video`, `audio`, `subtitle`,
  /// `data`), perhaps with `:` and the place among its kind; nil where the text is none of these.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    if parts.count == 1, let index = Self.number(parts[0]) {
      self = .index(index)
      return
    }
    guard parts.count <= 2, let kind = Self.kinds[parts[0].lowercased()] else { return nil }
    guard parts.count == 2 else {
      self = .kind(kind)
      return
    }
    guard let ordinal = Self.number(parts[1]) else { return nil }
    self = .kind(kind, ordinal: ordinal)
  }

  /// As it is typed.
  package var text: String {
    switch self {
    case .index(let index): String(index)
    case .kind(let kind, let ordinal): kind.rawValue + (ordinal.map { ":\($0)" } ?? "")
    }
  }

  private static let kinds: [String: StreamReport.Kind] = [
    "v": .video, "video": .video, "a": .audio, "audio": .audio, "s": .subtitle,
    "subtitle": .subtitle, "d": .data, "data": .data,
  ]

  /// A plain number; no container has a million streams.
  private static func number(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 6, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int(text)
  }
}
