// What one job is to do, as values. Nothing here has been checked against the network or the disk.

package import FetchCore
import HTTPTransfer

/// One item: a source and where its result goes.
package struct JobRequest: Sendable {
  /// Where the result goes.
  package enum Destination: Sendable, Hashable {
    /// The private folder under the temp directory.
    case temporary(Naming)
    /// Exactly this path; its folder must exist. The name is taken as it is typed.
    case file(String)
    /// This folder, made if missing.
    case directory(String, Naming = .proposed)

    /// The private folder, with a name made of `stem`, else of what is proposed.
    package static func temporary(stem: String?) -> Destination {
      .temporary(stem.map { .stem($0) } ?? .proposed)
    }

    /// This folder, with a name made of `stem`, else of what is proposed.
    package static func directory(_ path: String, stem: String?) -> Destination {
      .directory(path, stem.map { .stem($0) } ?? .proposed)
    }
  }

  /// What gives a result its name in a folder.
  package enum Naming: Sendable, Hashable {
    /// The server's proposal, else the source.
    case proposed
    /// This text, without whatever extension it carries.
    case stem(String)
    /// Exactly this name, extension included: one component, safe already.
    case name(String)
    /// A template, and the item's place in its list, from 1.
    case template(NameTemplate, index: Int)
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
  package var destination = Destination.temporary(.proposed)
  package var format = ContainerFormat.mp4
  package var existingTarget = ExistingTarget.fail
  /// Keeps the source beside the result as `NAME.source.EXT`.
  package var keepsSource = false
  /// Gives room of the part back while it is exported; not with `keepsSource`.
  package var savesDisk = false
  /// What the source's bytes must hash to.
  package var checksum: Checksum?
  /// What is done already, and is to know of this; nil for none.
  package var archive: JobArchive?
  /// Takes the result's SHA-256, as an archive does anyway.
  package var hashesResult = false
  package var export = ExportSettings()
  package var transfer = TransferSettings()

  /// Whether what is sent and received is told by `.log` events; it costs some time for each request.
  package var logsTransfer = true
  /// What the jobs of one batch keep together; nil for a job of its own.
  package var limits: SharedLimits?

  package init(source: String) { self.source = source }

  /// The host that the source is at; empty for a local one.
  package var host: String { SourceIdentity(source).host }

  /// The last component of the source's path, decoded.
  package var sourceName: String {
    switch try? SourceAddress(source) {
    case .file(let path): String(path.split(separator: "/").last ?? "")
    case .url(let text): (try? HTTPURL(text))?.lastPathComponent ?? ""
    case nil: ""
    }
  }

  /// The source as it may be shown: without user name, password and what looks secret in its query.
  package var redactedSource: String { HTTPFetch.redacted(source) }
}
