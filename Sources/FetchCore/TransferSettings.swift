// How a transfer is to be made, as the person asked for it.

/// A user name and password for Basic authentication.
package struct UserCredentials: Sendable, Hashable {
  package var user: String
  package var password: String

  package init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

/// One request header of the person's own.
package struct HeaderField: Sendable, Hashable {
  /// A token (RFC 9110 5.1); compared without regard to case.
  package var name: String
  /// Without leading or trailing white space and without line breaks.
  package var value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// Everything about a transfer but its address.
package struct TransferSettings: Sendable, Hashable {
  /// Attempts after the first, counted since the last new byte.
  package var retries = 5
  /// No further attempt once this has passed since the last new byte.
  package var retryMaxTime = Duration.seconds(600)
  package var connectTimeout = Duration.seconds(15)
  /// A connection that brings no byte for this long is given up.
  package var stallTimeout = Duration.seconds(30)
  /// More connections than this are no help to anybody.
  package static let mostConnections = 64

  /// Exchanges side by side for one resource; 0 leaves it to what is measured.
  package var connections = 0
  /// The most exchanges side by side with one host; nil for no limit but that.
  package var connectionsPerHost: Int?
  /// Bytes a second; nil for no limit.
  package var rateLimit: Int64?
  /// Sent to the first origin only.
  package var headers: [HeaderField] = []
  package var user: UserCredentials?
  package var bearerToken: String?
  /// `NAME=VALUE`, sent to the first origin only.
  package var cookies: [String] = []
  /// nil for `vidfetch/VERSION`.
  package var userAgent: String?
  package var referer: String?
  /// A proxy's URL; an empty text forbids the environment's; nil takes the environment's.
  package var proxy: String?
  /// A PEM file with the certificates to trust in place of the system's.
  package var caFile: String?
  /// The largest body that is accepted, in bytes.
  package var maxFileSize: Int64?
  /// Lets a public start lead to private addresses.
  package var allowPrivate = false
  /// Lets a redirect lead from https to http.
  package var allowDowngrade = false

  package init() {}
}
