// Whether to try again, and when. Pure: clocks and jitter are arguments, so that tests don't wait.

package import FetchCore

package struct RetryPolicy: Sendable, Hashable {
  package enum Decision: Sendable, Hashable {
    /// Try again after this long; `message` says so to a person.
    case wait(Duration, message: String)
    case giveUp(FetchError)
  }

  /// Attempts after the first, counted since the last new byte.
  package var retries: Int
  package var maxTime: Duration

  package init(_ settings: TransferSettings) {
    retries = settings.retries
    maxTime = settings.retryMaxTime
  }

  /// Decides after a failed exchange.
  ///
  /// - Parameters:
  ///   - attempt: how many exchanges have failed since the last new byte, this one included: 1, 2…
  ///   - elapsed: since the last new byte, or since the start where there was none.
  ///   - now: seconds since 1970, for a Retry-After that names a date.
  ///   - jitter: 0 up to 1, evenly spread.
  package func decide(
    _ failure: TransferFailure, attempt: Int, elapsed: Duration, now: Int64, jitter: Double
  ) -> Decision {
    let isStatus = if case .status = failure.kind { true } else { false }
    return decide(
      failure.kind, failure.error, attempt: attempt, elapsed: elapsed,
      retryAfter: isStatus ? failure.response?.retryAfter : nil, now: now, jitter: jitter)
  }

  package func decide(
    _ kind: TransferFailure.Kind, _ error: FetchError, attempt: Int, elapsed: Duration,
    retryAfter: RetryAfter?, now: Int64, jitter: Double
  ) -> Decision {
    guard let allowed = allowance(for: kind) else { return .giveUp(error) }
    let remaining = maxTime - elapsed
    let asked = retryAfter?.wait(now: now)
    if let asked, attempt > allowed || .seconds(asked) > remaining {
      return .giveUp(
        FetchError(
          .busy, "\(error.message), and asks to wait \(Self.text(asked))",
          reason: error.reason, recovery: "run the same command again after that",
          retryAfter: Int(asked)))
    }
    guard attempt <= allowed, remaining > .zero else { return .giveUp(error) }
    if let asked {
      return .wait(.seconds(asked), message: "server asks to wait \(Self.text(asked))")
    }
    let wait = min(Self.backOff(attempt: attempt, jitter: jitter), remaining)
    return .wait(wait, message: "trying again in \(Self.text(wait))")
  }

  /// Whether a failure of this kind may fare better another time.
  package static func isWorthRepeating(_ failure: TransferFailure) -> Bool {
    RetryPolicy(TransferSettings()).allowance(for: failure.kind) != nil
  }

  /// How many retries this kind of failure is worth; nil for none at all.
  private func allowance(for kind: TransferFailure.Kind) -> Int? {
    switch kind {
    case .resolve, .connectRefused: min(retries, 2)
    case .connect, .connectTimeout, .stall, .cut, .reset, .emptyReply, .http2, .handshake: retries
    case .status(let status): StatusPolicy.isRetryable(status) ? retries : nil
    case .trust, .redirect, .address, .contentCoding, .lengths, .surplus, .tooLarge, .sink,
      .cancelled, .request, .internal:
      nil
    }
  }

  /// Full jitter below a ceiling that doubles from 1 to 30 s.
  static func backOff(attempt: Int, jitter: Double) -> Duration {
    let ceiling = min(30, Double(1 << min(max(attempt - 1, 0), 5)))
    return .milliseconds(Int64(ceiling * 1000 * min(max(jitter, 0), 1)))
  }

  private static func text(_ wait: Duration) -> String {
    let tenths =
      wait.components.seconds * 10 + wait.components.attoseconds / 100_000_000_000_000_000
    return tenths >= 100 ? text(tenths / 10) : "\(tenths / 10).\(tenths % 10) s"
  }

  /// `2 s`, `5 min`, `24 h`, `3 days`.
  static func text(_ seconds: Int64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\((seconds + 59) / 60) min"
    case ..<172_800: "\((seconds + 3599) / 3600) h"
    default: "\((seconds + 86399) / 86400) days"
    }
  }
}
