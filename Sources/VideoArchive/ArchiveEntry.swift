/// What is remembered of one finished video.
///
/// A value; its texts carry no secret.
package struct ArchiveEntry: Sendable, Hashable {
  /// The 16 hex digits that people name it by.
  package var id: String
  /// Which source it is of; with `format` the identity of an entry.
  ///
  /// Whatever text the caller makes, as long as it makes the same one again.
  package var key: String
  /// `mp4` or `mov`.
  package var format: String
  /// The source, secrets removed.
  package var url: String
  package var title: String
  /// Absolute.
  package var path: String
  /// The file's bytes.
  package var size: Int64
  /// The file's modification time in nanoseconds since 1970.
  package var modified: Int64
  /// The file's SHA-256 as 64 hex digits, where it was taken.
  package var sha256: String?

  /// The source's entity tag with its quotes, strong or weak (RFC 9110 8.8.3).
  package var strongETag: String?
  package var weakETag: String?
  /// As the server wrote it.
  package var lastModified: String?
  /// The source's bytes.
  package var sourceBytes: Int64?

  /// Seconds.
  package var duration: Double?
  /// Pixels of the coded picture.
  package var width: Int?
  package var height: Int?

  /// Seconds since 1970.
  package var started: Int64
  package var finished: Int64

  package init(
    id: String, key: String, format: String, url: String, title: String, path: String,
    size: Int64, modified: Int64, started: Int64, finished: Int64
  ) {
    self.id = id
    self.key = key
    self.format = format
    self.url = url
    self.title = title
    self.path = path
    self.size = size
    self.modified = modified
    self.started = started
    self.finished = finished
  }
}
