// Whether there is room for a job, asked before it fills the disk. Pure.

package import FetchCore

/// The space that a job still needs in one folder.
package struct DiskDemand: Sendable, Hashable {
  /// Bytes of the source that are still to be stored; 0 for a source that is read in place.
  package var missing: Int64
  /// The size that the output will have, as far as it is known; a passthrough is about its source.
  package var output: Int64

  package init(missing: Int64, output: Int64) {
    self.missing = missing
    self.output = output
  }

  /// The space where consumed parts of the source give theirs back: a tenth of it stands at once, and
  /// what the export may be behind.
  package static func givingBack(missing: Int64, output: Int64) -> DiskDemand {
    DiskDemand(missing: min(missing, output / 10 + (32 << 20)), output: output)
  }

  /// What file systems and the index need beyond the media.
  static let margin: Int64 = 1 << 20

  /// Fails with `.diskFull` where the folder's file system has no room for it.
  package func check(_ folder: Folder) throws(FetchError) {
    let available: Int64
    do throws(SystemError) {
      available = try folder.availableBytes()
    } catch {
      throw error.fetchError("asking for the free space of \(folder.path)")
    }
    try check(available: available, folder: folder.path)
  }

  /// Bytes that must be free; `Int64.max` where the sum is none.
  package var needed: Int64 {
    let (media, overflow) = missing.addingReportingOverflow(output)
    let (sum, overflowsToo) = media.addingReportingOverflow(Self.margin)
    return overflow || overflowsToo ? .max : sum
  }

  /// Fails with `.diskFull` where `available` bytes will not do.
  package func check(available: Int64, folder: String) throws(FetchError) {
    let needed = needed
    guard needed > available || needed == .max else { return }
    throw FetchError(
      .diskFull, "not enough space in \(folder): \(needed) bytes needed, \(available) free",
      reason: "the download and the result must both fit before the download is removed",
      recovery: "free some space, or use -o or -d with another file system")
  }
}
