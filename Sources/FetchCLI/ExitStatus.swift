// The exit status of a run, from the outcomes of its items. Pure.

package import FetchCore
package import VidFetchKit

/// Exit statuses of a batch.
package enum ExitStatus {
  /// The status for these outcomes of all items, skipped ones as `ok`.
  ///
  /// 0 where nothing failed; one and the same code of all failures keeps its number; otherwise the
  /// smallest of 40–42 (mend the machine), else the smallest of 10–11 (run it again), else 50 (look
  /// at the list).
  package static func combined(_ outcomes: some Sequence<OutcomeCode>) -> Int32 {
    let failures = Set(outcomes.map(\.exitStatus)).subtracting([OutcomeCode.ok.exitStatus])
    if failures.count <= 1 { return failures.first ?? OutcomeCode.ok.exitStatus }
    return failures.filter { (40...42).contains($0) }.min()
      ?? failures.filter { (10...11).contains($0) }.min()
      ?? OutcomeCode.someFailed.exitStatus
  }

  /// What a code means, for the man page and the help.
  package static func meaning(_ code: OutcomeCode) -> String {
    switch code {
    case .ok: "complete and verified; what was there already counts"
    case .internal: "a bug in vidfetch, or nothing below fits"
    case .usage: "wrong options; nothing was started"
    case .network: "resolve, connect, reset, stall or cut, after all retries"
    case .busy: "the server is overloaded (408, 425, 429, 5xx), after all retries"
    case .notFound: "404, 410, or a local file that is missing"
    case .denied: "401, 403 or 407"
    case .refused: "another 4xx, a redirect loop, or a scheme, address or size not allowed"
    case .tls: "certificate, host name or handshake"
    case .notMedia: "a web page, JSON, an empty body or an unknown container"
    case .damaged: "cut or corrupt, contradictory lengths, or failed verification"
    case .cannotPassthrough: "a codec that the container can't hold"
    case .encrypted: "DRM, or a key that is not to be had"
    case .diskFull: "no space left, or too little found beforehand"
    case .output: "the target exists, is in use, can't be written, or its path is bad"
    case .localIO: "an error of the disk, or other local trouble"
    case .someFailed: "several items failed for different reasons, none worth a re-run"
    case .hookFailed: "the file is in place, but the command run on it failed"
    case .signal: "128 plus the signal's number: cleaned up, then the signal raised again"
    }
  }
}

/// What a batch came to.
package struct BatchSummary: Sendable, Hashable {
  /// All items that had their turn.
  package var items = 0
  package var ok = 0
  package var skipped = 0
  package var failed: [OutcomeCode: Int] = [:]
  /// Of all files that are in place.
  package var bytes: Int64 = 0
  package var seconds = 0.0

  package init() {}

  /// Counts one item.
  package mutating func count(_ result: borrowing JobResult) {
    if result.skipped != nil, result.code == .ok {
      skipped += 1
    } else {
      count(result.code)
      if result.code == .ok { bytes += result.bytes ?? 0 }
    }
  }

  /// Counts one item that made no file.
  package mutating func count(_ code: OutcomeCode) {
    if code == .ok { ok += 1 } else { failed[code, default: 0] += 1 }
  }
}
