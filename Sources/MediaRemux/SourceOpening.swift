// The first look at a source, which a remux and a probe share. On the remux thread.

import FetchCore

extension SourceBytes {
  /// How many bytes the first look takes.
  private static let headSize = 4096

  /// Reads for the structural checks.
  var reader: SourceReader {
    SourceReader(
      size: { [availability] in availability.total },
      read: { (offset, count) throws(FetchError) in try read(at: offset, count: count) })
  }

  /// Looks at the first bytes, so that a web page is told from a film before libavformat guesses.
  func sniff() throws(FetchError) -> ContainerKind {
    let head = try read(at: 0, count: Self.headSize)
    switch SourceSniffer.sniff(head: head, size: availability.total) {
    case .media(let kind): return kind ?? .other
    case .notMedia(let error): throw error
    }
  }

  /// Whether the source begins as every ISO file of this century does.
  func beginsWithFileType() throws(FetchError) -> Bool {
    try read(at: 4, count: 4) == Array("ftyp".utf8)
  }

  /// What to say in place of a refusal: that the source was cut, where that is known by now.
  ///
  /// A source that was cut in its beginning looks like one with other codecs, or like no media. What
  /// still arrives is not waited for.
  func truth(behind refusal: FetchError, kind: ContainerKind) throws(FetchError) -> FetchError {
    guard refusal.code == .cannotPassthrough || refusal.code == .notMedia, availability.hasEnded,
      case .damaged(let damage) = try ContainerStructure.examine(reader, kind: kind)
    else { return refusal }
    return damage
  }
}

extension ContainerKind {
  /// Whether libavformat may jump about in the source.
  ///
  /// ISO files and AVI keep their index where the writer liked; the others are read forwards, as
  /// they come.
  var isSeekable: Bool { self == .mp4 || self == .avi }
}
