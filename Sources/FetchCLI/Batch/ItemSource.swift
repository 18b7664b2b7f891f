// Where a run's items come from: the words of the command line, then the lines of a list. Each is made
// into a job's request here; nothing is looked up but whether a doubtful path is a file.

package import FetchCore
import Glibc
package import VidFetchKit

/// The items of a run, before they are read.
package struct ItemSource: Sendable {
  /// As typed, in order.
  package var arguments: [String] = []
  /// A path, or `-`; nil where there is none.
  package var list: String?
  /// What all items have in common.
  package var request: JobRequest
  package var nameTemplate: NameTemplate?
  package var shard: Shard?
  /// Of the whole command line, and by name.
  package var checksum: Checksum?
  package var checksums: ChecksumList?
  /// What names an item in the archive; nil for its whole URL.
  package var key: KeyPattern?

  package init(request: JobRequest) { self.request = request }

  /// Opens the list.
  ///
  /// - Throws: where it can't be read.
  func open() throws(SystemError) -> sending ItemReader {
    ItemReader(self, try list.map { path throws(SystemError) in try ListReader(path: path) })
  }

  // MARK: Items

  /// What an item is known by.
  func identity(of source: String) -> SourceIdentity {
    guard let key = key?.key(of: source) else { return SourceIdentity(source) }
    var identity = SourceIdentity(key: key)
    identity.host = SourceIdentity(source).host
    return identity
  }

  /// The item of an entry in the list.
  func item(_ entry: ListEntry, job: Int, line: Int?) -> BatchItem {
    var request = request(for: entry, job: job)
    var problem: FetchError?
    if line != nil, entry.isDoubtfulPath, access(entry.source, F_OK) != 0 {
      problem = FetchError(
        .refused, "it is not a URL, and there is no such file",
        recovery: "a line is a URL, or a URL and a name with a tab between them")
    }
    do throws(FetchError) {
      request.checksum = entry.checksum
      if request.checksum == nil { request.checksum = try checksum(for: request, entry.name) }
    } catch {
      problem = problem ?? error
    }
    let url = shown(request.redactedSource)
    var item = BatchItem(
      job: job, url: url, content: problem.map { .bad(located($0, line)) } ?? .fetch(request))
    item.origin.id = SourceIdentity(entry.source).key
    item.origin.list = line == nil ? nil : list
    item.origin.line = line
    item.origin.name = entry.name.map { $0.fileName(request.format) }
    item.origin.isRedacted = request.hidesSecrets
    return item
  }

  /// What stands for the URL of a line that has none.
  static func place(list: String, line: Int) -> String {
    "\(list == "-" ? "standard input" : list):\(line)"
  }

  /// The item of a line that says nothing to be done.
  func badItem(_ message: String, job: Int, line: Int) -> BatchItem {
    let place = Self.place(list: list ?? "", line: line)
    let error = FetchError(
      .refused, message,
      recovery: "a line is a URL, a URL and a name with a tab between them, or a JSON object")
    var item = BatchItem(job: job, url: place, content: .bad(error))
    item.origin.list = list
    item.origin.line = line
    return item
  }

  /// A line may be as long as a megabyte; nobody wants to read that in an error.
  private func shown(_ url: String) -> String {
    url.utf8.count > Self.longestShown ? String(url.prefix(Self.longestShown / 4)) + "…" : url
  }

  private static let longestShown = 8192

  private func located(_ error: FetchError, _ line: Int?) -> FetchError {
    guard let line else { return error }
    var error = error
    error.message = "line \(line): \(error.message)"
    return error
  }

  private func request(for entry: ListEntry, job: Int) -> JobRequest {
    var request = request
    request.source = entry.source
    request.format = entry.format ?? request.format
    if let naming = naming(entry, request.format, job: job) {
      switch request.destination {
      case .temporary: request.destination = .temporary(naming)
      case .directory(let path, _): request.destination = .directory(path, naming)
      case .file: break
      }
    }
    request.transfer.headers += entry.headers
    request.transfer.cookies += entry.cookies
    request.transfer.userAgent = entry.userAgent ?? request.transfer.userAgent
    request.transfer.referer = entry.referer ?? request.transfer.referer
    if entry.streams != nil || entry.audio != nil || entry.noAudio || entry.subtitles != nil {
      // What an item says of its streams takes the place of all that is said of all.
      request.export.selection = StreamSelection()
      request.export.selection.streams = entry.streams
      if let audio = entry.audio { request.export.selection.audio = .only(audio) }
      if entry.noAudio { request.export.selection.audio = .none }
      request.export.selection.subtitles = entry.subtitles ?? .all
    }
    request.export.metadata.changes += entry.metadata
    request.archive?.key = key?.key(of: entry.source)
    return request
  }

  private func naming(
    _ entry: ListEntry, _ format: ContainerFormat, job: Int
  ) -> JobRequest.Naming? {
    if let name = entry.name { return .name(name.fileName(format)) }
    return nameTemplate.map { .template($0, index: job) }
  }

  private func checksum(
    for request: JobRequest, _ name: ListName?
  ) throws(FetchError) -> Checksum? {
    guard let checksums else { return checksum }
    for candidate in [name?.fileName(request.format), name?.stem, request.sourceName] {
      guard let candidate else { continue }
      switch checksums.checksum(for: candidate) {
      case .checksum(let checksum): return checksum
      case .ambiguous:
        throw FetchError(
          .refused, "the list of checksums has several files named \(candidate)",
          recovery: "give the item another name, or its checksum in the list of items")
      case .missing: continue
      }
    }
    throw FetchError(
      .refused, "the list of checksums has no file named \(request.sourceName)",
      recovery: "add it, or fetch the item without --checksum")
  }
}

