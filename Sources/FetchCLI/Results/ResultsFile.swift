// The file of `--results`: a line for each outcome, appended, while other processes and machines may
// append to it too. Main thread only, but for the sync, which has a thread of its own since it may wait
// on a slow disk.

package import FetchCore
import Glibc

/// A file of results, open for appending.
///
/// A line is the `result` object of `--json` with more keys: `time` (RFC 3339, UTC; when the item
/// ended), `host` (the machine's name) and `pid`, and of its caller `attempt` (from 1; absent where
/// nothing was attempted).
///
/// Every line is one `write(2)` to a descriptor with `O_APPEND`, made under `flock(2)`: on a local
/// file system the first alone keeps lines whole, on NFS the second. A writer that finds the file's
/// last byte not to be a line feed, because another died or found the disk full, begins with one: no
/// more than the torn line is lost.
package final class ResultsFile {
  /// How long a line waits for the lock before it is written without.
  ///
  /// A holder writes one line; one that takes longer was stopped, or is out of reach.
  private static let patience = Duration.seconds(2)

  /// How often the disk is asked to keep what it got.
  private static let syncInterval = Duration.seconds(5)

  private let path: String
  private let host: String
  private var file: OpenFile
  private var patience = ResultsFile.patience
  private var hasLocks = true
  private var synced: ContinuousClock.Instant

  /// Opens the file, or makes it.
  ///
  /// - Throws: `.output`, `.diskFull` or `.localIO`; nothing has been written then.
  package init(path: String) throws(FetchError) {
    self.path = path
    host = Self.hostName()
    synced = ContinuousClock.now
    var status = stat()
    // Asked before it is opened, since opening alone does something to many a device.
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw FetchError(
        .output, "the results file \(path) is no regular file",
        recovery: "name a file; --json writes results to standard output")
    }
    do throws(SystemError) {
      file = try OpenFile(path)
    } catch {
      throw error.fetchError("opening the results file \(path)")
    }
  }

  /// Appends the line of a result.
  ///
  /// - Returns: what went wrong with it, or with the disk since the line before.
  package func append(_ object: JSONObject) -> SystemError? {
    var object = object
    object.add("time", Timestamp.now().text)
    object.add("host", host)
    object.add("pid", getpid())
    let line = Array(object.encoded.utf8) + [UInt8(ascii: "\n")]
    do throws(SystemError) {
      try reopenIfRemoved()
      try write(line)
    } catch {
      return error
    }
    if ContinuousClock.now - synced >= Self.syncInterval {
      synced = ContinuousClock.now
      file.startSync()
    }
    return file.takeSyncFailure()
  }

  /// Waits until all lines are on the disk; to be called once, after the last.
  package func finish() -> SystemError? { file.sync() }

  private func write(_ line: [UInt8]) throws(SystemError) {
    let isLocked = lock()
    defer { if isLocked { flock(file.descriptor, LOCK_UN) } }
    var rest = (file.endsTorn ? [UInt8(ascii: "\n")] + line : line)[...]
    while !rest.isEmpty {
      let count = try retryingInterrupts("write") {
        rest.withUnsafeBytes { Glibc.write(file.descriptor, $0.baseAddress, $0.count) }
      }
      // Never seen of a file, but it would be asked for ever.
      if count == 0 { throw SystemError("write", errno: EIO) }
      rest = rest.dropFirst(count)
    }
  }

  /// Takes the lock; false where it isn't to be had, which is no reason to keep a result back.
  private func lock() -> Bool {
    guard hasLocks else { return false }
    let deadline = ContinuousClock.now + patience
    var pause: useconds_t = 100
    while flock(file.descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK:
        guard ContinuousClock.now < deadline else {
          // Waited for once; the lines that follow only ask.
          patience = .zero
          return false
        }
        // No lock has a time limit, and one that is held for good must not keep results back.
        usleep(pause)
        pause = min(pause * 2, 20_000)
      default:
        hasLocks = false
        return false
      }
    }
    patience = Self.patience
    return true
  }

  /// A file that somebody removed is begun anew, rather than written to where nobody can read it.
  private func reopenIfRemoved() throws(SystemError) {
    guard file.isRemoved else { return }
    file = try OpenFile(path)
  }

  private static func hostName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The descriptor, which outlives the results file while a sync still runs.
private final class OpenFile: Sendable {
  private struct Sync {
    var isRunning = false
    var failure: SystemError?
  }

  let descriptor: Int32
  private let state = Monitor(Sync())

  init(_ path: String) throws(SystemError) {
    descriptor = try retryingInterrupts("open") {
      open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0o666)
    }
  }

  deinit { close(descriptor) }

  /// Whether no name is left for it.
  var isRemoved: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  /// Whether its last line has no end.
  var endsTorn: Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return false }
    var last: UInt8 = 0
    let count = pread(descriptor, &last, 1, status.st_size - 1)
    return count != 1 || last != UInt8(ascii: "\n")
  }

  /// Has a thread wait for the disk, unless one does already.
  func startSync() {
    let starts = state.withLock { state in
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard starts else { return }
    do throws(SystemError) {
      try WorkerThread.start("results sync") { [self] in
        let failure = flush()
        state.withLock { state in
          state.isRunning = false
          state.failure = state.failure ?? failure
        }
      }
    } catch {
      // Without a thread there is still the sync at the end.
      state.withLock { $0.isRunning = false }
    }
  }

  /// What a sync has found since this was asked last.
  func takeSyncFailure() -> SystemError? {
    state.withLock { state in
      defer { state.failure = nil }
      return state.failure
    }
  }

  /// Waits for the disk.
  func sync() -> SystemError? {
    // The one that runs may be the only one that is told of an error.
    let earlier = state.wait { $0.isRunning ? nil : $0 }
    return earlier?.failure ?? flush()
  }

  private func flush() -> SystemError? {
    do throws(SystemError) {
      _ = try retryingInterrupts("fsync") { fsync(descriptor) }
      return nil
    } catch {
      return error
    }
  }
}
