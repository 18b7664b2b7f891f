import FetchCore
import PartialStorage

/// What is known of a resource when its first response has come, and whether its body is wanted.
struct Admission: Sendable {
  enum Verdict: Sendable {
    case welcome
    /// The target is there and wanted as it is.
    case exists(path: String)
  }

  /// Names for the result, in order of preference.
  let proposals: [String?]
  /// The name that the source came under.
  var sourceName: String { proposals.lazy.compactMap { $0 }.first ?? "" }
  /// Bytes that are still to come; nil where unknown.
  let missing: Int64?
  let total: Int64?

  /// Asks the target's folder.
  ///
  /// On the transfer thread: a few quick system calls.
  ///
  /// - Throws: `.output` where the name is taken, `.diskFull` where there is no room.
  func check(_ target: JobTarget) throws(FetchError) -> Verdict {
    let name = target.name(from: proposals)
    if try target.isSatisfied(by: name) { return .exists(path: target.path(of: name)) }
    try target.checkSourceName(for: name, source: sourceName)
    if let missing, let total {
      let demand =
        target.savesDisk
        ? DiskDemand.givingBack(missing: missing, output: total)
        : DiskDemand(missing: missing, output: total)
      try demand.check(target.folder)
    }
    return .welcome
  }
}
