// The archive: which videos are done, and where they are. An SQLite database in WAL mode, so that
// many processes may use it at once, and one that dies at any moment leaves it whole.
//
// One connection, which belongs to one thread at a time; no lock is held while the disk is waited for.

package import FetchCore

/// An open archive.
///
/// Any thread may use it. Every call may wait for the disk, or for another process, so none belongs
/// into a task.
package final class Archive: Sendable {
  /// Some entries in the order of listing.
  package struct Page: Sendable {
    package fileprivate(set) var entries: [ArchiveEntry] = []
    /// Where the next ones begin; nil at the end.
    package fileprivate(set) var next: Position?
  }

  /// A place in the list of entries.
  package struct Position: Sendable, Hashable {
    fileprivate let finished: Int64
    fileprivate let serial: Int64
  }

  private struct State: Sendable {
    /// nil while a thread has it.
    var idle: Database?
    var queue = CommitQueue()
  }

  private enum Turn {
    /// Another thread has committed what this one brought.
    case over(Result<Void, FetchError>)
    case lead(Database)
  }

  /// Absolute.
  package let path: String
  private let state: Monitor<State>
  private let onCommit: @Sendable (Int) -> Void

  /// Opens the archive at a path, which is made where there is none.
  ///
  /// - Parameters:
  ///   - busyTimeout: how long another process's lock is waited for.
  ///   - fileSystem: tells what a path stands on.
  ///   - onCommit: told how many entries each transaction brought, on the thread that made it.
  /// - Throws: `.output` where the place is unfit or holds something else, which is left as it is.
  package init(
    _ path: String, busyTimeout: Duration = .seconds(30),
    fileSystem: (String) throws(SystemError) -> FileSystem = FileSystem.holding,
    onCommit: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws(FetchError) {
    let path = ArchivePlace.absolute(path)
    try ArchivePlace.check(path, fileSystem)
    let database = try ArchiveOpening.open(path, busyTimeout: busyTimeout)
    self.path = path
    self.onCommit = onCommit
    state = Monitor(State(idle: database))
  }

  /// Writes the log back into the file and removes it, where nobody else has the file open.
  ///
  /// For the end of a process whose threads may still hold this object; nothing can be read or
  /// recorded afterwards. Waits a second at most for a thread that is at work on the database.
  package func close() {
    let database = state.wait(timeout: .seconds(1)) { state -> Database? in
      defer { state.idle = nil }
      return state.idle
    }
    database?.close()
  }

  // MARK: - Writing

  /// Takes an entry in, in place of one of the same key and format.
  ///
  /// It is on the disk when this returns. Threads that call at once share a transaction.
  package func record(_ entry: ArchiveEntry) throws(FetchError) {
    let ticket = state.withLock { $0.queue.enter(entry) }
    let turn = state.wait { state -> Turn? in
      if let outcome = state.queue.outcome(of: ticket) { return .over(outcome) }
      guard let database = state.idle else { return nil }
      state.idle = nil
      return .lead(database)
    }
    switch turn {
    case .over(let outcome): try outcome.get()
    case .lead(let database):
      let outcome = commit(with: database)
      state.withLock { state in
        state.idle = database
        state.queue.settle(outcome)
        _ = state.queue.outcome(of: ticket)
      }
      try outcome.get()
    case nil: throw FetchError(.internal, "a wait without a limit came to its end")
    }
  }

  /// How many entries wait for a commit that has not begun.
  package var waiting: Int { state.peek { $0.queue.count } }

  /// Commits all that wait by the time in which the database may be written to.
  private func commit(with database: Database) -> Result<Void, FetchError> {
    do throws(DatabaseError) {
      try database.execute("BEGIN IMMEDIATE")
      let entries = state.withLock { $0.queue.takeAll() }
      for entry in entries {
        try database.query(ArchiveTable.upsert, ArchiveTable.values(of: entry))
      }
      try database.execute("COMMIT")
      onCommit(entries.count)
      return .success(())
    } catch {
      if database.isInTransaction { try? database.execute("ROLLBACK") }
      // Where the transaction could not begin, they have not been taken yet.
      state.withLock { _ = $0.queue.takeAll() }
      return .failure(error.fetchError("writing to", path))
    }
  }

  // MARK: - Reading

  /// The entry of a key and a format; nil where there is none.
  package func entry(key: String, format: String) throws(FetchError) -> ArchiveEntry? {
    try first(ArchiveTable.byKey, [.text(key), .text(format)])
  }

  /// The newest entry of a name, in a format or in any; nil where there is none.
  package func entry(id: String, format: String? = nil) throws(FetchError) -> ArchiveEntry? {
    try first(ArchiveTable.byID, [.text(id), SQLValue(format)])
  }

  /// Entries, newest first.
  ///
  /// - Parameter position: `next` of the page before; nil for the first page.
  package func entries(
    limit: Int, after position: Position? = nil
  ) throws(FetchError) -> Page {
    var page = Page()
    guard limit > 0 else { return page }
    var values: [SQLValue] = [.integer(Int64(limit))]
    if let position { values += [.integer(position.finished), .integer(position.serial)] }
    var last: Position?
    try read(position == nil ? ArchiveTable.newest : ArchiveTable.older, values) { row in
      let entry = ArchiveTable.entry(of: row)
      page.entries.append(entry)
      last = Position(finished: entry.finished, serial: ArchiveTable.serial(of: row))
      return true
    }
    if page.entries.count == limit { page.next = last }
    return page
  }

  private func first(_ sql: String, _ values: [SQLValue]) throws(FetchError) -> ArchiveEntry? {
    var entry: ArchiveEntry?
    try read(sql, values) { row in
      entry = ArchiveTable.entry(of: row)
      return false
    }
    return entry
  }

  private func read(
    _ sql: String, _ values: [SQLValue], _ body: (Row) -> Bool
  ) throws(FetchError) {
    let idle = state.wait { state -> Database? in
      defer { state.idle = nil }
      return state.idle
    }
    guard let database = idle else { return }
    defer { state.withLock { $0.idle = database } }
    do throws(DatabaseError) {
      try database.query(sql, values, body)
    } catch {
      throw error.fetchError("reading", path)
    }
  }
}
