import Glibc

/// Writes to the system's log.
///
/// Any thread. Wraps `vsyslog(3)`.
package enum SystemLog {
  /// Logs one line as an error of the user facility.
  package static func error(_ text: String) {
    text.withCString { pointer in
      // The text is an argument, never the format: it may hold percent signs from outside.
      withVaList([pointer]) { vsyslog(LOG_ERR | LOG_USER, "%s", $0) }
    }
  }
}