/// Reads the items of a run; confined to one thread.
final class ItemReader {
  private var source: ItemSource
  private let list: ListReader?
  private var seen = SeenSources()
  private var job = 0

  fileprivate init(_ source: ItemSource, _ list: ListReader?) {
    self.source = source
    self.list = list
  }

  /// Lets the items that are still to be read know of an archive.
  func remember(in archive: JobArchive?) { source.request.archive = archive }

  /// How many items there are, where that can be told before they are read.
  func expectedItems() -> Int? {
    guard source.shard == nil else { return nil }
    guard let path = source.list else { return source.arguments.count }
    guard path != "-", let lines = LineCount.of(path: path) else { return nil }
    return source.arguments.count + lines
  }

  /// Items of all shards that were read so far.
  var itemsOfAll: Int { job }

  /// The next item of this shard; nil at the end.
  func next() throws(SystemError) -> BatchItem? {
    while true {
      let entry: ListEntry
      var line: Int?
      if job < source.arguments.count {
        job += 1
        entry = ListEntry(source: source.arguments[job - 1])
      } else {
        guard let (number, text) = try list?.next() else { return nil }
        job += 1
        switch text {
        case .item(let item): entry = item
        case .nothing: continue
        case .bad(let message):
          // Somebody has to say that a line is bad; the first shard does.
          guard isFirstShard else { continue }
          return source.badItem(message, job: job, line: number)
        }
        line = number
      }
      // Most lines of a list are another shard's: no more is made of them than it takes to tell.
      let identity = source.identity(of: entry.source)
      if let shard = source.shard, !shard.contains(identity) { continue }
      var item = source.item(entry, job: job, line: line)
      item.host = identity.host
      guard case .fetch(let request) = item.content else { return item }
      let isNew = seen.insert(
        identity.fingerprint(name: item.origin.name, format: request.format))
      return isNew ? item : item.asDuplicate
    }
  }

  private var isFirstShard: Bool { source.shard.map { $0.index == 1 } ?? true }
}

extension BatchItem {
  fileprivate var asDuplicate: BatchItem {
    guard case .fetch(let request) = content else { return self }
    var item = BatchItem(job: job, url: url, content: .duplicate(request))
    item.origin = origin
    item.host = host
    return item
  }
}
