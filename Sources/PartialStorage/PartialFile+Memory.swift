// A part that stands in memory as long as a file isn't worth it, and how it gets one. `place` is the
// transfer thread's, all else the job's; both may find that it is time for a file.

package import FetchCore
import Glibc

extension PartialFile {
  private static let copiedPiece: Int64 = 64 << 10

  /// Decides where a body is going to stand, before its first byte and before its first reader.
  ///
  /// A small body whose size is known stays in memory; any other gets its file now.
  ///
  /// - Parameter total: the body's size; nil where only its end will tell.
  /// - Returns: false where readers use memory already, and it is not for a body of that size: then the
  ///   part must be started over.
  /// - Throws: as `settle()` does.
  package func place(total: Int64?) throws(FetchError) -> Bool {
    let isSmall = total.map { $0 <= memoryLimit } ?? false
    let (inMemory, isPlaced) = state.withLock { state in
      defer { state.isPlaced = true }
      return (state.place.memory != nil, state.isPlaced)
    }
    guard inMemory, !isSmall else { return true }
    guard !isPlaced else { return false }
    try settle()
    state.withLock { $0.place = $0.place.file.map { .disk($0) } ?? $0.place }
    return true
  }

  /// Gives a part that is still in memory its file, once it has been open for a second, be it that
  /// nothing has come: a run that waits holds its lock.
  ///
  /// On the job's thread.
  package func settleIfDue() throws(FetchError) {
    guard opened.duration(to: .now) >= Self.recordInterval.time, !holdsName else { return }
    try settle()
  }

  /// Gives a part that is in memory its file, its lock and its record, with all that has come.
  ///
  /// - Throws: `.output` where another run holds the part by now, or has left more of it behind than is
  ///   here, and the disk's own errors; what is in memory stays as it is.
  package func settle() throws(FetchError) { _ = try settled(takesLess: false) }

  /// Gives a part that is in memory its file where it is to be resumed, with as much as the disk takes.
  ///
  /// Nothing may be writing or reading any more. Returns whether another run will find anything.
  package func keep() -> Bool {
    let file = try? settled(takesLess: true)
    flushRecord()
    return file != nil && !ranges.isEmpty && folder.contains(recordName)
  }

  func settled(takesLess: Bool) throws(FetchError) -> FileDescriptor {
    // Both threads may find that it is time.
    var failure: FetchError?
    let file = settling.withLock { _ -> FileDescriptor? in
      if let file = state.withLock({ $0.place.file }) { return file }
      do throws(FetchError) {
        return try settle(takesLess: takesLess)
      } catch {
        failure = error
        return nil
      }
    }
    guard let file else { throw failure ?? .cancelled }
    return file
  }

  private func settle(takesLess: Bool) throws(FetchError) -> FileDescriptor {
    let part = try reopened()
    guard part.found != .resumable || part.ranges.byteCount < ranges.byteCount else {
      part.release()
      var error = FetchError(
        .output, "another run has fetched more of this in the meantime",
        reason: "\(folder.path)/\(part.name) is its part",
        recovery: "run the same command again to continue that")
      error.isHeld = true
      throw error
    }
    do throws(SystemError) {
      try part.clear()
      // Its room is had before the bytes take what is left.
      part.flushRecord()
    } catch {
      part.remove()
      throw error.fetchError("starting \(folder.path)/\(part.name) over")
    }
    var failure: SystemError?
    // Nothing may come in between, and the wait is short: what is in memory is small.
    let file = state.withLock { state -> FileDescriptor? in
      let memory = state.place.readable
      let (file, name, foreign) = part.handOver()
      let copied: ByteRangeSet
      (copied, failure) = Self.copy(state.record.ranges, from: memory, to: file)
      if failure != nil {
        guard takesLess, !copied.isEmpty else { return nil }
        state.record.ranges = copied
      }
      state.place = .both(memory: memory, file)
      state.name = name
      state.foreign = foreign
      writeRecord(&state)
      return file
    }
    if let file { return file }
    part.remove()
    throw failure?.fetchError("writing \(folder.path)/\(part.name)") ?? .cancelled
  }

  private static func copy(
    _ ranges: ByteRangeSet, from memory: FileDescriptor, to file: FileDescriptor
  ) -> (ByteRangeSet, SystemError?) {
    var copied = ByteRangeSet()
    do throws(SystemError) {
      for range in ranges.ranges {
        var offset = range.lowerBound
        while let piece = ByteRange(offset, min(offset + copiedPiece, range.upperBound)) {
          try file.write(memory.bytes(at: offset, count: Int(piece.count)), at: offset)
          copied.insert(piece)
          offset = piece.upperBound
        }
      }
      return (copied, nil)
    } catch {
      return (copied, error)
    }
  }

  /// Gives up what this object holds to another one.
  private func handOver() -> (FileDescriptor, name: String, foreign: [String]) {
    state.withLock { state in
      state.isGone = true
      return (state.place.readable, state.name, state.foreign)
    }
  }
}
