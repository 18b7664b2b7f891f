// An archive in a folder of its own, and the python3 processes that use the same file.

import FetchCore
import Foundation
import TestSupport
import VideoArchive

/// A scratch folder with a place for an archive.
struct ArchiveFolder {
  let scratch: ScratchDirectory
  let path: String

  init() throws {
    scratch = try ScratchDirectory()
    path = scratch.file("done.db")
  }

  init(on disk: MountedDisk) throws {
    scratch = try ScratchDirectory()
    path = disk.file("done.db")
  }

  /// Starts a python3 script that finds the archive's path in `path` and `sqlite3` imported.
  func python(_ script: String) throws -> ChildProcess {
    let head = """
      import os, signal, sqlite3, sys
      path = sys.argv[1]
      def connect():
          return sqlite3.connect(path, timeout=60, isolation_level=None)

      """
    let file = try scratch.write("script-\(UUID().uuidString).py", head + script)
    return try ChildProcess(
      ["python3", file, path], environment: systemEnvironment, folder: scratch.path,
      captureIn: scratch.path)
  }

  /// Runs a script to its end and returns what it printed.
  @discardableResult
  func output(ofPython script: String) async throws -> String {
    let process = try python(script)
    let outcome = try await onThread { Result { try process.wait() } }.get()
    guard outcome.status == .exited(0) else { throw ProcessTrouble.failed(outcome.stderr) }
    return outcome.stdout.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// A process that holds the write lock, with a row that it has not committed, until it is killed.
  func lockHolder() throws -> ChildProcess {
    let holder = try python(
      """
      db = connect()
      db.execute("BEGIN IMMEDIATE")
      db.execute("INSERT INTO videos (key, format, id, url, title, path, size, modified, started,"
                 " finished) VALUES ('uncommitted', 'mp4', '', '', '', '', 0, 0, 0, 0)")
      print("held", flush=True)
      signal.pause()
      """)
    try waitUntil("the write lock to be held") { holder.stdout.contains("held") }
    return holder
  }
}

extension ArchiveEntry {
  /// An entry with every member set, told from others by its number.
  static func sample(_ number: Int, format: String = "mp4") -> ArchiveEntry {
    var entry = ArchiveEntry(
      id: String(format: "%016x", number), key: "https://example.org/\(number)", format: format,
      url: "https://example.org/\(number)?sig=…", title: "Ein Titel, \(number) \u{1F3AC}",
      path: "/videos/\(number).mp4", size: Int64(number) << 32, modified: Int64.max - Int64(number),
      started: 1_700_000_000, finished: 1_700_000_000 + Int64(number))
    entry.sha256 = String(repeating: "ab", count: 32)
    entry.strongETag = #""e\#(number)""#
    entry.weakETag = #"W/"w\#(number)""#
    entry.lastModified = "Tue, 01 Jul 2025 00:00:00 GMT"
    entry.sourceBytes = Int64(number)
    entry.duration = Double(number) + 0.125
    entry.width = 1920
    entry.height = 1080
    return entry
  }
}

/// Runs `body` on so many threads at once, and waits for all of them.
///
/// The test's own thread is one of few, which other tests need meanwhile.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
  await withTaskGroup { group in
    for number in 0..<count { group.addTask { await onThread { body(number) } } }
  }
}

/// Runs `body` on a thread of its own.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    do {
      try WorkerThread.start("test") { continuation.resume(returning: body()) }
    } catch {
      continuation.resume(returning: body())
    }
  }
}
