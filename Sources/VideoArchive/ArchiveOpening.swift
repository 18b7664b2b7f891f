// How the file of an archive is opened: its head is looked at first, and only what is an archive, or
// nothing yet, is written to.

import FetchCore
import Glibc

enum ArchiveOpening {
  /// What keeps a file from being an archive for this program.
  enum Obstacle {
    case otherFile
    case otherApplication
    case newerVersion(Int64)
    case readOnly
    case noWAL(String)

    func error(_ path: String) -> FetchError {
      switch self {
      case .otherFile:
        FetchError(
          .output, "\(path) is no archive", reason: "it is no SQLite database",
          recovery: "give the archive another name; this file was left as it is")
      case .otherApplication:
        FetchError(
          .output, "\(path) is no archive", reason: "it is another program's database",
          recovery: "give the archive another name; this file was left as it is")
      case .newerVersion(let version):
        FetchError(
          .output, "the archive \(path) is of a newer vidfetch",
          reason: "its format is version \(version), and this is vidfetch \(vidfetchVersion)",
          recovery: "use the newer vidfetch, or another archive")
      case .readOnly:
        FetchError(
          .output, "the archive \(path) can't be written to",
          recovery: "check the permissions of the file and its folder")
      case .noWAL(let mode):
        FetchError(
          .output, "the archive \(path) can't be used by several processes",
          reason: "SQLite has no write-ahead log here, only the mode \(mode)",
          recovery: "put it on another disk of this machine")
      }
    }
  }

  /// Opens the archive at an absolute path, making it where there is none.
  static func open(_ path: String, busyTimeout: Duration) throws(FetchError) -> Database {
    let obstacle: Obstacle
    do throws(DatabaseError) {
      let database = try Database(path)
      database.setBusyTimeout(busyTimeout)
      guard let found = try prepare(database, by: .now + busyTimeout) else { return database }
      obstacle = found
    } catch {
      throw error.fetchError("opening", path)
    }
    throw obstacle.error(path)
  }

  private static func prepare(
    _ database: Database, by deadline: ContinuousClock.Instant
  ) throws(DatabaseError) -> Obstacle? {
    while true {
      do throws(DatabaseError) {
        return try prepare(database)
      } catch {
        // The change to WAL mode does not wait by itself for others that open the file too.
        guard error.isBusy, ContinuousClock.now < deadline else { throw error }
        usleep(5000)
      }
    }
  }

  private static func prepare(_ database: Database) throws(DatabaseError) -> Obstacle? {
    let (head, size) = try database.head(headSize)
    if size > 0, let obstacle = obstacle(in: head) { return obstacle }
    if database.isReadOnly { return .readOnly }
    // What is written in the file's head stands there before the mode is WAL: in that mode it might
    // be in the log alone, and the look at the head would not see it.
    if try number(database, "PRAGMA user_version") == 0, let obstacle = try create(database) {
      return obstacle
    }
    let mode = try database.text("PRAGMA journal_mode = WAL") ?? "none"
    guard mode == "wal" else { return .noWAL(mode) }
    // Each commit is on the disk before it counts, which WAL mode alone does not promise.
    try database.execute("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF")
    let version = try number(database, "PRAGMA user_version")
    return version > ArchiveTable.version ? .newerVersion(version) : nil
  }

  /// Makes the table, unless another process has just done it.
  private static func create(_ database: Database) throws(DatabaseError) -> Obstacle? {
    try database.execute("BEGIN IMMEDIATE")
    do throws(DatabaseError) {
      let isNew = try number(database, "PRAGMA user_version") == 0
      if isNew, try number(database, "SELECT count(*) FROM sqlite_schema") > 0 {
        try database.execute("ROLLBACK")
        return .otherApplication
      }
      if isNew { try database.execute(ArchiveTable.definition) }
      try database.execute("COMMIT")
      return nil
    } catch {
      if database.isInTransaction { try? database.execute("ROLLBACK") }
      throw error
    }
  }

  private static func number(_ database: Database, _ sql: String) throws(DatabaseError) -> Int64 {
    try database.text(sql).flatMap { Int64($0) } ?? 0
  }

  /// Bytes of the head of a database file (sqlite.org/fileformat2.html, section 1.3).
  static let headSize = 100

  private static func obstacle(in head: [UInt8]) -> Obstacle? {
    guard head.starts(with: Array("SQLite format 3\0".utf8)) else { return .otherFile }
    let identity = bigEndian(head[68..<72])
    guard identity == UInt32(bitPattern: ArchiveTable.applicationID) else {
      return .otherApplication
    }
    let version = Int64(bigEndian(head[60..<64]))
    return version > ArchiveTable.version ? .newerVersion(version) : nil
  }

  private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
