// What an archive remembers, for whoever lists it.

package import FetchCore
import VideoArchive

/// One finished video.
package struct FinishedVideo: Sendable, Hashable {
  package let id: String
  /// Secrets removed.
  package let url: String
  package let title: String
  package let path: String
  package let format: String
  package let bytes: Int64
  /// Seconds.
  package let duration: Double?
  package let width: Int?
  package let height: Int?
  package let sha256: String?
  /// Seconds since 1970.
  package let finished: Int64
}

extension JobArchive {
  /// Hands all finished videos to `body`, newest first; a few are held at a time.
  package func forEach(_ body: (FinishedVideo) -> Void) throws(FetchError) {
    var position: Archive.Position?
    repeat {
      let page = try archive.entries(limit: 500, after: position)
      for entry in page.entries { body(FinishedVideo(entry)) }
      position = page.next
    } while position != nil
  }
}

extension FinishedVideo {
  fileprivate init(_ entry: ArchiveEntry) {
    id = entry.id
    url = entry.url
    title = entry.title
    path = entry.path
    format = entry.format
    bytes = entry.size
    duration = entry.duration
    width = entry.width
    height = entry.height
    sha256 = entry.sha256
    finished = entry.finished
  }
}
