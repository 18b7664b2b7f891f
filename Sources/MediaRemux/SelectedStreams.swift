// A selection applied to the streams that there are: what was wanted must be there. Pure.

import FetchCore

/// The indexes of the streams that a person wants.
struct SelectedStreams: Hashable {
  private let indexes: Set<Int>

  func contains(_ stream: StreamDescription) -> Bool { indexes.contains(stream.index) }

  /// Applies a selection.
  ///
  /// - Throws: `.cannotPassthrough` where a part of the selection matches nothing, or where neither
  ///   sound nor picture is left.
  init(_ selection: StreamSelection, from streams: [StreamDescription]) throws(FetchError) {
    var wanted = Set(streams.map(\.index))
    if let specifiers = selection.streams {
      wanted = []
      for specifier in specifiers {
        let matches = Self.matches(specifier, streams)
        guard !matches.isEmpty else { throw Self.missing(specifier, streams) }
        wanted.formUnion(matches)
      }
    }
    for (kind, choice) in [
      (StreamReport.Kind.audio, selection.audio), (.subtitle, selection.subtitles),
    ] {
      let candidates = streams.filter { $0.kind == kind }
      switch choice {
      case .all: continue
      case .none: wanted.subtract(candidates.map(\.index))
      case .only(let languages):
        let others = candidates.filter { !languages.contains(LanguageCode($0.language ?? "")) }
        guard others.count < candidates.count else {
          throw Self.missing(languages, kind, among: candidates)
        }
        wanted.subtract(others.map(\.index))
      }
    }
    indexes = wanted
    let isFilm = { (stream: StreamDescription) in
      stream.kind.isMedia && !stream.isAttachedPicture
    }
    if streams.contains(where: isFilm), !streams.contains(where: { isFilm($0) && contains($0) }) {
      throw FetchError(
        .cannotPassthrough,
        "the selection leaves neither video nor audio of \(Self.inventory(streams))",
        recovery: Self.advice)
    }
  }

  private static func matches(
    _ specifier: StreamSelection.Specifier, _ streams: [StreamDescription]
  ) -> [Int] {
    switch specifier {
    case .index(let index):
      return streams.contains { $0.index == index } ? [index] : []
    case .kind(let kind, let ordinal):
      let matches = streams.filter { $0.kind == kind || kind == .data && $0.kind.isOther }
      guard let ordinal else { return matches.map(\.index) }
      // A cover is no film: `v:0` is the first film.
      let films = matches.filter { !$0.isAttachedPicture }
      return films.indices.contains(ordinal) ? [films[ordinal].index] : []
    }
  }

  private static func missing(
    _ specifier: StreamSelection.Specifier, _ streams: [StreamDescription]
  ) -> FetchError {
    FetchError(
      .cannotPassthrough,
      "the source has no stream \(specifier.text), only \(inventory(streams))", recovery: advice)
  }

  private static func missing(
    _ languages: [LanguageCode], _ kind: StreamReport.Kind, among candidates: [StreamDescription]
  ) -> FetchError {
    var known: [String] = []
    for candidate in candidates {
      let code = LanguageCode(candidate.language ?? "").code
      if !known.contains(code) { known.append(code) }
    }
    let wanted = languages.map(\.code).joined(separator: ", ")
    let there = known.isEmpty ? "no" : "only \(known.prefix(mostNames).joined(separator: ", "))"
    return FetchError(
      .cannotPassthrough,
      "no \(kind.rawValue) in \(wanted): the source has \(there) \(kind.rawValue)",
      recovery: advice)
  }

  private static let mostNames = 12
  private static let advice = "--probe lists the streams"

  private static func inventory(_ streams: [StreamDescription]) -> String {
    let names = streams.prefix(mostNames).map { "\($0.index) \($0.kind.rawValue)" }
    let more = streams.count > names.count ? ", …" : ""
    return names.joined(separator: ", ") + more
  }
}

extension StreamReport.Kind {
  var isMedia: Bool { self == .video || self == .audio }

  /// Neither sound, picture nor subtitle.
  fileprivate var isOther: Bool { self == .data || self == .attachment || self == .unknown }
}
