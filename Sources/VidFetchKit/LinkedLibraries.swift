// What the engine is linked with, for `--version` and for bug reports.

import HTTPTransfer
import MediaRemux

/// The C libraries that are in use, as they name themselves.
package enum LinkedLibraries {
  /// One line a library, such as `libavformat 59.27.100 (GPL version 2 or later)`.
  package static var lines: [String] { ["libcurl \(CurlLibrary.version)"] + AVLibraries.lines }
}
