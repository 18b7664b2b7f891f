// One connection to SQLite and the statements that it keeps. Thin: what is asked is `Archive`'s.

internal import CSQLite
import FetchCore

/// An open database.
///
/// SAFETY of `@unchecked Sendable`: `Archive` hands it to one thread at a time and takes it back
/// before the next; SQLite's multi-thread mode asks for no more. The pointers live until `deinit`.
final class Database: @unchecked Sendable {
  private let connection: OpaquePointer
  /// By their SQL; prepared once.
  private var statements: [String: Statement] = [:]
  private var isOpen = true

  /// Opens a file, which is made where it is missing.
  ///
  /// Reads no more than the file's head and changes nothing.
  init(_ path: String) throws(DatabaseError) {
    var connection: OpaquePointer?
    let flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let result = sqlite3_open_v2(path, &connection, flags, nil)
    guard result == SQLITE_OK, let connection else {
      // Even a failed open leaves a connection, which has the error.
      let error = Self.error(connection, result)
      sqlite3_close_v2(connection)
      throw error
    }
    self.connection = connection
  }

  deinit { close() }

  /// Ends the connection; nothing can be asked of it afterwards.
  func close() {
    guard isOpen else { return }
    isOpen = false
    for statement in statements.values { statement.finalize() }
    statements = [:]
    // Whoever closes last writes the log back into the file and removes it.
    sqlite3_close_v2(connection)
  }

  /// How long a statement waits for another process's lock.
  func setBusyTimeout(_ timeout: Duration) {
    sqlite3_busy_timeout(connection, Int32(clamping: Int64(timeout / .milliseconds(1))))
  }

  var isReadOnly: Bool { sqlite3_db_readonly(connection, "main") == 1 }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(connection) == 0 }

  /// The first bytes of the file as they stand there, padded with zeros, and its size.
  func head(_ count: Int) throws(DatabaseError) -> (bytes: [UInt8], size: Int64) {
    var bytes = [UInt8](repeating: 0, count: count)
    var size: Int64 = 0
    let result = vf_read_file(connection, &bytes, Int32(clamping: count), &size)
    guard result == SQLITE_OK else { throw Self.error(connection, result) }
    return (bytes, size)
  }

  /// Runs SQL that has no parameters and whose rows don't matter.
  func execute(_ sql: String) throws(DatabaseError) {
    let result = sqlite3_exec(connection, sql, nil, nil, nil)
    guard result == SQLITE_OK else { throw Self.error(connection, result) }
  }

  /// Runs a statement and hands each row to `body` while that returns true.
  func query(
    _ sql: String, _ values: [SQLValue] = [], _ body: (Row) -> Bool = { _ in true }
  ) throws(DatabaseError) {
    let statement = try prepared(sql)
    defer { statement.reset() }
    for (index, value) in values.enumerated() {
      let result = statement.bind(value, at: Int32(index + 1))
      guard result == SQLITE_OK else { throw Self.error(connection, result) }
    }
    while true {
      switch sqlite3_step(statement.pointer) {
      case SQLITE_ROW: if !body(Row(statement.pointer)) { return }
      case SQLITE_DONE: return
      case let result: throw Self.error(connection, result)
      }
    }
  }

  /// The first column of the first row, as text.
  func text(_ sql: String) throws(DatabaseError) -> String? {
    var text: String?
    try query(sql) { row in
      text = row.text(0)
      return false
    }
    return text
  }

  private func prepared(_ sql: String) throws(DatabaseError) -> Statement {
    if let statement = statements[sql] { return statement }
    var pointer: OpaquePointer?
    let result = sqlite3_prepare_v3(
      connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
    guard result == SQLITE_OK, let pointer else { throw Self.error(connection, result) }
    let statement = Statement(pointer: pointer)
    statements[sql] = statement
    return statement
  }

  private static func error(_ connection: OpaquePointer?, _ code: Int32) -> DatabaseError {
    let primary = code & 0xFF
    let fromSystem = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN
    return DatabaseError(
      code: code, systemNumber: fromSystem ? sqlite3_system_errno(connection) : 0,
      text: String(cString: connection.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)))
  }
}

/// A value to be bound.
enum SQLValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)

  init(_ value: String?) { self = value.map { .text($0) } ?? .null }
  init(_ value: Int64?) { self = value.map { .integer($0) } ?? .null }
  init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
  init(_ value: Double?) { self = value.map { .real($0) } ?? .null }
}

/// A prepared statement; its owner is `Database`.
private struct Statement {
  let pointer: OpaquePointer

  func bind(_ value: SQLValue, at index: Int32) -> Int32 {
    switch value {
    case .null: return sqlite3_bind_null(pointer, index)
    case .integer(let number): return sqlite3_bind_int64(pointer, index, number)
    case .real(let number): return sqlite3_bind_double(pointer, index, number)
    case .text(var text):
      return text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          vf_bind_text(pointer, index, $0.baseAddress, UInt64($0.count))
        }
      }
    }
  }

  func reset() {
    // Its result repeats an error that the step has told.
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  func finalize() { sqlite3_finalize(pointer) }
}

/// The row that a statement stands on; valid while it does.
struct Row {
  private let pointer: OpaquePointer

  fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

  func text(_ column: Int32) -> String? {
    guard let bytes = sqlite3_column_text(pointer, column) else { return nil }
    let count = Int(sqlite3_column_bytes(pointer, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func integer(_ column: Int32) -> Int64? {
    isNull(column) ? nil : sqlite3_column_int64(pointer, column)
  }

  func real(_ column: Int32) -> Double? {
    isNull(column) ? nil : sqlite3_column_double(pointer, column)
  }

  private func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(pointer, column) == SQLITE_NULL
  }
}
