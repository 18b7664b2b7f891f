// What is asked for in one exchange. A value; nothing here has been checked against the network.

package import FetchCore

/// The bytes that are asked for.
package enum RequestedRange: Sendable, Hashable {
  /// From this offset to the end.
  case from(Int64)
  case closed(ByteRange)

  package var first: Int64 {
    switch self {
    case .from(let offset): offset
    case .closed(let range): range.lowerBound
    }
  }

  /// The last byte; nil for the resource's end.
  package var last: Int64? {
    guard case .closed(let range) = self else { return nil }
    return range.upperBound - 1
  }

  /// The text after `bytes=`.
  var text: String { "\(first)-" + (last.map { "\($0)" } ?? "") }
}

/// One GET, with the redirects it may lead to.
package struct HTTPRequest: Sendable {
  package var url: HTTPURL
  /// nil asks for the whole resource, without a Range field.
  package var range: RequestedRange?
  /// Sent as If-Range, for which only `ResumePolicy.ifRange(for:)` makes values.
  package var ifRange: String?
  /// Asks for nothing where the resource is unchanged; only without a range.
  package var condition: RefreshCondition?
  package var settings: TransferSettings
  /// Whom the settings' secrets are for; nil means the origin of `url`.
  ///
  /// To be given wherever `url` isn't what the person typed, such as the end of redirects.
  package var secretsOrigin: Origin?
  /// The address that the person typed, where `url` is the end of redirects from it; its user
  /// information is then the person's own, and that of `url` is not.
  package var typedURL: HTTPURL?
  /// Whether this job began at a public address, as an earlier response or failure reported it.
  package var startedPublic: Bool?
  /// The cookies that earlier responses of this job set.
  package var cookies = CookieJar()
  /// Asks by HTTP/1.1, so that it shares its connection with no other exchange that runs.
  package var isAlone = false
  /// Makes a connection of its own rather than share one that is open.
  package var needsNewConnection = false
  /// Shared by exchanges that keep a limit together; nil for `settings.rateLimit` alone.
  package var limiter: RateLimiter?
  /// Takes lines for `-vv`, secrets removed; called on the transfer thread.
  package var log: (@Sendable (String) -> Void)?

  package init(
    url: HTTPURL, range: RequestedRange? = nil, ifRange: String? = nil,
    settings: TransferSettings = TransferSettings()
  ) {
    self.url = url
    self.range = range
    self.ifRange = ifRange
    self.settings = settings
  }
}
