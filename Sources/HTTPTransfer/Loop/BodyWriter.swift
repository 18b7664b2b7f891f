// Brings a body's bytes into its sink: in blocks, at their offsets, and never more than the head
// declared or the caller wants. Confined to the transfer thread; knows nothing of libcurl.

import FetchCore

/// A body on its way into a sink.
final class BodyWriter {
  /// What follows a piece of the body.
  enum Verdict: Equatable {
    case more
    /// All that was wanted is there, and more would come.
    case limitReached
    case failed(TransferFailure.Kind, FetchError)
  }

  private enum Bound { case wanted, declared, fileSize }

  private let sink: any ByteSink
  private let start: Int64
  /// How many bytes the head declared; nil where it doesn't say.
  private let declared: Int64?
  /// The resource's offset that bytes are wanted up to; nil for all.
  private let end: BodyEnd?
  /// The nearest of the ends that don't move.
  private let fixedBound: (size: Int64, kind: Bound)?
  private let block = BodyBlock()
  /// The resource's offset of the first byte that isn't written.
  private var offset: Int64
  private var received: Int64 = 0

  /// - Parameters:
  ///   - start: the resource's offset of the body's first byte.
  ///   - end: where they are no longer wanted; nil for never.
  ///   - maxFileSize: the largest resource that is accepted.
  init(
    _ sink: any ByteSink, at start: Int64, declared: Int64?, end: BodyEnd?, maxFileSize: Int64?
  ) {
    self.sink = sink
    self.start = start
    self.declared = declared
    offset = start
    var bound = declared.map { (size: $0, kind: Bound.declared) }
    if let maxFileSize, maxFileSize - start < bound?.size ?? .max {
      bound = (max(0, maxFileSize - start), .fileSize)
    }
    self.end = end
    fixedBound = bound
  }

  /// How much may come, as things stand.
  private var bound: (size: Int64, kind: Bound)? {
    guard let end else { return fixedBound }
    let wanted = max(0, end.value - start)
    return wanted <= fixedBound?.size ?? .max ? (wanted, .wanted) : fixedBound
  }

  /// How many bytes the sink has taken.
  var written: Int64 { offset - start }

  /// Whether bytes are missing that were declared and wanted.
  var isShort: Bool {
    guard let declared else { return false }
    return received < min(declared, bound?.size ?? declared)
  }

  /// When the first byte came that isn't written, in nanoseconds; nil where all are.
  var waitingSince: Int64? { block.count > 0 ? block.since : nil }

  /// Takes a piece of the body.
  func take(_ bytes: UnsafeRawBufferPointer, now: Int64) -> Verdict {
    let bound = bound
    let room = bound.map { max(0, $0.size - received) } ?? .max
    let wanted = UnsafeRawBufferPointer(
      rebasing: bytes.prefix(Int(clamping: min(room, Int64(bytes.count)))))
    do throws(FetchError) {
      try block.append(wanted, offset: &offset, sink: sink, now: now)
    } catch {
      return .failed(error.isCancellation ? .cancelled : .sink, error)
    }
    received += Int64(wanted.count)
    return verdict(bound, hasSurplus: bytes.count > wanted.count)
  }

  /// Writes what waits for a full block.
  func flush() throws(FetchError) { try block.flush(offset: &offset, sink: sink) }

  private func verdict(_ bound: (size: Int64, kind: Bound)?, hasSurplus: Bool) -> Verdict {
    // An end that has moved may lie behind.
    guard let bound, received >= bound.size else { return .more }
    switch bound.kind {
    case .wanted:
      // Where nobody says what follows, the end may be right here.
      return hasSurplus || declared.map({ $0 > bound.size }) ?? false ? .limitReached : .more
    case .declared where hasSurplus:
      return .failed(
        .surplus,
        FetchError(.damaged, "the server sends more than the \(bound.size) bytes it declared"))
    case .fileSize where hasSurplus:
      return .failed(.tooLarge, Self.tooLarge(limit: start + bound.size, size: nil))
    case .declared, .fileSize:
      return .more
    }
  }

  /// The failure of a resource over the limit, whose size may be unknown.
  static func tooLarge(limit: Int64, size: Int64?) -> FetchError {
    FetchError(
      .refused,
      size.map { "the file has \($0) bytes, over the limit of \(limit)" }
        ?? "the file has more bytes than the limit of \(limit)",
      recovery: "a larger --max-filesize lets it")
  }
}
