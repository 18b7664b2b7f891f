// A failed exchange: what it was, for deciding about a retry, and what to say about it.

package import FetchCore

package struct TransferFailure: Error, Sendable {
  package enum Kind: Sendable, Hashable {
    /// The host, or its proxy, has no address.
    case resolve
    case connectRefused
    /// Any other trouble before there was a connection.
    case connect
    case connectTimeout
    /// No byte for the stall timeout.
    case stall
    /// The body ended early.
    case cut
    /// The connection broke.
    case reset
    /// The connection ended without a response.
    case emptyReply
    case http2
    /// TLS could not be set up, for another reason than the certificate.
    case handshake
    /// The certificate isn't trusted.
    case trust
    case status(Int)
    case redirect
    /// The private-address rule.
    case address
    case contentCoding
    /// Lengths that contradict each other or can't be read.
    case lengths
    /// More bytes than the head declared.
    case surplus
    case tooLarge
    case sink
    case cancelled
    /// The request can't be made as it is.
    case request
    case `internal`
  }

  package var kind: Kind
  package var error: FetchError
  /// The final response's head, where it came.
  package var response: HTTPResponse?
  /// Body bytes that were written.
  package var bodyBytes: Int64
  /// As in `HTTPResponse.reachedPublic`.
  package var reachedPublic: Bool?

  package init(
    _ kind: Kind, _ error: FetchError, response: HTTPResponse? = nil, bodyBytes: Int64 = 0,
    reachedPublic: Bool? = nil
  ) {
    self.kind = kind
    self.error = error
    self.response = response
    self.bodyBytes = bodyBytes
    self.reachedPublic = reachedPublic
  }
}
