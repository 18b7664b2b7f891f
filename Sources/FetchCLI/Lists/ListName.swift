// The name that a list gives to an item's result. Pure.

package import FetchCore
import VidFetchKit

/// A result's name from a list: one path component, with or without an extension of the result's.
package struct ListName: Sendable, Hashable {
  /// Without an extension; safe to use.
  package let stem: String
  /// As written: mp4, m4v, mov or qt; nil where there is none.
  package let suffix: String?

  /// - Throws: for what is no name of one file.
  package init(_ text: String) throws(UsageError) {
    if ResultName.isPath(text) {
      throw UsageError("the name '\(text)' is a path; a list gives names within one folder")
    }
    var stem = Substring(text)
    var suffix: String?
    if let dot = text.lastIndex(of: ".") {
      let written = text[text.index(after: dot)...].lowercased()
      if Self.formats[written] != nil {
        suffix = written
        stem = text[..<dot]
      }
    }
    guard let safe = ResultName.component(String(stem)) else {
      throw UsageError("the name '\(text)' has nothing that can stand in a file's name")
    }
    self.stem = safe
    self.suffix = suffix
  }

  /// The format that the extension stands for.
  package var format: ContainerFormat? { suffix.flatMap { Self.formats[$0] } }

  /// The file's name in a format, which must not contradict the extension.
  package func fileName(_ format: ContainerFormat) -> String {
    stem + "." + (suffix ?? format.rawValue)
  }

  private static let formats: [String: ContainerFormat] = [
    "mp4": .mp4, "m4v": .mp4, "mov": .mov, "qt": .mov,
  ]
}
