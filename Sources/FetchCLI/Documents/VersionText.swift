// What `--version` says.

import FetchCore
import VidFetchKit

/// The text of `--version`.
package enum VersionText {
  /// The version, the linked libraries and the licence, a line each.
  package static var text: String {
    let licence =
      "Licence: MIT for the sources; a binary linked with Debian's libavformat is under the GPL"
    return (["vidfetch \(vidfetchVersion)"] + LinkedLibraries.lines + [licence])
      .joined(separator: "\n") + "\n"
  }
}
