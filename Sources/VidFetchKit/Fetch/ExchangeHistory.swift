// What is remembered from one exchange of a fetch to the next, and what follows when one of them goes
// wrong. A value; HTTPTransfer's pure rules decide about each response and each retry.

import FetchCore
import HTTPTransfer

/// The exchanges that a fetch has made so far.
struct ExchangeHistory: Sendable {
  /// What follows an exchange that did not bring what was asked for.
  enum Sequel: Sendable {
    /// Worth another exchange after this wait.
    case pause(Duration, attempt: Int, error: FetchError)
    /// Ask again at once.
    case again
    /// What is there can't be continued.
    case restart(RestartReason)
    case giveUp(FetchError)
  }

  var isCancelled = false
  /// Exchanges that were begun.
  private(set) var attempts = 0
  /// Exchanges that failed since the last new byte.
  private var failures = 0
  /// The most bytes that were ever there at once.
  private var highWater: Int64
  private let clock: TransferClock
  /// In the clock's nanoseconds.
  private var lastNewByte: Int64
  private var rejections = 0
  /// How often the remote was found to have changed.
  private var changes = 0
  private var startedPublic: Bool?
  private var cookies = CookieJar()

  /// - Parameter present: bytes that are there already.
  init(present: Int64 = 0, clock: TransferClock = .system) {
    highWater = present
    self.clock = clock
    lastNewByte = clock.now()
  }

  /// Another version takes the place of what was there: each of its bytes is a new one.
  mutating func beginNewVersion() { highWater = 0 }

  /// Begins an exchange: gives the request what earlier ones have learnt.
  mutating func begin(_ request: inout HTTPRequest) {
    accompany(&request)
    attempts += 1
  }

  /// Gives a request that runs beside another what earlier ones have learnt.
  func accompany(_ request: inout HTTPRequest) {
    request.cookies = cookies
    request.startedPublic = startedPublic
  }

  /// Learns from a response.
  mutating func learn(from response: HTTPResponse) {
    startedPublic = response.reachedPublic ?? startedPublic
    cookies = response.cookies
  }

  // MARK: - What follows

  /// A body ended well.
  ///
  /// - Parameter present: bytes that are there now.
  /// - Returns: whether it is worth asking again; no longer where it has brought nothing new.
  mutating func bodyEnded(present: Int64) -> Bool {
    note(present)
    failures += 1
    return failures <= 1
  }

  /// The remote is another version: it is fetched from its beginning, but not for ever.
  mutating func remoteChanged(_ settings: TransferSettings) -> Sequel {
    changes += 1
    guard changes <= settings.retries + 1 else {
      return .giveUp(
        FetchError(
          .network, "the remote file keeps changing while it is fetched",
          recovery: "run the same command again when it has settled"))
    }
    return .restart(.remoteChanged)
  }

  /// A response was not what was asked for.
  mutating func rejected(_ text: String, _ settings: TransferSettings) -> Sequel {
    rejections += 1
    failures += 1
    if failures > settings.retries + 1 {
      return .giveUp(
        FetchError(
          .damaged, text, recovery: "the server answers range requests wrongly: try again later"))
    }
    return rejections.isMultiple(of: 2) ? .restart(.rangeIgnored) : .again
  }

  /// An exchange failed.
  ///
  /// - Parameter present: bytes that are there now.
  mutating func failed(
    _ failure: TransferFailure, present: Int64, _ settings: TransferSettings
  ) -> Sequel {
    startedPublic = failure.reachedPublic ?? startedPublic
    note(present)
    failures += 1
    if isCancelled || failure.kind == .cancelled { return .giveUp(.cancelled) }
    // The server's dates are measured by its own clock, where it tells that.
    let here = clock.date()
    let now =
      failure.response?.validators.date.flatMap { HTTPDate.seconds($0, now: here) } ?? here
    let decision = RetryPolicy(settings).decide(
      failure, attempt: failures, elapsed: .nanoseconds(clock.now() - lastNewByte),
      now: now, jitter: clock.jitter())
    switch decision {
    case .giveUp(let error): return .giveUp(error)
    case .wait(let wait, let message):
      var error = failure.error
      if let asked = failure.response?.retryAfter?.wait(now: now) {
        error.message += "; " + message
        error.retryAfter = Int(asked)
      }
      return .pause(wait, attempt: failures, error: error)
    }
  }

  /// Takes note of how many bytes are there; any new one starts the count of failures anew.
  private mutating func note(_ present: Int64) {
    guard present > highWater else { return }
    highWater = present
    failures = 0
    rejections = 0
    lastNewByte = clock.now()
  }
}
