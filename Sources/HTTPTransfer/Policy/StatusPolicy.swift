// What a status means for an item (RFC 9110 15). Pure.

package import FetchCore

package enum StatusPolicy {
  /// Whether the body is the resource, or a part of it.
  package static func hasResource(_ status: Int) -> Bool {
    status == 200 || status == 203 || status == 206
  }

  /// Whether the same request may fare better later.
  package static func isRetryable(_ status: Int) -> Bool {
    [408, 425, 429].contains(status) || (500...599).contains(status)
  }

  /// The failure that a final status without the resource amounts to.
  package static func error(_ status: Int) -> FetchError {
    let name = reason(status).map { " (\($0))" } ?? ""
    let said = "the server answers \(status)\(name)"
    switch status {
    case 404, 410:
      return FetchError(.notFound, said, recovery: "check the address")
    case 401:
      return FetchError(
        .denied, said,
        recovery: "give a user name and password (-u), a token (--bearer-file) "
          + "or a cookie (-b)")
    case 403:
      return FetchError(
        .denied, said,
        recovery: "the link may have expired, or need signing in (-u, -b): "
          + "get a fresh one")
    case 407:
      return FetchError(
        .denied, "the proxy answers 407 (sign-in needed)",
        recovery: "put user:password@ into the proxy's URL (--proxy)")
    case 408, 425, 429, 500...599:
      return FetchError(.busy, said, recovery: "run the same command again later")
    case 100..<200, 300..<400:
      return FetchError(.refused, said, reason: "that is no answer to this request")
    case 200..<300:
      return FetchError(.refused, said, reason: "that status carries no file")
    default:
      return FetchError(.refused, said)
    }
  }

  /// The usual names of the statuses that people meet.
  private static func reason(_ status: Int) -> String? {
    [
      202: "accepted, not ready", 204: "no content", 304: "not modified", 400: "bad request",
      401: "sign-in needed", 403: "forbidden", 404: "not found", 405: "method not allowed",
      408: "request timeout", 410: "gone", 416: "range not satisfiable", 421: "misdirected",
      425: "too early", 429: "too many requests", 451: "unavailable for legal reasons",
      500: "internal server error", 502: "bad gateway", 503: "service unavailable",
      504: "gateway timeout", 522: "origin timed out", 524: "origin timed out",
    ][status]
  }
}
