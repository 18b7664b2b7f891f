import FetchCore
import Foundation
import TestSupport
import Testing
import VideoArchive

@Suite struct ArchiveTests {
  @Test func everyMemberSurvivesAReopening() throws {
    let folder = try ArchiveFolder()
    let full = ArchiveEntry.sample(7)
    var bare = ArchiveEntry(
      id: "", key: "k\0ey", format: "mov", url: "", title: "", path: "", size: 0, modified: -1,
      started: 0, finished: 0)
    bare.title = ""
    do {
      let archive = try Archive(folder.path)
      try archive.record(full)
      try archive.record(bare)
    }
    let archive = try Archive(folder.path)
    #expect(try archive.entry(key: full.key, format: "mp4") == full)
    #expect(try archive.entry(key: bare.key, format: "mov") == bare)
    #expect(try archive.entry(id: full.id) == full)
    #expect(try archive.entry(key: full.key, format: "mov") == nil)
    #expect(try archive.entry(id: "0") == nil)
  }

  @Test func onlyTheFileIsLeftOnceItIsClosed() throws {
    let folder = try ArchiveFolder()
    do { try Archive(folder.path).record(.sample(1)) }
    #expect(folder.scratch.names() == ["done.db"])
  }

  @Test func sameKeyAndFormatTakeThePlaceOfTheOlderEntry() throws {
    let folder = try ArchiveFolder()
    let archive = try Archive(folder.path)
    var entry = ArchiveEntry.sample(1)
    try archive.record(entry)
    try archive.record(.sample(1, format: "mov"))
    entry.title = "new"
    entry.sha256 = nil
    entry.finished += 5
    try archive.record(entry)
    #expect(try archive.entry(key: entry.key, format: "mp4") == entry)
    #expect(try archive.entries(limit: 10).entries.map(\.format) == ["mp4", "mov"])
    #expect(try archive.entry(id: entry.id) == entry)
  }

  @Test(arguments: [1, 3, 7, 100])
  func pagesListAllNewestFirst(limit: Int) throws {
    let folder = try ArchiveFolder()
    let archive = try Archive(folder.path)
    // Three share each second.
    for number in 0..<21 {
      var entry = ArchiveEntry.sample(number)
      entry.finished = Int64(number / 3)
      try archive.record(entry)
    }
    var keys: [String] = []
    var position: Archive.Position?
    repeat {
      let page = try archive.entries(limit: limit, after: position)
      #expect(page.entries.count <= limit)
      keys += page.entries.map(\.key)
      position = page.next
    } while position != nil
    #expect(keys == (0..<21).reversed().map { ArchiveEntry.sample($0).key })
    #expect(try archive.entries(limit: 0).entries.isEmpty)
  }

  @Test func commitsAreOnTheDiskBeforeTheyCount() throws {
    let folder = try ArchiveFolder()
    let archive = try Archive(folder.path)
    try archive.record(.sample(1))
    // What a power failure right now would leave is what stands in the files.
    let copy = try ArchiveFolder()
    for name in ["done.db", "done.db-wal"] {
      try FileManager.default.copyItem(
        atPath: folder.scratch.file(name), toPath: copy.scratch.file(name))
    }
    #expect(try Archive(copy.path).entry(id: ArchiveEntry.sample(1).id) == .sample(1))
  }
}

@Suite struct ArchiveSharingTests {
  @Test func threadsThatRecordAtOnceShareATransaction() async throws {
    let folder = try ArchiveFolder()
    let commits = Locked<[Int]>([])
    let archive = try Archive(
      folder.path, onCommit: { count in commits.withLock { $0.append(count) } })
    let holder = try folder.lockHolder()
    let failures = Locked<[any Error]>([])
    async let recorded: Void = onThreads(16) { number in
      do { try archive.record(.sample(number)) } catch { failures.withLock { $0.append(error) } }
    }
    try await onThread {
      // The threads begin when the runner has time for the task that makes them.
      Result {
        try waitUntil("all threads to wait for the lock", limit: 180) { archive.waiting == 16 }
      }
    }.get()
    holder.signal(SIGKILL)
    await recorded
    #expect(failures.withLock(\.count) == 0)
    #expect(commits.withLock { $0 } == [16])
    #expect(try archive.entries(limit: 100).entries.count == 16)
  }

