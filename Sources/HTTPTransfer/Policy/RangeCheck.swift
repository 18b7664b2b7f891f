// What a response to a request for a range is worth. libcurl checks next to nothing here (a 206 with
// another start, another total or no Content-Range is CURLE_OK), so it is checked here, before a byte
// is written. Pure.

package import FetchCore

/// What was asked, and what is known of the resource.
package struct RangeExpectation: Sendable, Hashable {
  /// nil where the whole resource was asked for, without a Range field.
  package var asked: RequestedRange?
  /// The If-Range that was sent.
  package var ifRange: String?
  /// How many bytes at the start of the answer will be compared with those that are there.
  package var overlap: Int64
  /// The size of the resource, as recorded.
  package var total: Int64?
  /// Whether the server itself said `total` during this run.
  package var isTotalOfThisRun: Bool
  /// The version that is there.
  package var validators: Validators
  /// Whether this request follows a `tryPlainRange`.
  package var isPlain: Bool
  /// Whether only proof will do, since the bytes are put together with others to be kept.
  ///
  /// Where they are only looked at, it is enough that total and validators don't speak against one
  /// version.
  package var needsProof = true
  /// The version that is wanted no more of than that it is still the resource's.
  package var refreshed: KnownVersion?
  /// Whether bytes behind the range are there, with which its own must fit.
  package var hasOthers = false

  package init(
    asked: RequestedRange?, ifRange: String? = nil, overlap: Int64 = 0, total: Int64? = nil,
    isTotalOfThisRun: Bool = false, validators: Validators = Validators(), isPlain: Bool = false
  ) {
    self.asked = asked
    self.ifRange = ifRange
    self.overlap = overlap
    self.total = total
    self.isTotalOfThisRun = isTotalOfThisRun
    self.validators = validators
    self.isPlain = isPlain
  }

  /// The first byte that isn't there.
  var have: Int64 { (asked?.first ?? 0) + overlap }

  /// Whether nothing is there that could belong to another version.
  var isFresh: Bool { have == 0 && !hasOthers }
}

/// What to do with a response.
package enum RangeDecision: Sendable, Hashable {
  /// Write the body at this offset. `count` bytes were declared. Where `comparesOverlap`, the first
  /// `overlap` bytes must equal those that are there, else the remote has changed.
  case append(at: Int64, count: Int64?, total: Int64?, comparesOverlap: Bool)
  /// The version that was to be refreshed is still the resource's.
  case notModified
  /// All bytes are there.
  case alreadyComplete
  /// Ask once more, with `ResumePolicy.plan(… isPlain: true)`.
  case tryPlainRange
  /// What is there can't be continued.
  case restartFromZero
  /// What is there belongs to another version.
  case remoteChanged
  /// The server's statements about one version can't both be true.
  case contradiction(FetchError)
  /// Not what was asked for, and nothing of it may be written; once more, then from zero.
  case rejectRange(String)
  case failed(FetchError)
}

