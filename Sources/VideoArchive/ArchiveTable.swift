// The one table of an archive: its columns, the statements over them, and an entry as a row. Pure.

/// What makes a database an archive.
enum ArchiveTable {
  /// `vidf` in ASCII; in the file's head at byte 68 (sqlite.org/fileformat2.html, section 1.3).
  static let applicationID: Int32 = 0x7669_6466
  static let version: Int64 = 1

  /// `serial` keeps the order of first arrival among entries of one second.
  static let definition = """
    CREATE TABLE videos (
      serial INTEGER PRIMARY KEY,
      key TEXT NOT NULL,
      format TEXT NOT NULL,
      id TEXT NOT NULL,
      url TEXT NOT NULL,
      title TEXT NOT NULL,
      path TEXT NOT NULL,
      size INTEGER NOT NULL,
      modified INTEGER NOT NULL,
      sha256 TEXT,
      strong_etag TEXT,
      weak_etag TEXT,
      last_modified TEXT,
      source_bytes INTEGER,
      duration REAL,
      width INTEGER,
      height INTEGER,
      started INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      UNIQUE (key, format)
    ) STRICT;
    CREATE INDEX videos_by_id ON videos (id);
    CREATE INDEX videos_by_time ON videos (finished);
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(version);
    """

  private static let columns = """
    key, format, id, url, title, path, size, modified, sha256, strong_etag, weak_etag, \
    last_modified, source_bytes, duration, width, height, started, finished
    """

  static let upsert = """
    INSERT INTO videos (\(columns)) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) \
    ON CONFLICT (key, format) DO UPDATE SET \
    id = ?3, url = ?4, title = ?5, path = ?6, size = ?7, modified = ?8, sha256 = ?9, \
    strong_etag = ?10, weak_etag = ?11, last_modified = ?12, source_bytes = ?13, duration = ?14, \
    width = ?15, height = ?16, started = ?17, finished = ?18
    """

  static let byKey = "SELECT \(columns), serial FROM videos WHERE key = ?1 AND format = ?2"

  static let byID = """
    SELECT \(columns), serial FROM videos WHERE id = ?1 AND (?2 IS NULL OR format = ?2) \
    ORDER BY finished DESC, serial DESC LIMIT 1
    """

  static let newest = """
    SELECT \(columns), serial FROM videos ORDER BY finished DESC, serial DESC LIMIT ?1
    """

  static let older = """
    SELECT \(columns), serial FROM videos WHERE (finished, serial) < (?2, ?3) \
    ORDER BY finished DESC, serial DESC LIMIT ?1
    """

  static func values(of entry: ArchiveEntry) -> [SQLValue] {
    [
      .text(entry.key), .text(entry.format), .text(entry.id), .text(entry.url),
      .text(entry.title), .text(entry.path), .integer(entry.size), .integer(entry.modified),
      SQLValue(entry.sha256), SQLValue(entry.strongETag), SQLValue(entry.weakETag),
      SQLValue(entry.lastModified), SQLValue(entry.sourceBytes), SQLValue(entry.duration),
      SQLValue(entry.width), SQLValue(entry.height), .integer(entry.started),
      .integer(entry.finished),
    ]
  }

  static func entry(of row: Row) -> ArchiveEntry {
    var entry = ArchiveEntry(
      id: row.text(2) ?? "", key: row.text(0) ?? "", format: row.text(1) ?? "",
      url: row.text(3) ?? "", title: row.text(4) ?? "", path: row.text(5) ?? "",
      size: row.integer(6) ?? 0, modified: row.integer(7) ?? 0, started: row.integer(16) ?? 0,
      finished: row.integer(17) ?? 0)
    entry.sha256 = row.text(8)
    entry.strongETag = row.text(9)
    entry.weakETag = row.text(10)
    entry.lastModified = row.text(11)
    entry.sourceBytes = row.integer(12)
    entry.duration = row.real(13)
    entry.width = row.integer(14).flatMap { Int(exactly: $0) }
    entry.height = row.integer(15).flatMap { Int(exactly: $0) }
    return entry
  }

  static func serial(of row: Row) -> Int64 { row.integer(18) ?? 0 }
}
