import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct RefreshPolicyTests {
  private func answer(
    _ status: Int, etag: String? = nil, length: Int64? = nil
  ) -> HTTPResponse {
    var response = HTTPResponse(
      status: status, finalURL: Samples.url,
      framing: length.map { .length($0) } ?? .chunked, contentLength: length)
    response.fields = etag.map { [HeaderField(name: "ETag", value: $0)] } ?? []
    return response
  }

  private func expectation(
    _ version: KnownVersion, asked: RequestedRange? = nil
  ) -> RangeExpectation {
    var expectation = RangeExpectation(asked: asked)
    expectation.refreshed = version
    return expectation
  }

  private let strong = KnownVersion(validators: Validators(strongETag: "\"a\""), total: 10)
  private let weak = KnownVersion(validators: Validators(weakETag: "W/\"a\""), total: 10)

  @Test func bestValidatorMakesTheCondition() {
    let all = Validators(strongETag: "\"s\"", weakETag: "W/\"w\"", lastModified: "M")
    #expect(RefreshCondition(all) == .noneMatch("\"s\""))
    #expect(
      RefreshCondition(Validators(weakETag: "W/\"w\"", lastModified: "M"))
        == .noneMatch("W/\"w\""))
    #expect(RefreshCondition(Validators(lastModified: "M")) == .modifiedSince("M"))
    #expect(RefreshCondition(Validators(date: "D")) == nil)
  }

  @Test func conditionIsAFieldOfItsOwn() {
    func fields(_ condition: RefreshCondition?) -> [HeaderField] {
      RequestFields(
        for: Samples.url, settings: TransferSettings(), secretsOrigin: Samples.url.origin,
        startCredentials: nil, hopCredentials: nil, cookies: CookieJar(), ifRange: nil,
        condition: condition
      ).fields
    }
    #expect(fields(nil).isEmpty)
    #expect(fields(.noneMatch("\"a\"")) == [HeaderField(name: "If-None-Match", value: "\"a\"")])
    #expect(fields(.modifiedSince("M")) == [HeaderField(name: "If-Modified-Since", value: "M")])
  }

  @Test func unchangedResourceIsNotTakenAgain() {
    #expect(RangeCheck.judge(answer(304), expectation(strong)) == .notModified)
    #expect(RangeCheck.judge(answer(304), expectation(weak)) == .notModified)
    // A server that knows no conditions.
    for length in [10, nil] as [Int64?] {
      let whole = answer(200, etag: "\"a\"", length: length)
      #expect(RangeCheck.judge(whole, expectation(strong)) == .notModified)
    }
  }

  @Test func anythingElseIsTaken() {
    for (response, version) in [
      (answer(200, etag: "\"b\"", length: 10), strong),
      (answer(200, length: 10), strong),
      // A weak tag doesn't say that the bytes are the same.
      (answer(200, etag: "W/\"a\"", length: 10), weak),
      (answer(200, etag: "\"a\"", length: 11), strong),
    ] {
      let decision = RangeCheck.judge(response, expectation(version))
      #expect(
        decision
          == .append(
            at: 0, count: response.contentLength, total: response.contentLength,
            comparesOverlap: false))
    }
  }

  @Test func answerToAnotherQuestionProvesNothing() {
    for expectation in [RangeExpectation(asked: nil), expectation(strong, asked: .from(5))] {
      #expect(
        RangeCheck.judge(answer(304), expectation) == .failed(StatusPolicy.error(304)))
    }
  }
}
