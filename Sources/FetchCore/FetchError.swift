// What can go wrong, as a value: a stable code for programs, and three texts for people. Texts never
// carry a secret and never name the item; whoever prints them puts the item in front.

/// The outcome classes.
///
/// The raw value is the stable `code` of the JSON output.
package enum OutcomeCode: String, Sendable, Hashable, Codable, CaseIterable {
  case ok
  case `internal`
  case usage
  case network
  case busy
  case notFound = "not-found"
  case denied
  case refused
  case tls
  case notMedia = "not-media"
  case damaged
  case cannotPassthrough = "cannot-passthrough"
  case encrypted
  case diskFull = "disk-full"
  case output
  case localIO = "local-io"
  case someFailed = "some-failed"
  case hookFailed = "hook-failed"
  case signal

  /// The process exit status; a signal's is 128 + its number, which only the process knows.
  package var exitStatus: Int32 {
    switch self {
    case .ok: 0
    case .internal: 1
    case .usage: 2
    case .network: 10
    case .busy: 11
    case .notFound: 20
    case .denied: 21
    case .refused: 22
    case .tls: 23
    case .notMedia: 30
    case .damaged: 31
    case .cannotPassthrough: 32
    case .encrypted: 33
    case .diskFull: 40
    case .output: 41
    case .localIO: 42
    case .someFailed: 50
    case .hookFailed: 51
    case .signal: 128
    }
  }

  /// Whether the same command may well succeed later without anybody mending anything.
  package var isRetryable: Bool { self == .network || self == .busy }

  /// Whether a part file is worth keeping after this outcome.
  package var keepsPart: Bool {
    switch self {
    case .network, .busy, .denied, .diskFull, .output, .localIO, .signal: true
    default: false
    }
  }
}

/// A failure of one item.
package struct FetchError: Error, Sendable, Hashable, Codable {
  /// The class, which decides the exit status.
  package var code: OutcomeCode
  /// One line: what went wrong, and with what.
  ///
  /// No item name, no secret, no final full stop.
  package var message: String
  /// More about why, where there is more to say than `message` does.
  package var reason: String?
  /// What helps, as one short sentence without a final full stop.
  package var recovery: String?
  /// How many seconds the server wants to be left alone, where it said so.
  package var retryAfter: Int?
  /// Whether another run is at work on the same thing, so that this passes with it.
  package var isHeld = false

  package init(
    _ code: OutcomeCode, _ message: String, reason: String? = nil, recovery: String? = nil,
    retryAfter: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.reason = reason
    self.recovery = recovery
    self.retryAfter = retryAfter
  }

  /// Another run holds the part of this.
  package static func held(_ part: String) -> FetchError {
    var error = FetchError(
      .output, "another run is fetching this to the same folder", reason: "\(part) is locked",
      recovery: "wait for it, or use another folder")
    error.isHeld = true
    return error
  }

  /// The work was cancelled.
  package static let cancelled = FetchError(
    .signal, "cancelled", recovery: "run the same command again to continue")

  /// The message and what helps, in one line.
  package var text: String { message + (recovery.map { "; \($0)" } ?? "") }

  /// The run ended before the command on the file had; the file is in place.
  package static let stopped = FetchError(
    .signal, "the file is in place, but the command on it was stopped",
    recovery: "run it on the file by hand")

  package var isCancellation: Bool { code == .signal }
}
