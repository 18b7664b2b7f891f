// What SQLite's result codes mean for an item. Pure.

internal import CSQLite
import FetchCore
import Glibc

/// A call of SQLite's that failed.
struct DatabaseError: Error, Sendable, Hashable {
  /// The extended result code.
  let code: Int32
  /// `errno` of the system call behind `SQLITE_IOERR` and `SQLITE_CANTOPEN`; else 0.
  let systemNumber: Int32
  /// SQLite's own words.
  let text: String

  /// The code without its extension.
  var primary: Int32 { code & 0xFF }

  /// Whether others have what was asked for, so that it may be had later.
  var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_PROTOCOL }

  /// - Parameters:
  ///   - doing: what was being done, such as "writing to".
  ///   - path: the archive's.
  func fetchError(_ doing: String, _ path: String) -> FetchError {
    let reason = "SQLite: \(text)"
    let what = "\(doing) the archive \(path)"
    if isFull {
      return FetchError(
        .diskFull, "no space left while \(what)", reason: reason,
        recovery: "free some space and run the same command again")
    }
    switch (primary, systemNumber) {
    case (SQLITE_BUSY, _), (SQLITE_PROTOCOL, _), (SQLITE_LOCKED, _):
      return FetchError(
        .output, "the archive \(path) is locked by another process", reason: reason,
        recovery: "look for a process that holds it, and run the same command again")
    case (SQLITE_CORRUPT, _), (SQLITE_NOTADB, _):
      return FetchError(
        .output, "the archive \(path) is damaged", reason: reason,
        recovery: "move it away; a new one is begun then")
    case (SQLITE_CANTOPEN, 1...):
      var error = SystemError("open", errno: systemNumber).fetchError(what)
      error.code = .output
      return error
    case (SQLITE_CANTOPEN, _), (SQLITE_READONLY, _), (SQLITE_PERM, _), (SQLITE_AUTH, _):
      return FetchError(
        .output, "\(what) is not possible", reason: reason,
        recovery: "check the path and its permissions")
    case (SQLITE_IOERR, _), (SQLITE_NOMEM, _), (SQLITE_NOLFS, _), (SQLITE_INTERRUPT, _):
      return FetchError(
        .localIO, "\(what) failed", reason: reason,
        recovery: "check the disk and the system log")
    default:
      return FetchError(.internal, "\(what) failed", reason: reason)
    }
  }

  private var isFull: Bool {
    primary == SQLITE_FULL || systemNumber == ENOSPC || systemNumber == EDQUOT
      // The shared memory's file could not grow; that comes without `errno`.
      || code == SQLITE_IOERR | (19 << 8)
  }
}
