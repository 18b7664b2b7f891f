// How long one hop may take for what: for silence, for a head that doesn't end, for a body that nobody
// wants; and how long the rate limit holds it back. Pure: all times are arguments, in nanoseconds of
// one clock.

/// The limits of one hop's time.
struct HopClock: Sendable {
  /// What has become due.
  enum Due: Equatable {
    case nothing
    /// The rate limit lets bytes in again.
    case pauseIsOver
    /// Nothing came for too long, or no end of the head.
    case stalled
    /// What is left of an unwanted body isn't worth the wait.
    case drainIsOver
  }

  /// For the small body of a redirect or an error, which is read only so that its connection can
  /// serve the next request.
  static let drainTime: Int64 = 2_000_000_000
  /// A head may take this many times the patience for silence, however its bytes trickle in.
  static let headFactor: Int64 = 4

  private let patience: Int64
  private var requestTime: Int64 = 0
  /// When the last byte came that counts; nil while there is no connection.
  private var lastProgress: Int64?
  private var hasHead = false
  private var drainEnd: Int64?
  /// Until when the rate limit lets nothing more in; set while libcurl holds bytes back, or will.
  private var pausedUntil: Int64?

  init(stallTimeout: Duration) { patience = Monotonic.nanoseconds(stallTimeout) }

  /// The request is about to be sent.
  mutating func requestBegins(_ now: Int64) {
    requestTime = now
    lastProgress = now
  }

  /// Bytes of the final head or of the body came.
  mutating func bytesCame(_ now: Int64) { lastProgress = now }

  mutating func headIsComplete() { hasHead = true }

  mutating func drainBegins(_ now: Int64) { drainEnd = now + min(patience, Self.drainTime) }

  mutating func pause(until time: Int64) { pausedUntil = time }

  /// Ends a pause at the next chance.
  mutating func shortenPause() {
    if pausedUntil != nil { pausedUntil = 0 }
  }

  /// Whether bytes that come now have to wait; where not, the pause is over.
  mutating func isPaused(_ now: Int64) -> Bool {
    if let pausedUntil, now < pausedUntil { return true }
    pausedUntil = nil
    return false
  }

  /// What is due, which is told once.
  ///
  /// - Parameter roundStart: up to when all bytes that had come have been taken.
  mutating func due(_ now: Int64, roundStart: Int64) -> Due {
    if pausedUntil != nil {
      guard !isPaused(now) else { return .nothing }
      // The silence so far was our own.
      lastProgress = now
      return .pauseIsOver
    }
    guard let lastProgress else { return .nothing }
    if let drainEnd {
      guard now >= drainEnd else { return .nothing }
      self.drainEnd = nil
      return .drainIsOver
    }
    let isSilent = roundStart - lastProgress > patience
    let isEndless = !hasHead && (roundStart - requestTime) / Self.headFactor > patience
    return isSilent || isEndless ? .stalled : .nothing
  }

  /// When to ask again, though nothing comes.
  var next: Int64? {
    pausedUntil ?? drainEnd ?? lastProgress.map { $0 + patience + 1_000_000 }
  }
}
