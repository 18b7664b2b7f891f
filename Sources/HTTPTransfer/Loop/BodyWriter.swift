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

  private enum Bound { case limit, declared, fileSize }

  private let sink: any ByteSink
  private let start: Int64
  /// How many bytes the head declared; nil where it doesn't say.
  private let declared: Int64?
  private let bound: (size: Int64, kind: Bound)?
  private let block = BodyBlock()
  /// The resource's offset of the first byte that isn't written.
  private var offset: Int64
  private var received: Int64 = 0

  /// - Parameters:
  ///   - start: the resource's offset of the body's first byte.
  ///   - limit: how many bytes are wanted; nil for all.
  ///   - maxFileSize: the largest resource that is accepted.
  init(
    _ sink: any ByteSink, at start: Int64, declared: Int64?, limit: Int64?, maxFileSize: Int64?
  ) {
    self.sink = sink
    self.start = start
    self.declared = declared
    offset = start
    var bound = declared.map { (size: $0, kind: Bound.declared) }
    if let limit, limit <= bound?.size ?? .max { bound = (max(0, limit), .limit) }
    if let maxFileSize, maxFileSize - start < bound?.size ?? .max {
      bound = (max(0, maxFileSize - start), .fileSize)
    }
    self.bound = bound
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
    let room = bound.map { $0.size - received } ?? .max
    let wanted = UnsafeRawBufferPointer(
      rebasing: bytes.prefix(Int(clamping: min(room, Int64(bytes.count)))))
    do throws(FetchError) {
      try block.append(wanted, offset: &offset, sink: sink, now: now)
    } catch {
      return .failed(error.isCancellation ? .cancelled : .sink, error)
    }
    received += Int64(wanted.count)
    return verdict(hasSurplus: bytes.count > wanted.count)
  }

  /// Writes what waits for a full block.
  func flush() throws(FetchError) { try block.flush(offset: &offset, sink: sink) }

  private func verdict(hasSurplus: Bool) -> Verdict {
    guard let bound, received == bound.size else { return .more }
    switch bound.kind {
    case .limit:
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