  @Test func manyProcessesAndThreadsLoseNothing() async throws {
    let folder = try ArchiveFolder()
    let archives = try (0..<4).map { _ in try Archive(folder.path) }
    let writers = try (0..<4).map { number in
      try folder.python(
        """
        db = connect()
        for i in range(500):
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO videos (key, format, id, url, title, path, size, modified,"
                       " started, finished) VALUES (?, 'mp4', '', '', '', '', 0, 0, 0, 0)",
                       (f"python-\(number)-{i}",))
            db.execute("COMMIT")
        """)
    }
    let failures = Locked<[any Error]>([])
    await onThreads(16) { thread in
      for number in 0..<125 {
        do {
          try archives[thread % 4].record(.sample(thread * 1000 + number))
        } catch {
          failures.withLock { $0.append(error) }
        }
      }
    }
    for writer in writers {
      let outcome = try await onThread { Result { try writer.wait(limit: 120) } }.get()
      #expect(outcome.status == .exited(0))
    }
    #expect(failures.withLock { $0.map { "\($0)" } } == [])
    #expect(try await folder.output(ofPython: integrity) == "ok 4000")
  }

  @Test func manyMayBeginAnArchiveAtOnce() async throws {
    let folder = try ArchiveFolder()
    let failures = Locked<[any Error]>([])
    await onThreads(16) { thread in
      do {
        try Archive(folder.path).record(.sample(thread))
      } catch {
        failures.withLock { $0.append(error) }
      }
    }
    #expect(failures.withLock { $0.map { "\($0)" } } == [])
    #expect(try await folder.output(ofPython: integrity) == "ok 16")
  }

  @Test func killedWriterLeavesNothingButWhatItCommitted() async throws {
    let folder = try ArchiveFolder()
    do { try Archive(folder.path).record(.sample(1)) }
    for _ in 0..<5 {
      let writer = try folder.python(
        """
        db = connect()
        db.execute("PRAGMA wal_autocheckpoint = 3")
        base = db.execute("SELECT count(*) FROM videos").fetchone()[0]
        i = base
        while True:
            db.execute("INSERT INTO videos (key, format, id, url, title, path, size, modified,"
                       " started, finished) VALUES (?, 'mp4', '', '', '', '', 0, 0, 0, 0)",
                       (f"python-{i}",))
            i += 1
            print(i - base, flush=True)
        """)
      try waitUntil("some rows of the writer") { writer.stdout.split(separator: "\n").count > 20 }
      writer.signal(SIGKILL)
      _ = try writer.wait()
      let told = writer.stdout.split(separator: "\n").count
      let archive = try Archive(folder.path)
      try archive.record(.sample(1))
      let rows = try archive.entries(limit: 100_000).entries.filter { $0.key.hasPrefix("python-") }
      #expect(rows.count >= told)
    }
    #expect(try await folder.output(ofPython: integrity).hasPrefix("ok "))
  }

  @Test func lockThatIsNeverGivenBackEndsTheWait() throws {
    let folder = try ArchiveFolder()
    let archive = try Archive(folder.path, busyTimeout: .milliseconds(50))
    let holder = try folder.lockHolder()
    let error = #expect(throws: FetchError.self) { try archive.record(.sample(1)) }
    #expect(error?.code == .output && error?.message.contains("locked") == true)
    // Reading waits for nobody.
    #expect(try archive.entries(limit: 1).entries.isEmpty)
    holder.signal(SIGKILL)
    _ = try holder.wait()
    try archive.record(.sample(2))
    #expect(try archive.entries(limit: 10).entries == [.sample(2)])
  }

  private let integrity = """
    db = connect()
    print(db.execute("PRAGMA integrity_check").fetchone()[0],
          db.execute("SELECT count(*) FROM videos").fetchone()[0])
    """
}

@Suite struct ArchiveDiskTests {
  @Test(.enabled(if: MountedDisk.isPossible(.tmpfs), "no tmpfs can be mounted here"))
  func fullDiskLosesNothingAndIsGotOver() throws {
    let disk = try MountedDisk(.tmpfs, megabytes: 1)
    let folder = try ArchiveFolder(on: disk)
    let archive = try Archive(folder.path)
    _ = try runTool(["dd", "if=/dev/zero", "of=\(disk.file("ballast"))", "bs=4096"])
    var recorded = 0
    var failure: FetchError?
    while failure == nil, recorded < 10_000 {
      do throws(FetchError) {
        try archive.record(.sample(recorded))
        recorded += 1
      } catch {
        failure = error
      }
    }
    #expect(failure?.code == .diskFull, "\(String(describing: failure))")
    #expect(throws: FetchError.self) { try Archive(disk.file("other.db")) }
    unlink(disk.file("ballast"))
    #expect(try archive.entries(limit: 10_000).entries.count == recorded)
    try archive.record(.sample(recorded))
    #expect(try archive.entries(limit: 10_000).entries.count == recorded + 1)
    _ = try Archive(disk.file("other.db"))
  }
}
