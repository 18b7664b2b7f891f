// The header fields that a person can't set, because the transfer answers for them. One table for the
// command line, which complains before anything starts, and for the transfer, which must not send them.

package enum ReservedHeader {
  /// In lower case: what says where a request goes (RFC 9110 7.2), how it is framed and what lasts for
  /// one connection only (7.6.1), and the ranges, conditions and codings that resume depends on.
  private static let names: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings",
    "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
    "keep-alive", "proxy-authorization", "proxy-connection", "range", "te", "trailer",
    "transfer-encoding", "upgrade",
  ]

  /// Whether a field of this name, in whatever case, is the transfer's own.
  package static func contains(_ name: String) -> Bool { names.contains(name.lowercased()) }
}
