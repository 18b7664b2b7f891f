// Whether and where a redirect is followed. libcurl's own following is off, because it would carry
// headers and cookies along. Pure.

import FetchCore

enum RedirectPolicy {
  /// More redirects than this are not followed.
  static let limit = 10

  /// Whether the status asks to go elsewhere.
  ///
  /// All of them are followed with GET, since nothing but GET is ever sent.
  static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

  /// Where to go on.
  ///
  /// - Parameters:
  ///   - followed: how many redirects were followed before this one.
  /// - Throws: `.refused` where the redirect isn't to be followed.
  static func target(
    status: Int, location: String?, from url: HTTPURL, followed: Int, allowDowngrade: Bool
  ) throws(FetchError) -> HTTPURL {
    guard let location, !location.isEmpty else {
      throw FetchError(.refused, "the server redirects (\(status)) without saying where to")
    }
    guard followed < limit else {
      throw FetchError(
        .refused, "more than \(limit) redirects",
        recovery: "the server sends requests in circles: try the address in a browser")
    }
    let target: HTTPURL
    do {
      target = try url.resolving(location)
    } catch {
      throw FetchError(
        .refused, "redirect to an address that can't be used: \(error.message)",
        reason: error.reason)
    }
    if url.origin.scheme == "https", target.origin.scheme == "http", !allowDowngrade {
      throw FetchError(
        .refused, "redirect from https to http", reason: "to \(target.redacted)",
        recovery: "--allow-downgrade follows it, over a connection that others can read and change")
    }
    return target
  }

  /// The failure of a request that comes by a second time with nothing changed.
  static let loop = FetchError(
    .refused, "redirect loop",
    recovery: "the server sends requests in circles: try the address in a browser")
}
