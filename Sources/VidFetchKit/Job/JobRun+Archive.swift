// What a job has to do with an archive: whether anything is left to be done, and that it is done now.
// On the job's thread, which may wait for the disk.
//
// Order matters: the result gets its name, then the archive its entry, then the part goes. A process
// that dies in between leaves a part whose record names the result, and the next run does the rest.

import FetchCore
import HTTPTransfer
import PartialStorage
import VideoArchive

extension JobRun {
  /// Looks for the source in the archive; returns whether the job has ended, as nothing is to be done.
  ///
  /// - Parameter key: names the source's part, and the source where the caller has given it no name.
  func endsAsArchived(_ key: ResourceKey) throws(FetchError) -> Bool {
    guard let entry = try lookInArchive(key) else { return false }
    try removePart(key, leftBeside: entry.path)
    return !skip(to: entry)
  }

  /// Looks once more, where nothing was found before the source's part was held: another run may have
  /// finished it in between, and nobody does any more.
  func lookAgainInArchive(_ key: ResourceKey) throws(FetchError) -> ArchiveEntry? {
    guard archived == nil, changedFile == nil else { return nil }
    defer {
      target?.replaceable = archived.map { ArchivedFile($0) }
      target?.changed = changedFile
    }
    return try lookInArchive(key)
  }

  /// Finds what the archive has of a source; nil where it is not there, or the server is to be asked.
  private func lookInArchive(_ key: ResourceKey) throws(FetchError) -> ArchiveEntry? {
    guard let archive = request.archive else { return nil }
    let key = archive.key.map { ResourceKey(normalizedURL: $0) } ?? key
    archiveKey = key
    guard
      var entry = try archive.archive.entry(key: key.digest, format: request.format.rawValue)
    else { return nil }
    // An exact path is wanted there, wherever else the film may be.
    if case .file(let path) = request.destination, !JobTarget.isSame(path, entry.path) {
      return nil
    }
    switch try ArchivedFile(entry).look(cancellation) {
    case .gone:
      return nil
    case .changed:
      changedFile = entry.path
      return nil
    case .touched(let modified):
      entry.modified = modified
      try archive.archive.record(entry)
    case .whole:
      break
    }
    archived = entry
    return archive.refreshes ? nil : entry
  }

  /// Ends the job with what the archive has.
  func skip(to entry: ArchiveEntry) -> Bool {
    takeArchived(entry)
    return skip(to: entry.path)
  }

  /// Makes what the archive has the result.
  func takeArchived(_ entry: ArchiveEntry) {
    skipReason = .archive
    result.path = entry.path
    result.bytes = entry.size
    result.duration = entry.duration
    result.sha256 = entry.sha256
  }

  /// What the server may still have; nil where it is not to be asked.
  var refreshedVersion: KnownVersion? {
    archived.map { entry in
      KnownVersion(
        validators: Validators(
          strongETag: entry.strongETag, weakETag: entry.weakETag,
          lastModified: entry.lastModified),
        total: entry.sourceBytes)
    }
  }

  /// Records the result that has just got its name.
  ///
  /// - Throws: where the archive can't be written to; the result stays in place.
  func archive(_ path: String, _ output: OutputFile, of source: Source?) throws(FetchError) {
    guard request.archive != nil else { return }
    do throws(FetchError) {
      var entry = try entry(for: path, at: output.descriptor)
      switch source {
      case .local(_, let status, _):
        entry.weakETag = LocalSource.tag(of: status)
        entry.sourceBytes = status.size
      case .remote(_, let part): describe(&entry, part.record)
      case nil: break
      }
      try record(entry)
    } catch {
      throw Self.unrecorded(error)
    }
  }

  /// Records what an earlier run published, and had no time to record.
  func archive(published path: String, by part: PartialFile) throws(FetchError) {
    guard request.archive != nil || request.hashesResult else { return }
    do throws(FetchError) {
      let file: FileDescriptor
      do throws(SystemError) {
        file = try FileDescriptor.open(path, FileDescriptor.readOnlyNonBlocking)
      } catch {
        throw error.fetchError("reading \(path)")
      }
      result.sha256 = try SHA256.hexDigest(of: file, cancellation)
      var entry = try entry(for: path, at: file)
      result.bytes = entry.size
      describe(&entry, part.record)
      try record(entry)
    } catch {
      throw Self.unrecorded(error)
    }
  }

  private static func unrecorded(_ error: FetchError) -> FetchError {
    guard !error.isCancellation else { return error }
    var error = error
    error.message = "the result is in place, but was not recorded: \(error.message)"
    return error
  }

  private func record(_ entry: ArchiveEntry) throws(FetchError) {
    try request.archive?.archive.record(entry)
  }

  private func entry(
    for path: String, at file: FileDescriptor
  ) throws(FetchError) -> ArchiveEntry {
    let status: FileStatus
    do throws(SystemError) {
      status = try file.status()
    } catch {
      throw error.fetchError("reading \(path)")
    }
    var entry = ArchiveEntry(
      id: archiveKey?.description ?? "", key: archiveKey?.digest ?? "",
      format: request.format.rawValue, url: result.url, title: title(of: path), path: path,
      size: status.size, modified: status.modified, started: started,
      finished: WallClock.seconds())
    entry.sha256 = result.sha256
    entry.duration = result.duration
    let film = result.streams.first {
      $0.type == .video && $0.action != .dropped && $0.attachedPicture != true
    }
    entry.width = film?.width
    entry.height = film?.height
    return entry
  }

  private func describe(_ entry: inout ArchiveEntry, _ record: ResumeRecord) {
    entry.strongETag = record.strongETag
    entry.weakETag = record.weakETag
    entry.lastModified = record.lastModified
    entry.sourceBytes = record.total
  }

  /// The file's name without its extension.
  private func title(of path: String) -> String {
    let name = path.lastComponent
    let suffix = "." + request.format.rawValue
    return name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
  }

  /// Finishes what a run left that died after it had recorded its result: the part goes.
  func removePart(_ key: ResourceKey, leftBeside path: String) throws(FetchError) {
    guard let folder = try? Folder.existing(Folder.parent(of: path)),
      let part = PartialFile.leftBehind(by: path.lastComponent, in: folder, key: key)
    else { return }
    defer { part.release() }
    result.path = path
    try keepOrRemove(part, sourceName: part.record.proposedName ?? request.source.lastComponent)
  }
}
