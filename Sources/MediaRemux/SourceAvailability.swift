// What is known of the source's bytes: which are there, how many there are in all, whether it was
// called off. The session's callers write it, the remux thread waits on it. Knows no file.

import FetchCore

/// The bytes of a source that are present, as far as they have been announced.
final class SourceAvailability: Sendable {
  private struct State {
    var present = ByteRangeSet()
    var total: Int64?
    var hasEnded = false
    var isFramed: Bool
    var isCancelled = false
    var comesOnlyForwards = false
  }

  /// What a reader may do at an offset.
  enum Answer: Hashable {
    /// So many bytes can be read.
    case bytes(Int64)
    /// The source ends at or before the offset.
    case end
    case cancelled
  }

  private let monitor: Monitor<State>
  /// Set by `RemuxCommand.cancel`.
  let cancellation: CancellationFlag

  /// - Parameter cancellation: a flag to share; it must then not be relied on to wake a waiter.
  init(isFramed: Bool, cancellation: CancellationFlag = CancellationFlag()) {
    self.cancellation = cancellation
    monitor = Monitor(State(isFramed: isFramed))
  }

  /// Takes note of a command.
  ///
  /// Any thread.
  func apply(_ command: RemuxCommand) {
    if command == .cancel { cancellation.cancel() }
    monitor.withLock { state in
      switch command {
      case .have(let range):
        state.present.insert(range)
      case .total(let total):
        state.total = total
      case .ended(let total, let isFramed):
        state.total = total
        state.isFramed = isFramed
        state.hasEnded = true
        if let all = ByteRange(0, total) { state.present.insert(all) }
      case .onlyForwards:
        state.comesOnlyForwards = true
      case .cancel:
        state.isCancelled = true
      }
    }
  }

  /// Whether the work was called off.
  ///
  /// Any thread, no lock: polled for each packet.
  var isCancelled: Bool { cancellation.isCancelled }

  /// The size, where it is known already.
  var total: Int64? { monitor.peek { $0.total } }

  /// Whether all bytes are there.
  var hasEnded: Bool { monitor.peek { Self.end($0) != nil } }

  /// Whether HTTP's framing, or a file's size, proves the end.
  var isFramed: Bool { monitor.peek { $0.isFramed } }

  /// Whether a look at the end costs all of the source.
  var comesOnlyForwards: Bool { monitor.peek { $0.comesOnlyForwards } }

  /// Waits until something can be said of `offset`.
  ///
  /// - Parameter willWait: called once, without the lock, where the byte is not there.
  func answer(at offset: Int64, willWait: () -> Void) -> Answer {
    if let answer = monitor.peek({ Self.answer($0, offset) }) { return answer }
    willWait()
    return monitor.wait { Self.answer($0, offset) } ?? .cancelled
  }

  /// Waits until no more bytes will come; nil where the work was called off.
  ///
  /// - Parameter willWait: called once with the first missing byte, where one is missing.
  func waitForEnd(willWait: (Int64) -> Void) -> Int64? {
    let missing: Int64? = monitor.peek { state in
      Self.end(state) == nil ? state.present.firstMissing() : nil
    }
    if let missing { willWait(missing) }
    return monitor.wait { Self.end($0) } ?? nil
  }

  private static func end(_ state: State) -> Int64?? {
    if state.isCancelled { return .some(nil) }
    guard let total = state.total else { return nil }
    return state.hasEnded || state.present.isComplete(total: total) ? .some(total) : nil
  }

  private static func answer(_ state: State, _ offset: Int64) -> Answer? {
    if state.isCancelled { return .cancelled }
    let run = state.present.run(from: offset)
    if run > 0 { return .bytes(run) }
    if let total = state.total, offset >= total { return .end }
    return nil
  }
}
