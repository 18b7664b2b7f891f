// One item of a list, as it was written: what it says, checked for its form alone. Pure.

package import FetchCore

/// One item of a list.
///
/// What it doesn't say is nil or empty, and taken from the command line.
package struct ListEntry: Sendable, Hashable {
  /// As written: `scheme://…` is a URL, all else a local path, relative to the working directory.
  package var source: String
  package var name: ListName?
  package var format: ContainerFormat?
  package var headers: [HeaderField] = []
  /// Each `NAME=VALUE`.
  package var cookies: [String] = []
  package var userAgent: String?
  package var referer: String?
  package var checksum: Checksum?
  package var streams: [StreamSelection.Specifier]?
  package var audio: [LanguageCode]?
  package var noAudio = false
  package var subtitles: StreamSelection.ByLanguage?
  package var metadata: [MetadataEdits.Change] = []

  package init(source: String) { self.source = source }

  /// The keys of an item that is a JSON object, for the documents.
  package static let keyList = ListObject.keys.joined(separator: ", ")

  /// Whether this reads like words that were never meant as a path.
  ///
  /// A list that is prose, or has options in it, is full of them; where there is no such file, this is
  /// not a URL rather than a file that is missing.
  package var isDoubtfulPath: Bool { source.contains(" ") && !source.contains("://") }
}
