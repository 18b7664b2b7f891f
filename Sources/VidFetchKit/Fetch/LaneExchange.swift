// A further exchange of a fetch: one range beside those that others bring. All it does is to hand on
// what happens under its lane's number.

import FetchCore
import HTTPTransfer

/// Hears of one lane's exchange, on the transfer thread.
final class LaneExchange: ExchangeDelegate {
  private let fetch: HTTPFetch
  private let lane: Int
  private let expectation: RangeExpectation

  init(_ fetch: HTTPFetch, lane: Int, expectation: RangeExpectation) {
    self.fetch = fetch
    self.lane = lane
    self.expectation = expectation
  }

  func exchange(_ id: ExchangeID, didReceive response: HTTPResponse) -> BodyDisposition {
    fetch.lane(lane, didReceive: response, expecting: expectation)
  }

  func exchange(_ id: ExchangeID, didWarn warning: FetchWarning) {
    fetch.exchange(id, didWarn: warning)
  }

  func exchange(_ id: ExchangeID, didFinish outcome: ExchangeOutcome) {
    fetch.lane(lane, didFinish: outcome)
  }
}
