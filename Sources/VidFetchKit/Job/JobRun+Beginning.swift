// How a job begins: everything that can be opened and refused before the first byte is asked for.

import FetchCore
import PartialStorage

extension JobRun {
  /// Opens everything that can be opened before the first byte; false where the job is over already.
  func prepare() throws(FetchError) -> Bool {
    let address = try SourceAddress(request.source)
    switch address {
    case .file(let path): return try prepareLocal(path)
    case .url(let text): return try prepareRemote(HTTPFetch.parse(text))
    }
  }

  func prepareLocal(_ path: String) throws(FetchError) -> Bool {
    let key = LocalSource.key(of: path)
    if try endsAsArchived(key) { return false }
    let (file, status) = try LocalSource.open(path)
    if let archived, archived.weakETag == LocalSource.tag(of: status) {
      try removePart(key, leftBeside: archived.path)
      return skip(to: archived)
    }
    let (opened, lock) = try openTarget(key: key, isLocal: true)
    do throws(FetchError) {
      if let entry = try lookAgainInArchive(key) {
        lock.remove()
        return skip(to: entry)
      }
      let target = self.target ?? opened
      let name = target.name(from: localProposals)
      if try target.isSatisfied(by: name, source: status) {
        lock.remove()
        return skip(to: target.path(of: name))
      }
      try LocalSource.check(status, limit: request.transfer.maxFileSize)
      try DiskDemand(missing: 0, output: status.size).check(target.folder)
    } catch {
      lock.remove()
      throw error
    }
    source = .local(file, status, lock: lock)
    announceStart()
    return true
  }

  func prepareRemote(_ address: HTTPFetch.Address) throws(FetchError) -> Bool {
    if try endsAsArchived(address.key) { return false }
    let (opened, part) = try openTarget(key: address.key, isLocal: false)
    if let path = opened.published(by: part.record) {
      // The run before this one had done everything but remove its part.
      do throws(FetchError) {
        try archive(published: path, by: part)
        result.path = path
        try keepOrRemove(
          part, sourceName: part.record.proposedName ?? address.url.lastPathComponent)
      } catch {
        leave(part, keeping: true)
        throw error
      }
      return skip(to: path)
    }
    let target: JobTarget
    do throws(FetchError) {
      if let entry = try lookAgainInArchive(address.key) {
        leave(part, keeping: false)
        return skip(to: entry)
      }
      target = self.target ?? opened
      if let name = target.nameIfKnown, try target.isSatisfied(by: name) {
        leave(part, keeping: false)
        return skip(to: target.path(of: name))
      }
    } catch {
      leave(part, keeping: true)
      throw error
    }
    // From here on another machine must be able to tell whose the part is.
    part.flushRecord()
    announceStart()
    if case .unusable(let bytes) = part.found {
      emit(.restart(reason: .partUnusable, bytes: bytes))
    }
    if !target.savesDisk { part.takesRoomAhead() }
    var settings = request.transfer
    // What comes far ahead of the export would have to wait on the disk.
    if target.savesDisk { settings.connections = 1 }
    let fetch = HTTPFetch(
      address, settings: settings, part: part, limiter: request.limits?.rate,
      logs: request.logsTransfer,
      refreshed: refreshedVersion,
      admit: { [target] admission throws(FetchError) in try admission.check(target) },
      report: { [mailbox] in mailbox.post(.fetch($0)) })
    source = .remote(fetch, part)
    return true
  }

  /// Opens the target's folder and the part in it.
  ///
  /// A run that ends may remove its empty folder while this one opens it; then it is made again.
  func openTarget(
    key: ResourceKey, isLocal: Bool
  ) throws(FetchError) -> (JobTarget, PartialFile) {
    while true {
      var target = try JobTarget(request)
      target.replaceable = archived.map { ArchivedFile($0) }
      target.changed = changedFile
      self.target = target
      do throws(FetchError) {
        guard isLocal || needsFile(target) else {
          let part = try PartialFile.openInMemory(
            in: target.folder, key: key, takesSuffix: target.isPrivate, cancellation: cancellation)
          if target.folder.isGone, !cancellation.isCancelled { continue }
          return (target, part)
        }
        let part = try PartialFile.open(
          in: target.folder, key: key, takesSuffix: isLocal || target.isPrivate,
          cancellation: cancellation)
        return (target, part)
      } catch {
        guard target.folder.isGone, !cancellation.isCancelled else { throw error }
      }
    }
  }

  /// Whether the part is needed for more than to be resumed: as a lock of hidden names, as the source
  /// that is kept or gives room back, or to tell the next run of what was published.
  private func needsFile(_ target: JobTarget) -> Bool {
    target.savesDisk || request.keepsSource || request.existingTarget == .overwrite
      || request.archive != nil
  }

  var localProposals: [String?] {
    guard case .file(let path) = try? SourceAddress(request.source) else { return [] }
    return [path]
  }

  func announceStart() {
    let path = target.flatMap { target in target.nameIfKnown.map { target.path(of: $0) } }
    emit(.start(url: result.url, target: path))
    emit(.progress(snapshot(.connecting, at: .zero)))
    if let changedFile {
      warn(FetchWarning(.unusual, "\(changedFile) is no longer what the archive recorded"))
    }
  }

  func skip(to path: String) -> Bool {
    announceStart()
    result.path = path
    finish(.skipped)
    return false
  }
}
