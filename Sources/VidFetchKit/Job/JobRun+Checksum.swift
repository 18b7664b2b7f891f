// The checksum of a source, taken while it comes: the bytes before the first gap, some more at each
// tick, and what is left before the result gets its name.

import FetchCore
import PartialStorage

extension JobRun {
  /// The most that is read at once, so that a job stays quick to answer.
  private static let checksumStep: Int64 = 32 << 20

  /// Makes ready for the checksum that is asked for.
  func beginChecksum() throws(FetchError) {
    guard let checksum = request.checksum else { return }
    digest = try SourceDigest(checksum.algorithm)
  }

  /// Whether bytes wait that could be taken in at once.
  var checksumLags: Bool {
    guard let digest else { return false }
    return digest.offset < checkable
  }

  func advanceChecksum() {
    guard checksumLags, let digest else { return }
    do throws(FetchError) {
      _ = try advanceChecksum(to: min(checkable, digest.offset + Self.checksumStep))
    } catch {
      perform(machine.handle(.storageFailed(error)))
    }
  }

  /// Takes in what lies before `end`, since it is about to go; false where some of that isn't there
  /// yet.
  func advanceChecksum(to end: Int64) throws(FetchError) -> Bool {
    guard let digest else { return true }
    guard end <= checkable else { return false }
    switch source {
    case .remote(_, let part): try digest.advance(to: end, reading: part.descriptor)
    case .local(let file, _, _): try digest.advance(to: end, reading: file)
    case nil: break
    }
    return true
  }

  /// The bytes belong to another version; those that come are taken in from the first on.
  func resetChecksum() throws(FetchError) { try digest?.reset() }

  /// Takes in the rest and compares.
  ///
  /// - Throws: `.damaged` where the source hashes to something else.
  func verifyChecksum() throws(FetchError) {
    guard let checksum = request.checksum, let digest else { return }
    while checksumLags {
      if cancellation.isCancelled { throw .cancelled }
      _ = try advanceChecksum(to: min(checkable, digest.offset + Self.checksumStep))
    }
    guard let total, digest.offset == total else {
      throw FetchError(.internal, "the checksum was not taken to the end")
    }
    let found = try digest.finish()
    guard found != checksum.digest else { return }
    throw FetchError(
      .damaged, "the source's \(checksum.algorithm.rawValue) is \(found), not \(checksum.digest)",
      recovery: "check the checksum against its publisher's, or fetch from another place")
  }

  /// Where the first missing byte is.
  private var checkable: Int64 {
    switch source {
    case .remote(_, let part): part.ranges.firstMissing()
    case .local(_, let status, _): status.size
    case nil: 0
    }
  }
}
