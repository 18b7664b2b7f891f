// What answers to a resume are worth. Each row is a server that was met or feared.

import FetchCore
import Testing

@testable import HTTPTransfer

@Suite struct RangeCheckTests {
  static let total: Int64 = 1000
  static let strong = Validators(strongETag: "\"a\"", lastModified: "M1", date: "D")
  static let dated = Validators(lastModified: "M1", date: "D")
  static let weak = Validators(weakETag: "W/\"a\"", lastModified: "M1", date: "D")

  /// Asks from 400 on, with 1000 bytes known.
  private func expect(
    _ validators: Validators = strong, overlap: Int64 = 0, ifRange: String? = "\"a\"",
    total: Int64? = total, isTotalOfThisRun: Bool = false, isPlain: Bool = false,
    asked: RequestedRange? = .from(400)
  ) -> RangeExpectation {
    RangeExpectation(
      asked: asked, ifRange: ifRange, overlap: overlap, total: total,
      isTotalOfThisRun: isTotalOfThisRun, validators: validators, isPlain: isPlain)
  }

  private func answer(
    _ status: Int, _ range: String? = nil, etag: String? = nil, modified: String? = nil,
    length: Int64? = nil, type: String? = nil, ranges: String? = nil
  ) -> HTTPResponse {
    var response = HTTPResponse(
      status: status, finalURL: Samples.url,
      framing: length.map { .length($0) } ?? .chunked, contentLength: length)
    let fields = [
      ("Content-Range", range), ("ETag", etag), ("Last-Modified", modified), ("Content-Type", type),
      ("Accept-Ranges", ranges),
    ]
    response.fields = fields.compactMap { name, value in
      value.map { HeaderField(name: name, value: $0) }
    }
    return response
  }

  private func isRejected(_ decision: RangeDecision) -> Bool {
    if case .rejectRange = decision { true } else { false }
  }

  private func message(_ decision: RangeDecision) -> String? {
    guard case .contradiction(let error) = decision, error.code == .damaged else { return nil }
    return error.message
  }

  // MARK: - 206

