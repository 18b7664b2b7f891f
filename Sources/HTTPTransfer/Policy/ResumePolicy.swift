// How a resume is asked for: from where, with which condition, and how much of what is there is asked
// for again to be compared. Pure.

import FetchCore

/// A resume that can be asked for.
package struct ResumePlan: Sendable, Hashable {
  /// Where the request begins: `overlap` bytes before the first missing one.
  package var start: Int64
  /// How many bytes from `start` on have to be compared with those that are there.
  package var overlap: Int64
  /// The condition to send.
  package var ifRange: String?

  package init(start: Int64, overlap: Int64, ifRange: String?) {
    self.start = start
    self.overlap = overlap
    self.ifRange = ifRange
  }
}

package enum ResumePolicy {
  /// The value of If-Range that these validators allow.
  ///
  /// A strong tag, else a date that is strong by RFC 9110 8.8.2.2: a second older than the response
  /// that carried it. Never a weak tag (RFC 9110 13.1.5).
  package static func ifRange(for validators: Validators) -> String? {
    if let tag = validators.strongETag { return tag }
    if validators.weakETag != nil { return nil }
    // The two dates are compared with each other, so that the present is of no matter.
    guard let text = validators.lastModified, let modified = HTTPDate.seconds(text, now: 0),
      let date = validators.date.flatMap({ HTTPDate.seconds($0, now: 0) }), modified < date
    else { return nil }
    return text
  }

  /// How many of `have` bytes are worth comparing: a sixteenth, at most 64 KiB.
  package static func overlap(have: Int64) -> Int64 { min(have / 16, 65536) }

  /// How to continue after `have` bytes; nil where there is nothing to go by, so that only a fresh
  /// start is safe.
  ///
  /// - Parameters:
  ///   - isTrusted: whether what is there is known to be as it was written; false for a record from
  ///     another boot.
  ///   - isPlain: asks without a condition, after `RangeDecision.tryPlainRange`.
  package static func plan(
    have: Int64, validators: Validators, isTrusted: Bool = true, isPlain: Bool = false
  ) -> ResumePlan? {
    guard have > 0, !validators.isEmpty else { return nil }
    let overlap = overlap(have: have)
    if validators.strongETag != nil, isTrusted, !isPlain {
      return ResumePlan(start: have, overlap: 0, ifRange: ifRange(for: validators))
    }
    guard overlap > 0 else { return nil }
    return ResumePlan(
      start: have - overlap, overlap: overlap, ifRange: isPlain ? nil : ifRange(for: validators))
  }
}
