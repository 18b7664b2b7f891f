package import FetchCore
package import VideoArchive

/// What a job has to do with an archive.
package struct JobArchive: Sendable {
  package var archive: Archive
  /// Stands for the source in place of its normalised URL, such as what lasts of a signed one.
  package var key: String?
  /// Asks the server whether what is done is still up to date, before it counts as done.
  package var refreshes = false

  package init(_ archive: Archive, key: String? = nil, refreshes: Bool = false) {
    self.archive = archive
    self.key = key
    self.refreshes = refreshes
  }

  /// Closes the archive for good; see `Archive.close()`.
  package func close() { archive.close() }

  /// Opens the archive at a path, which is made where there is none.
  package init(path: String) throws(FetchError) { self.init(try Archive(path)) }
}
