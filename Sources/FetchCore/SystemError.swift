// errno as a value, and what it means for an item.

import Glibc

/// A failed system call.
package struct SystemError: Error, Sendable, Hashable {
  /// The `errno` value.
  package let number: Int32
  /// The call that failed, such as `pwrite`.
  package let call: String

  package init(_ call: String, errno number: Int32) {
    self.call = call
    self.number = number
  }

  /// Takes `errno` as the failed call left it; to be made before any other call.
  package static func last(_ call: String) -> SystemError { SystemError(call, errno: errno) }

  /// The system's own words, such as "No space left on device".
  package var text: String {
    var buffer = [CChar](repeating: 0, count: 128)
    // The XSI variant, which is what Swift's importer sees, returns 0 and fills the buffer.
    return withUnsafeMutablePointer(to: &buffer) { pointer in
      pointer.pointee.withUnsafeMutableBufferPointer { bytes -> String in
        guard let base = bytes.baseAddress else { return "error \(number)" }
        guard strerror_r(number, base, bytes.count) == 0 else { return "error \(number)" }
        return String(cString: base)
      }
    }
  }

  package var isMissingFile: Bool { number == ENOENT || number == ENOTDIR }

  package var isDenied: Bool { number == EACCES || number == EPERM }

  /// The item's failure that this amounts to.
  ///
  /// - Parameter doing: what was being done, to what, such as "writing /tmp/a.part".
  package func fetchError(_ doing: String) -> FetchError {
    switch number {
    case ENOSPC, EDQUOT:
      FetchError(
        .diskFull, "no space left while \(doing)", reason: "\(call): \(text)",
        recovery: "free some space and run the same command again")
    case EFBIG:
      FetchError(
        .localIO, "the file grew beyond what is allowed while \(doing)",
        reason: "\(call): \(text)", recovery: "raise the limit (ulimit -f), or use another disk")
    case EMFILE, ENFILE:
      FetchError(
        .localIO, "too many open files while \(doing)", reason: "\(call): \(text)",
        recovery: "raise the limit (ulimit -n), or run fewer at once")
    case EACCES, EPERM, EROFS, EEXIST, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ETXTBSY:
      FetchError(
        .output, "\(text) while \(doing)", reason: "\(call): \(text)",
        recovery: "check the path and its permissions")
    default:
      FetchError(
        .localIO, "\(text) while \(doing)", reason: "\(call): \(text)",
        recovery: "check the disk and the system log")
    }
  }
}

/// Runs a system call again while a signal interrupts it; returns its result, or throws `errno`.
package func retryingInterrupts<Result: BinaryInteger>(
  _ call: String, _ body: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = body()
    if result >= 0 { return result }
    let number = errno
    if number != EINTR { throw SystemError(call, errno: number) }
  }
}
