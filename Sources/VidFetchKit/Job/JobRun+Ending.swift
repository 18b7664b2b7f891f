// How a job ends: the result gets its name, the part goes or stays, and the outcome is told.

import FetchCore
import PartialStorage

extension JobRun {
  func publish() {
    reportProgress(force: true)
    do throws(FetchError) {
      guard let target, let output, let outcome else {
        throw FetchError(.internal, "there is nothing to publish")
      }
      try part?.checkSync()
      if let part, let total, !part.ranges.isComplete(total: total) {
        throw FetchError(.internal, "the export ended before the download had")
      }
      try verifyChecksum()
      let name = target.name(from: fetch?.proposals ?? localProposals)
      try output.sync(cancellation)
      if request.archive != nil || request.hashesResult {
        result.sha256 = try SHA256.hexDigest(of: output.descriptor, cancellation)
      }
      let path = try target.publish(output, as: name) { name throws(FetchError) in
        guard let part else { return }
        do throws(SystemError) {
          let status = try output.descriptor.status()
          part.updateRecord { $0.publication = .init(name: name, status) }
        } catch {
          throw error.fetchError("publishing \(target.path(of: name))")
        }
      }
      // It has its name, or is not wanted: nothing of it is left to take away once the part's lock is.
      if path != nil { self.output = nil }
      guard let path else {
        result.path = target.path(of: name)
        perform(machine.handle(.publishedByAnother))
        return
      }
      isInPlace = true
      result.path = path
      result.bytes = outcome.bytes
      result.duration = outcome.duration
      result.completeBy = outcome.completeBy
      result.streams = outcome.plan.streams
      result.ledger = outcome.ledger
      try archive(path, output, of: source)
      if let anyPart { try keepOrRemove(anyPart, sourceName: fetch?.sourceName ?? "") }
      perform(machine.handle(.published))
    } catch {
      perform(machine.handle(.publishFailed(error)))
    }
  }

  /// After success: the source goes, or gets the name that the person asked for.
  ///
  /// - Throws: where the source could not be kept; the part stays then, for a run that can.
  func keepOrRemove(_ part: PartialFile, sourceName: String) throws(FetchError) {
    if request.keepsSource, !part.ranges.isEmpty, let path = result.path {
      do throws(FetchError) {
        try part.publish(
          as: OutputName.sourceName(for: path.lastComponent, source: sourceName),
          replacing: request.existingTarget == .overwrite,
          mode: part.folder.status(of: path.lastComponent)?.mode ?? 0o644)
      } catch {
        var error = error
        error.message = "the result is in place, but the source was not kept: \(error.message)"
        throw error
      }
    }
    if let failure = part.remove() {
      warn(FetchWarning(.unusual, "a hidden file of the download was left: \(failure.text)"))
    }
  }

  func finish(_ outcome: JobStateMachine.Outcome) {
    if session != nil || output != nil { endExport() }
    switch outcome {
    case .succeeded: break
    case .skipped:
      result.skipped = skipReason
      // Nobody will continue what is there already.
      if let anyPart { leave(anyPart, keeping: false) }
    case .failed(let error):
      result.error = error
      result.code = error.code
      result.path = nil
      if let part = anyPart {
        // What has its name already needs no proof from the server: the next run sees it done.
        let keeps =
          (isInPlace || error.code.keepsPart && part.record.hasValidator) && !part.ranges.isEmpty
          && !part.isSpent
        if leave(part, keeping: keeps) { result.part = target?.path(of: part.name) }
      }
      target?.folder.removeIfMadeAndEmpty()
    }
    result.attempts = fetch?.attempts ?? 0
    result.timings = clock.seconds()
    if case .succeeded = outcome { result.timings["verifying"] = self.outcome?.verification }
    emit(.result(result))
  }

  /// Lets go of the part; returns whether the next run will find it.
  @discardableResult
  func leave(_ part: PartialFile, keeping: Bool) -> Bool {
    let isKept = keeping && !part.ranges.isEmpty && part.keep()
    if !isKept { part.remove() }
    // Whoever hears of the result may begin anew at once.
    part.release()
    return isKept
  }
}

extension String {
  /// What follows the last slash.
  var lastComponent: String {
    lastIndex(of: "/").map { String(self[index(after: $0)...]) } ?? self
  }
}
