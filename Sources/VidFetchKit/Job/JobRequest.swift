// What one job is to do, as values. Nothing here has been checked against the network or the disk.

package import FetchCore

/// One item: a source and where its result goes.
package struct JobRequest: Sendable {
  /// Where the result goes.
  package enum Destination: Sendable, Hashable {
    /// The private folder under the temp directory; `stem` names the file, else the source does.
    case temporary(stem: String?)
    /// Exactly this path; its folder must exist. The name is taken as it is typed.
    case file(String)
    /// This folder, made if missing, with a name of `stem`, else from the server or the URL.
    case directory(String, stem: String? = nil)
  }

  /// What happens where the target exists.
  package enum ExistingTarget: Sendable, Hashable {
    case fail
    case overwrite
    /// Counts as done: exit 0, `skipped: exists`.
    case skip
  }

  /// As typed: `scheme://…` is a URL, all else a local path.
  package var source: String
  package var destination = Destination.temporary(stem: nil)
  package var format = ContainerFormat.mp4
  package var existingTarget = ExistingTarget.fail
  /// Keeps the source beside the result as `NAME.source.EXT`.
  package var keepsSource = false
  /// Gives room of the part back while it is exported; not with `keepsSource`.
  package var savesDisk = false
  package var export = ExportSettings()
  package var transfer = TransferSettings()

  package init(source: String) { self.source = source }

  /// The source as it may be shown: without user name, password and what looks secret in its query.
  package var redactedSource: String { HTTPFetch.redacted(source) }
}
