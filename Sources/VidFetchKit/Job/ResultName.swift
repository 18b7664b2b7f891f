// The Kit's word on what can be a result's name. Pure.

import PartialStorage

/// Names that a person gives to results.
package enum ResultName {
  /// A text as a safe stem, one path component; nil where nothing of it is left.
  package static func component(_ text: String) -> String? { OutputName.component(text) }

  /// Whether a text has something that separates the components of a path, here or elsewhere.
  package static func isPath(_ text: String) -> Bool {
    text.unicodeScalars.contains(where: OutputName.isSeparator)
  }
}
