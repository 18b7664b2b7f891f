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
      let pending = state.pending ?? range
      state.pending = ByteRange(
        min(pending.lowerBound, range.lowerBound), max(pending.upperBound, range.upperBound))
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
        var unflushed: Int64 = 0
        var flushed = ContinuousClock.now
        while case .start(let range)? = Self.turn(monitor) {
          RangeSync.begin(range, of: own)
          unflushed += range.count
          guard unflushed >= Self.flushStep,
            flushed.duration(to: .now) >= Self.flushPause
          else { continue }
          _ = fdatasync(own)
          unflushed = 0
          flushed = .now
        }
        Glibc.close(own)
      }
    } catch {
      Glibc.close(own)
    }
  }

  private static func turn(_ monitor: Monitor<State>) -> Turn? {
    monitor.wait { state in
      if state.isClosed { return .end }
      defer { state.pending = nil }
      return state.pending.map { .start($0) }
    }
  }
}
