// What a walk through a container's structure says about its end, and the words for it.

package import FetchCore

/// What a container's structure says about where the source ended.
package enum StructureVerdict: Sendable, Hashable {
  /// The structure declares where the media ends, and all of it is there.
  case proven
  /// Nothing contradicts the structure, but the format (or this file) doesn't say where it ends.
  case noEndOfItsOwn
  /// The source is cut or contradicts itself; the error's code is `damaged`.
  case damaged(FetchError)
}

extension StructureVerdict {
  /// Something needs more bytes than the source has.
  ///
  /// - Parameters:
  ///   - what: such as "box mdat".
  ///   - needs: bytes from its start to its declared end.
  ///   - has: bytes from its start to the source's end.
  static func cut(_ what: String, needs: Int64, has: Int64) -> StructureVerdict {
    .damaged(
      FetchError(
        .damaged, "cut: \(what) needs \(needs) bytes, \(has) are there",
        reason: "the container declares more than the source holds", recovery: recovery))
  }

  /// The source ends before something that has to be there.
  static func incomplete(_ text: String, reason: String? = nil) -> StructureVerdict {
    .damaged(FetchError(.damaged, text, reason: reason, recovery: recovery))
  }

  /// How many boxes or elements a walk follows before it gives up: more than one fragment a frame
  /// in a day, and a few seconds of work.
  static let longestWalk = 1 << 24

  static let endlessWalk = incomplete("damaged: more than \(longestWalk) boxes in a row")

  private static let recovery = "get a whole copy; this one is incomplete or damaged at its source"

  var isDamaged: Bool {
    if case .damaged = self { true } else { false }
  }
}