  @Test func theAskedRangeOfTheSameVersionIsAppended() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-999/1000", etag: "\"a\"", length: 600), expect())
        == .append(at: 400, count: 600, total: 1000, comparesOverlap: false))
  }

  @Test func anHonestlyShorterRangeIsAppended() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-599/1000", etag: "\"a\"", length: 200), expect())
        == .append(at: 400, count: 200, total: 1000, comparesOverlap: false))
  }

  @Test(arguments: [
    nil, "bytes three-to-five", "bytes 399-999/1000", "bytes 401-999/1000", "bytes 0-999/1000",
    "bytes */1000",
  ])
  func anotherStartOrNoneIsRejected(_ range: String?) {
    #expect(isRejected(RangeCheck.judge(answer(206, range, etag: "\"a\""), expect())))
  }

  @Test func severalRangesAtOnceAreRejected() {
    let response = answer(
      206, "bytes 400-999/1000", etag: "\"a\"", type: "Multipart/ByteRanges; boundary=x")
    #expect(isRejected(RangeCheck.judge(response, expect())))
  }

  @Test func moreThanAClosedRangeIsRejected() throws {
    let asked = RequestedRange.closed(try #require(ByteRange(400, 500)))
    #expect(
      isRejected(
        RangeCheck.judge(answer(206, "bytes 400-500/1000", etag: "\"a\""), expect(asked: asked))))
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-499/1000", etag: "\"a\""), expect(asked: asked))
        == .append(at: 400, count: 100, total: 1000, comparesOverlap: false))
  }

  @Test func aTotalMayBeLeftOutWhereTheVersionIsProven() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-999/*", etag: "\"a\""), expect())
        == .append(at: 400, count: 600, total: 1000, comparesOverlap: false))
    // Short of the recorded end the same strong tag is proof enough: the rest is asked for again.
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-899/*", etag: "\"a\""), expect())
        == .append(at: 400, count: 500, total: 1000, comparesOverlap: false))
    #expect(isRejected(RangeCheck.judge(answer(206, "bytes 400-999/*"), expect())))
    #expect(
      message(RangeCheck.judge(answer(206, "bytes 400-1099/*", etag: "\"a\""), expect())) != nil)
    #expect(
      isRejected(
        RangeCheck.judge(
          answer(206, "bytes 400-999/*", modified: "M1"),
          expect(Self.dated, overlap: 20, ifRange: nil))))
  }

  /// A server that ignores If-Range sends other bytes with just the same status and total.
  @Test func aTagThatIsNotSaidAgainProvesNothing() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-999/1000", modified: "M2", length: 600), expect())
        == .remoteChanged)
    for modified in [nil, "M1"] {
      let answer = answer(206, "bytes 400-999/1000", modified: modified, length: 600)
      #expect(RangeCheck.judge(answer, expect()) == .tryPlainRange)
      #expect(
        RangeCheck.judge(
          answer, expect(overlap: 25, ifRange: nil, isPlain: true, asked: .from(375)))
          == .rejectRange(
            "the server sends bytes from 400 on, asked were those from 375 on"))
      #expect(RangeCheck.judge(answer, expect(isPlain: true)) == .remoteChanged)
    }
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 375-999/1000"),
        expect(overlap: 25, ifRange: nil, isPlain: true, asked: .from(375)))
        == .append(at: 375, count: 625, total: 1000, comparesOverlap: true))
  }

  @Test func anotherDateBesideTheSameTagAndTotalIsOfNoMatter() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-999/1000", etag: "\"a\"", modified: "M2"), expect())
        == .append(at: 400, count: 600, total: 1000, comparesOverlap: false))
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-899/*", etag: "\"a\"", modified: "M2"), expect())
        == .remoteChanged)
  }

  @Test func withoutARecordedTotalOnlyTheTagContinues() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-599/*", etag: "\"a\""), expect(total: nil))
        == .append(at: 400, count: 200, total: nil, comparesOverlap: false))
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-599/1000", etag: "\"a\""), expect(total: nil))
        == .append(at: 400, count: 200, total: 1000, comparesOverlap: false))
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 375-999/1000", modified: "M1"),
        expect(Self.dated, overlap: 25, ifRange: nil, total: nil, asked: .from(375)))
        == .restartFromZero)
    // Nothing to append, but enough to compare: that all is there can be proven.
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 375-399/400"),
        expect(overlap: 25, ifRange: nil, total: nil, isPlain: true, asked: .from(375)))
        == .append(at: 375, count: 25, total: 400, comparesOverlap: true))
  }

  @Test(arguments: [
    (206, "bytes 0-499/*", true), (206, nil, true), (206, "bytes 0-499/500", false),
    (200, nil, false), (200, "bytes 0-499/*", true),
  ])
  func aRangesEndIsTheResourcesOnlyWithATotal(_ status: Int, _ range: String?, _ isOpen: Bool) {
    #expect(answer(status, range).isRangeOfUnknownTotal == isOpen)
  }

  @Test func aWeakTagDisprovesOnly() {
    for tag in ["W/\"b\"", "\"b\""] {
      #expect(
        RangeCheck.judge(
          answer(206, "bytes 375-999/1000", etag: tag, modified: "M1"),
          expect(Self.weak, overlap: 25, ifRange: nil, asked: .from(375))) == .remoteChanged)
    }
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 400-999/1000", etag: "W/\"b\"", modified: "M1"), expect())
        == .remoteChanged)
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 375-999/1000", etag: "W/\"a\"", modified: "M1"),
        expect(Self.weak, overlap: 25, ifRange: nil, asked: .from(375)))
        == .append(at: 375, count: 625, total: 1000, comparesOverlap: true))
    #expect(ResumePolicy.plan(have: 4000, validators: Validators(weakETag: "W/\"a\"")) == nil)
  }

  @Test func anotherTagInA206IsAnotherVersion() {
    #expect(
      RangeCheck.judge(answer(206, "bytes 400-999/1000", etag: "\"b\"", modified: "M2"), expect())
        == .remoteChanged)
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 400-999/1000", etag: "W/\"b\"", modified: "M2"),
        expect(Self.weak, overlap: 25, ifRange: nil))
        == .remoteChanged)
  }

  @Test func anotherTagWithEqualDateAndTotalNeedsAComparison() {
    let response = answer(206, "bytes 400-999/1000", etag: "\"b\"", modified: "M1")
    #expect(RangeCheck.judge(response, expect()) == .tryPlainRange)
    #expect(
      RangeCheck.judge(response, expect(overlap: 25, ifRange: nil, isPlain: true))
        == .append(at: 400, count: 600, total: 1000, comparesOverlap: true))
  }

  @Test func aDateAloneNeedsAComparison() {
    let response = answer(206, "bytes 400-999/1000", modified: "M1")
    #expect(
      RangeCheck.judge(response, expect(Self.dated, overlap: 25, ifRange: "M1"))
        == .append(at: 400, count: 600, total: 1000, comparesOverlap: true))
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 400-999/1000", modified: "M2"),
        expect(Self.dated, overlap: 25, ifRange: nil)) == .remoteChanged)
  }

  @Test func anotherTotalIsAnotherVersionOrAContradiction() {
    #expect(
      RangeCheck.judge(
        answer(206, "bytes 400-1099/1100", etag: "\"b\"", modified: "M1"), expect())
        == .remoteChanged)
    let both = message(
      RangeCheck.judge(answer(206, "bytes 400-1099/1100", etag: "\"a\""), expect()))
    #expect(both?.contains("1000") == true && both?.contains("1100") == true)
  }

  @Test func lengthAndRangeMustAgree() {
    let both = message(
      RangeCheck.judge(answer(206, "bytes 400-999/1000", etag: "\"a\"", length: 1100), expect()))
    #expect(both?.contains("600") == true && both?.contains("1100") == true)
  }

  @Test func aPartForTheWholeIsRejected() {
    let fresh = expect(Validators(), ifRange: nil, total: nil, asked: nil)
    #expect(isRejected(RangeCheck.judge(answer(206, "bytes 0-499/1000"), fresh)))
    #expect(
      RangeCheck.judge(answer(206, "bytes 0-999/1000"), fresh)
        == .append(at: 0, count: 1000, total: 1000, comparesOverlap: false))
  }

  @Test func theFirstRangeOfAFreshStartNeedsNoValidator() {
    let fresh = expect(Validators(), ifRange: nil, total: nil, asked: .from(0))
    #expect(
      RangeCheck.judge(answer(206, "bytes 0-499/1000"), fresh)
        == .append(at: 0, count: 500, total: 1000, comparesOverlap: false))
    #expect(
      RangeCheck.judge(answer(206, "bytes 0-499/*"), fresh)
        == .append(at: 0, count: 500, total: nil, comparesOverlap: false))
  }

  // MARK: - 200

  @Test func aFreshStartTakesTheWhole() {
    #expect(
      RangeCheck.judge(
        answer(200, length: 1000), expect(Validators(), ifRange: nil, total: nil, asked: nil))
        == .append(at: 0, count: 1000, total: 1000, comparesOverlap: false))
  }

  @Test func aSliceUnder200IsTakenForWhatItSays() {
    #expect(
      RangeCheck.judge(answer(200, "bytes 400-999/1000", etag: "\"a\"", length: 600), expect())
        == .append(at: 400, count: 600, total: 1000, comparesOverlap: false))
    #expect(
      isRejected(RangeCheck.judge(answer(200, "bytes 300-999/1000", etag: "\"a\""), expect())))
  }

  @Test func theWholeToAConditionIsAskedAboutOnce() {
    let same = answer(200, etag: "\"a\"", length: 1000)
    #expect(RangeCheck.judge(same, expect()) == .tryPlainRange)
    #expect(
      RangeCheck.judge(same, expect(overlap: 25, ifRange: nil, isPlain: true))
        == .restartFromZero)
    let rotated = answer(200, etag: "\"b\"", modified: "M1", length: 1000)
    #expect(RangeCheck.judge(rotated, expect()) == .tryPlainRange)
  }

  @Test func aServerThatSaysItHasNoRangesIsBelieved() {
    #expect(
      RangeCheck.judge(answer(200, etag: "\"a\"", length: 1000, ranges: "none"), expect())
        == .restartFromZero)
  }

  @Test func theWholeOfAnotherVersionIsUsed() {
    let changed = RangeDecision.remoteChanged
    #expect(
      RangeCheck.judge(answer(200, etag: "\"b\"", modified: "M2", length: 1000), expect())
        == changed)
    #expect(
      RangeCheck.judge(answer(200, etag: "\"b\"", modified: "M1", length: 900), expect()) == changed
    )
    #expect(
      RangeCheck.judge(answer(200, modified: "M2", length: 1000), expect(Self.dated, ifRange: "M1"))
        == changed)
  }

  @Test func theWholeWithAnotherSizeOfOneVersionIsAContradiction() {
    #expect(message(RangeCheck.judge(answer(200, etag: "\"a\"", length: 900), expect())) != nil)
  }

  // MARK: - 416

  @Test func allBytesThereIsComplete() {
    let done = expect(asked: .from(1000))
    #expect(RangeCheck.judge(answer(416, "bytes */1000"), done) == .alreadyComplete)
    #expect(RangeCheck.judge(answer(416), done) == .alreadyComplete)
    #expect(
      RangeCheck.judge(answer(416, "bytes */1000"), expect(overlap: 60, asked: .from(940)))
        == .alreadyComplete)
  }

  @Test func a416ForMissingBytesIsNoCompletion() {
    #expect(
      RangeCheck.judge(answer(416, "bytes */1000"), expect())
        == .restartFromZero)
    #expect(RangeCheck.judge(answer(416), expect()) == .restartFromZero)
    #expect(
      RangeCheck.judge(answer(416, "bytes */399", etag: "\"a\""), expect(total: nil))
        == .restartFromZero)
    #expect(RangeCheck.judge(answer(416), expect(total: nil)) == .restartFromZero)
  }

  @Test func a416TellsTheSizeOfAResourceThatHadNone() {
    #expect(
      RangeCheck.judge(answer(416, "bytes */400", etag: "\"a\""), expect(total: nil))
        == .alreadyComplete)
    #expect(
      RangeCheck.judge(answer(416, "bytes */400"), expect(total: nil)) == .tryPlainRange)
    #expect(
      RangeCheck.judge(answer(416, "bytes */400"), expect(total: nil, isPlain: true))
        == .restartFromZero)
  }

  @Test func a416OfAnotherVersionCompletesNothing() {
    for (tag, modified) in [("\"b\"", nil), (nil, "M2"), ("\"b\"", "M2"), ("W/\"b\"", "M1")] {
      for range in ["bytes */1000", nil] {
        #expect(
          RangeCheck.judge(
            answer(416, range, etag: tag, modified: modified), expect(asked: .from(1000)))
            == .remoteChanged)
      }
    }
    let renamed = answer(416, "bytes */1000", etag: "\"b\"", modified: "M1")
    #expect(RangeCheck.judge(renamed, expect(asked: .from(1000))) == .tryPlainRange)
    #expect(RangeCheck.judge(renamed, expect()) == .remoteChanged)
  }

  @Test func anotherSizeIn416IsAnotherVersion() {
    #expect(
      RangeCheck.judge(answer(416, "bytes */900"), expect(asked: .from(1000)))
        == .remoteChanged)
  }

  @Test func twoSizesOfOneRunAreAContradictionWithBothNumbers() {
    for response in [answer(416, "bytes */141246"), answer(416, "bytes */141246", etag: "\"a\"")] {
      let both = message(
        RangeCheck.judge(
          response, expect(total: 141_746, isTotalOfThisRun: true, asked: .from(141_246))))
      #expect(both?.contains("141746") == true && both?.contains("141246") == true)
    }
    #expect(
      RangeCheck.judge(
        answer(416, "bytes */900", etag: "\"b\""), expect(isTotalOfThisRun: true, asked: .from(950))
      )
        == .remoteChanged)
  }

  @Test(arguments: [404, 403, 503, 204, 304])
  func otherStatusesFail(_ status: Int) {
    #expect(RangeCheck.judge(answer(status), expect()) == .failed(StatusPolicy.error(status)))
  }

  // MARK: - Asking

  @Test func aStrongTagResumesAtTheFirstMissingByte() {
    #expect(
      ResumePolicy.plan(have: 4000, validators: Self.strong)
        == ResumePlan(start: 4000, overlap: 0, ifRange: "\"a\""))
    #expect(
      ResumePolicy.plan(have: 4000, validators: Self.strong, isTrusted: false)
        == ResumePlan(start: 3750, overlap: 250, ifRange: "\"a\""))
    #expect(
      ResumePolicy.plan(have: 4000, validators: Self.strong, isPlain: true)
        == ResumePlan(start: 3750, overlap: 250, ifRange: nil))
  }

  @Test func weakerProofsCompareASixteenthAtMost64KiB() {
    #expect(ResumePolicy.plan(have: 1 << 30, validators: Self.dated)?.overlap == 65536)
    #expect(ResumePolicy.plan(have: 4000, validators: Self.weak)?.overlap == 250)
    #expect(ResumePolicy.plan(have: 15, validators: Self.dated) == nil)
    #expect(ResumePolicy.plan(have: 4000, validators: Validators(date: "D")) == nil)
    #expect(ResumePolicy.plan(have: 0, validators: Self.strong) == nil)
  }

  @Test func conditionsAreStrongOrNotSent() {
    let old = "Sun, 06 Nov 1994 08:49:37 GMT"
    let new = "Sun, 06 Nov 1994 08:49:38 GMT"
    #expect(
      ResumePolicy.ifRange(for: Validators(strongETag: "\"a\"", lastModified: old)) == "\"a\"")
    #expect(ResumePolicy.ifRange(for: Validators(lastModified: old, date: new)) == old)
    #expect(ResumePolicy.ifRange(for: Validators(lastModified: old, date: old)) == nil)
    #expect(ResumePolicy.ifRange(for: Validators(lastModified: old)) == nil)
    #expect(ResumePolicy.ifRange(for: Validators(lastModified: "yesterday-ish", date: new)) == nil)
    #expect(
      ResumePolicy.ifRange(for: Validators(weakETag: "W/\"a\"", lastModified: old, date: new))
        == nil)
  }

  /// Bytes that are only looked at: what speaks for one version will do, what speaks against it won't.
  @Test func withoutNeedOfProofAnEqualTotalIsEnough() {
    for validators in [Self.dated, Self.weak, Validators()] {
      var expected = expect(validators, ifRange: nil)
      expected.needsProof = false
      let same = answer(
        206, "bytes 400-999/1000", etag: validators.weakETag, modified: validators.lastModified)
      #expect(
        RangeCheck.judge(same, expected)
          == .append(at: 400, count: 600, total: 1000, comparesOverlap: false))
      #expect(isRejected(RangeCheck.judge(answer(206, "bytes 400-999/*"), expected)))
      #expect(
        RangeCheck.judge(answer(206, "bytes 400-1000/1001"), expected) == .remoteChanged)
      guard validators.lastModified != nil else { continue }
      let other = answer(206, "bytes 400-999/1000", modified: "M2")
      #expect(RangeCheck.judge(other, expected) == .remoteChanged)
    }
  }
}
