// libav's log lines, caught per thread. libavformat reports much damage only as a log line, so the
// ERROR lines of a demuxer are evidence. Nothing is ever printed.

import CFFmpeg
import Glibc

/// The ERROR lines that libav logged on one thread while the collector was installed.
///
/// Belongs to the thread that installed it.
final class AVLog {
  /// Lines of a demuxer itself: evidence about the source.
  ///
  /// Bounded; the first ones are kept.
  private(set) var demuxerErrors: [String] = []
  /// The last ERROR line of any part.
  private(set) var lastError: String?
  private static let limit = 16

  /// Makes `log` the calling thread's collector while `body` runs.
  static func collecting<Result, Failure: Error>(
    into log: AVLog, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = processIsPrepared
    // SAFETY: the pointer is read by the callback on this thread only, and removed before `log`
    // can go, which `withExtendedLifetime` holds until then.
    let previous = pthread_getspecific(logKey)
    pthread_setspecific(logKey, Unmanaged.passUnretained(log).toOpaque())
    defer {
      pthread_setspecific(logKey, previous)
      withExtendedLifetime(log) {}
    }
    return try body()
  }

  fileprivate func add(_ line: String, fromDemuxer: Bool) {
    lastError = line
    if fromDemuxer, demuxerErrors.count < Self.limit, !demuxerErrors.contains(line) {
      demuxerErrors.append(line)
    }
  }
}

private let logKey: pthread_key_t = {
  var key = pthread_key_t()
  pthread_key_create(&key, nil)
  return key
}()

/// What libav has once per process, set before the first context is opened: the log callback, and the
/// most that one allocation may take (an index of millions of packets needs less).
private let processIsPrepared: Bool = {
  av_log_set_callback(takeLogLine)
  av_max_alloc(512 << 20)
  return true
}()

/// Runs on any thread that libav logs on; threads without a collector drop the line.
private func takeLogLine(
  _ context: UnsafeMutableRawPointer?, _ level: Int32, _ format: UnsafePointer<CChar>?,
  _ arguments: CVaListPointer?
) {
  guard level <= cff_log_error, let format, let arguments,
    let installed = pthread_getspecific(logKey)
  else {
    return
  }
  let line = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer -> String in
    guard let base = buffer.baseAddress else { return "" }
    vsnprintf(base, buffer.count, format, arguments)
    return String(cString: base)
  }
  var end = line.endIndex
  while end > line.startIndex {
    let before = line.index(before: end)
    guard line[before].isWhitespace || line[before] == "." else { break }
    end = before
  }
  guard end > line.startIndex else { return }
  // SAFETY: installed by `collecting` on this thread, which keeps the collector alive.
  let log = Unmanaged<AVLog>.fromOpaque(installed).takeUnretainedValue()
  log.add(String(line[..<end]), fromDemuxer: cff_is_demuxer(context) != 0)
}
