// Who hears of an exchange, and how it ended.

package import FetchCore

/// One exchange of a loop.
package struct ExchangeID: Sendable, Hashable {
  let number: UInt64

  package init(number: UInt64) { self.number = number }
}

/// Runs exchanges; a `TransferLoop`, but for tests.
package protocol ExchangeRunner: Sendable {
  /// Starts an exchange; any thread, never waits.
  func start(_ request: HTTPRequest, delegate: any ExchangeDelegate) -> ExchangeID
  /// Ends an exchange with `.cancelled`; any thread, never waits.
  func cancel(_ id: ExchangeID)
}

extension TransferLoop: ExchangeRunner {}

/// Hears of an exchange.
///
/// All calls come on the transfer thread, in order, and must not block but for writing; they may come
/// before `start` has returned the ID. The loop holds the delegate until `didFinish`.
package protocol ExchangeDelegate: AnyObject, Sendable {
  /// Once, before the first body byte of the final response; says where the body goes, or that it
  /// isn't wanted.
  ///
  /// Called for every status that isn't followed as a redirect. Only the body of a 200, 203 or 206
  /// can be written: for all others `.write` ends in a failure of kind `.status`.
  func exchange(_ id: ExchangeID, didReceive response: HTTPResponse) -> BodyDisposition
  /// Before each further hop.
  func exchange(_ id: ExchangeID, willFollowRedirectTo url: HTTPURL, status: Int)
  /// Something a person should know although the exchange goes on; once a kind and exchange.
  func exchange(_ id: ExchangeID, didWarn warning: FetchWarning)
  /// Once, last.
  func exchange(_ id: ExchangeID, didFinish outcome: ExchangeOutcome)
}

extension ExchangeDelegate {
  package func exchange(_ id: ExchangeID, willFollowRedirectTo url: HTTPURL, status: Int) {}
  package func exchange(_ id: ExchangeID, didWarn warning: FetchWarning) {}
}

/// What becomes of a body.
package enum BodyDisposition: Sendable {
  /// Written from the offset `at` of the resource on.
  ///
  /// Bytes are wanted up to `until`, nil for all: when they are there and more would follow, the
  /// exchange ends as `.completed`. Bytes beyond what the response's head declares are never
  /// written.
  case write(to: any ByteSink, at: Int64, until: BodyEnd?)
  /// Ends the exchange now, without an error; the outcome is `.stopped`.
  case discard
}

/// How an exchange ended.
package enum ExchangeOutcome: Sendable {
  /// The framing, or the limit, is satisfied; `bodyBytes` were written.
  case completed(HTTPResponse, bodyBytes: Int64)
  /// By `.discard`.
  case stopped(HTTPResponse)
  case failed(TransferFailure)
}
