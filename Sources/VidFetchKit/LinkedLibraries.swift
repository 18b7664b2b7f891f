// What the engine is linked with, for `--version` and for bug reports.

/// The C libraries that are in use, as they name themselves.
package enum LinkedLibraries {
  /// One line a library, such as `libcurl/7.88.1`.
  package static var lines: [String] { [] }
}
