// Has the kernel begin to put an output on the disk while more of it is written, and the disk keep what
// it has, so that the final fsync has little left to do. On a thread of its own: these calls wait.

import CLinux
import FetchCore
import Glibc

/// The write-back of one growing file.
///
/// Any thread may ask for it. The thread behind it is made for the first range, and ends once this is
/// closed; the call that it is in by then is not waited for.
final class WriteBack: Sendable {
  private struct State {
    var pending: ByteRange?
    var hasThread = false
    var isClosed = false
  }

  /// What is to be done next.
  private enum Turn {
    case start(ByteRange)
    case end
  }

  /// After so many bytes and so much time the disk is told to empty its own cache, which it would else
  /// do at the end at one go, while everybody waits.
  private static let flushStep: Int64 = 16 << 20
  private static let flushPause = Duration.milliseconds(100)
  /// No call is about more than this, since nothing can end the process during one.
  private static let piece: Int64 = 4 << 20
  /// A flush takes all that is dirty along: with more than this it waits until the disk has caught up.
  private static let longestBacklog: Int64 = 32 << 20

  private let descriptor: Int32
  private let monitor = Monitor(State())

  /// - Parameter descriptor: borrowed until the first range comes, and then a second one is made.
  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close() }

  /// Asks for a range, soon; with those that still wait it becomes one.
  ///
  /// Only a hint: the final fsync is what counts, so nothing here is a failure.
  func start(_ range: ByteRange) {
    let isFirst = monitor.withLock { state in
      state.pending = state.pending?.span(with: range) ?? range
      defer { state.hasThread = true }
      return !state.hasThread
    }
    if isFirst { startThread() }
  }

  /// Ends the thread.
  func close() { monitor.withLock { $0.isClosed = true } }

  private func startThread() {
    // The borrowed descriptor may be closed while the kernel is still at work. And the file is opened
    // once more, since an error is told once to each opening: it must be told to the final fsync.
    let own = vf_open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC, 0)
    guard own >= 0 else { return }
    do throws(SystemError) {
      try WorkerThread.start("write-back") { [monitor] in
        var unflushed: ByteRange?
        var flushed = ContinuousClock.now
        while case .start(let range)? = Self.turn(monitor) {
          for piece in range.pieces(of: Self.piece) where !Self.isClosed(monitor) {
            RangeSync.begin(piece, of: own)
          }
          let since = unflushed?.span(with: range) ?? range
          unflushed = since
          guard since.count >= Self.flushStep, flushed.duration(to: .now) >= Self.flushPause
          else { continue }
          for piece in since.pieces(of: Self.piece) where !Self.isClosed(monitor) {
            // The final fsync is told what has failed here, since it is of another opening.
            try? RangeSync.finish(piece, of: own)
          }
          guard Self.backlog(monitor) <= Self.longestBacklog else { continue }
          _ = fdatasync(own)
          unflushed = nil
          flushed = .now
        }
        Glibc.close(own)
      }
    } catch {
      Glibc.close(own)
    }
  }

  private static func isClosed(_ monitor: Monitor<State>) -> Bool {
    monitor.withLock { $0.isClosed }
  }

  /// Bytes that were asked for since the last turn; without end once nobody waits for a flush.
  private static func backlog(_ monitor: Monitor<State>) -> Int64 {
    monitor.withLock { $0.isClosed ? .max : $0.pending?.count ?? 0 }
  }

  private static func turn(_ monitor: Monitor<State>) -> Turn? {
    monitor.wait { state in
      if state.isClosed { return .end }
      defer { state.pending = nil }
      return state.pending.map { .start($0) }
    }
  }
}