package enum RangeCheck {
  package static func judge(
    _ response: HTTPResponse, _ expected: RangeExpectation
  ) -> RangeDecision {
    if expected.asked == nil, expected.refreshed?.isCurrent(response) == true {
      return .notModified
    }
    switch response.status {
    case 206:
      return partial(response, expected)
    case 200, 203:
      guard case .bytes(let first, let last, let total) = response.contentRange else {
        return whole(response, expected)
      }
      // Some caches answer with the range, but under the whole's status.
      if first == 0, total.map({ last + 1 == $0 }) ?? true, (expected.asked?.first ?? 0) != 0 {
        return whole(response, expected)
      }
      return partial(response, expected)
    case 416:
      return unsatisfied(response, expected)
    default:
      return .failed(StatusPolicy.error(response.status))
    }
  }

  // MARK: - 206

  private static func partial(
    _ response: HTTPResponse, _ expected: RangeExpectation
  ) -> RangeDecision {
    let type = URLText.lowercased(response.contentType ?? "")
    if response.status == 206, type.hasPrefix("multipart/byteranges") {
      return .rejectRange("the server sends several ranges at once")
    }
    guard let range = response.contentRange else {
      return .rejectRange("the server sends a range without saying which (no Content-Range)")
    }
    guard case .bytes(let first, let last, let total) = range else {
      return .rejectRange("the server sends a range with an unreadable Content-Range")
    }
    let start = expected.asked?.first ?? 0
    guard first == start else {
      return .rejectRange(
        "the server sends bytes from \(first) on, asked were those from \(start) on")
    }
    if let limit = expected.asked?.last, last > limit {
      return .rejectRange("the server sends bytes up to \(last), asked were those up to \(limit)")
    }
    let count = last - first + 1
    if case .length(let length) = response.framing, length != count {
      return .contradiction(
        FetchError(
          .damaged,
          "contradictory lengths: Content-Range says \(count) bytes, Content-Length "
            + "\(length)"))
    }
    if expected.asked == nil, total.map({ $0 != count }) ?? true {
      return .rejectRange("the server sends a part where the whole was asked for")
    }
    if expected.isFresh {
      return .append(at: 0, count: count, total: total, comparesOverlap: false)
    }
    // A range that reaches the recorded end, or beyond it, tells as much as a total.
    let size = total ?? expected.total.flatMap { last + 1 >= $0 ? last + 1 : nil }
    if let known = expected.total, let size, size != known {
      return sizeChanged(from: known, to: size, response, expected)
    }
    switch compare(response.validators, expected, total: size) {
    case .different:
      return .remoteChanged
    case .same:
      return .append(
        at: first, count: count, total: size ?? expected.total,
        comparesOverlap: expected.overlap > 0)
    case .undecided:
      guard let total else {
        return .rejectRange("the server sends a range without a total or a validator")
      }
      // A total that nobody said before proves nothing of the bytes that it would add.
      guard total == expected.total ?? expected.have else { return .restartFromZero }
      if !expected.needsProof {
        return .append(at: first, count: count, total: total, comparesOverlap: false)
      }
      guard expected.overlap > 0 else {
        return expected.isPlain ? .remoteChanged : .tryPlainRange
      }
      return .append(at: first, count: count, total: total, comparesOverlap: true)
    }
  }

  // MARK: - 200

  private static func whole(
    _ response: HTTPResponse, _ expected: RangeExpectation
  ) -> RangeDecision {
    let size = response.contentLength
    if expected.isFresh {
      return .append(at: 0, count: size, total: size, comparesOverlap: false)
    }
    if let known = expected.total, let size, size != known {
      return sizeChanged(from: known, to: size, response, expected)
    }
    switch compare(response.validators, expected, total: size) {
    case .different:
      return .remoteChanged
    case .same where expected.have == 0:
      // All of it, from where it was wanted.
      return .append(
        at: 0, count: size, total: size ?? expected.total, comparesOverlap: false)
    case .same, .undecided:
      let mayHonour = response.acceptsRanges != false && !expected.isPlain
      // To a condition, 200 means that it failed; but servers of one pool name one version
      // differently, and some don't know If-Range.
      if expected.ifRange != nil, mayHonour,
        expected.validators.strongETag != nil || expected.validators.lastModified != nil
      {
        return .tryPlainRange
      }
      return .restartFromZero
    }
  }

  // MARK: - 416

  private static func unsatisfied(
    _ response: HTTPResponse, _ expected: RangeExpectation
  ) -> RangeDecision {
    guard expected.asked != nil else { return .failed(StatusPolicy.error(416)) }
    let size: Int64? =
      if case .unsatisfied(let total) = response.contentRange { total } else { nil }
    if let known = expected.total, let size, size != known {
      return sizeChanged(from: known, to: size, response, expected)
    }
    // A bare 416 leaves the recorded size to decide.
    let total = size ?? expected.total
    let match = compare(response.validators, expected, total: total)
    if match == .different { return .remoteChanged }
    guard let total else { return .restartFromZero }
    if let ours = expected.validators.strongETag, let theirs = response.validators.strongETag,
      ours != theirs
    {
      // Servers of one pool may name one version differently: then the bytes can tell.
      return expected.isPlain || expected.have != total ? .remoteChanged : .tryPlainRange
    }
    if expected.total == nil {
      // Only now the size is known. That it is this version's is proven by its tag, or by an answer
      // with some bytes to compare.
      guard expected.have == total else { return .restartFromZero }
      if match == .same { return .alreadyComplete }
      return expected.isPlain ? .restartFromZero : .tryPlainRange
    }
    return expected.have >= total ? .alreadyComplete : .restartFromZero
  }

  // MARK: - Versions

  private enum Match { case same, different, undecided }

  /// Whether the response is of the recorded version; `undecided` asks for a comparison of bytes.
  ///
  /// Only the strong tag, said again, proves it, together with the total where that is known. That a
  /// condition was sent proves nothing: servers that don't know If-Range send the range all the same.
  private static func compare(
    _ found: Validators, _ expected: RangeExpectation, total: Int64?
  ) -> Match {
    let known = expected.validators
    let repeatsTag = known.strongETag != nil && known.strongETag == found.strongETag
    let datesDiffer =
      known.lastModified != nil && found.lastModified != nil
      && known.lastModified != found.lastModified
    if repeatsTag {
      // A range may leave its total open (`*`), but then nothing else may speak against it.
      let isOpen = total == nil && !datesDiffer
      if expected.total == nil || expected.total == total || isOpen { return .same }
    }
    if datesDiffer { return .different }
    if let ours = known.strongETag, let theirs = found.strongETag, ours != theirs {
      return agreesOtherwise(found, expected, total: total) ? .undecided : .different
    }
    // Weak tags can't prove that two versions are the same, but that they aren't (RFC 9110 8.8.3.2).
    if let ours = known.opaqueTag, let theirs = found.opaqueTag, ours != theirs {
      return .different
    }
    return .undecided
  }

  /// Whether Last-Modified and total say the same, whatever the tags say.
  private static func agreesOtherwise(
    _ found: Validators, _ expected: RangeExpectation, total: Int64?
  ) -> Bool {
    guard let ours = expected.validators.lastModified, ours == found.lastModified,
      let known = expected.total, known == total
    else { return false }
    return true
  }

  /// Another size: another version, unless the same server names the same version, or named that
  /// size in this very run without naming another version since.
  private static func sizeChanged(
    from known: Int64, to size: Int64, _ response: HTTPResponse, _ expected: RangeExpectation
  ) -> RangeDecision {
    let ours = expected.validators
    let theirs = response.validators
    let isSame = ours.strongETag != nil && ours.strongETag == theirs.strongETag
    let namesNoOther =
      theirs.isEmpty && theirs.weakETag == nil
      || ours.strongETag == theirs.strongETag && ours.weakETag == theirs.weakETag
        && ours.lastModified == theirs.lastModified
    guard isSame || expected.isTotalOfThisRun && namesNoOther else {
      return .remoteChanged
    }
    return .contradiction(
      FetchError(
        .damaged, "contradictory lengths: the server first said \(known) bytes, now \(size)",
        recovery: "the file can't be told to be whole: report it to the server's owner"))
  }
}
