import FetchCore
import Foundation
import TestSupport
import Testing

@testable import VideoArchive

@Suite struct ArchivePlaceTests {
  static let unsafe: [(UInt32, String?, String)] = [
    (0x6969, nil, "NFS"), (0x517B, nil, "SMB"), (0xFF53_4D42, nil, "CIFS"),
    (0xFE53_4D42, nil, "SMB"), (0x0BD0_0BD0, nil, "Lustre"), (0x4750_4653, nil, "GPFS"),
    (0x00C3_6400, nil, "Ceph"), (0x5346_414F, nil, "AFS"), (0x0102_1997, nil, "9p"),
    (0x0116_1970, nil, "GFS2"), (0x7461_636F, nil, "OCFS2"), (0x1983_0326, nil, "BeeGFS"),
    (0x6573_5546, "fuse.sshfs", "FUSE (sshfs)"), (0x6573_5546, "virtiofs", "FUSE (virtiofs)"),
    (0x6573_5546, "fuse", "FUSE"), (0x6573_5546, nil, "FUSE"),
  ]

  @Test(arguments: unsafe)
  func networkFileSystemIsRefusedByName(magic: UInt32, type: String?, name: String) throws {
    let folder = try ArchiveFolder()
    let error = #expect(throws: FetchError.self) {
      try Archive(folder.path, fileSystem: { _ in FileSystem(magic: magic, mountType: type) })
    }
    #expect(error?.code == .output)
    #expect(error?.message.hasSuffix("would stand on \(name)") == true)
    #expect(error?.recovery?.contains("local disk") == true)
    #expect(folder.scratch.names().isEmpty)
  }

  @Test(
    arguments: [
      (0xEF53, nil), (0x5846_5342, nil), (0x9123_683E, nil), (0x0102_1994, nil), (0x794C_7630, nil),
      (0x6573_5546, "fuseblk"),
    ] as [(UInt32, String?)])
  func localFileSystemIsWelcome(magic: UInt32, type: String?) throws {
    let folder = try ArchiveFolder()
    _ = try Archive(folder.path, fileSystem: { _ in FileSystem(magic: magic, mountType: type) })
  }

  @Test func systemIsAskedForTheFolderOrTheFile() throws {
    let folder = try ArchiveFolder()
    let asked = Locked<[String]>([])
    for _ in 0..<2 {
      _ = try Archive(
        folder.path,
        fileSystem: { path throws(SystemError) in
          asked.withLock { $0.append(path) }
          return try FileSystem.holding(path)
        })
    }
    #expect(asked.withLock { $0 } == [folder.scratch.path, folder.path])
  }

  @Test func mountTableTellsTheTypeOfADevice() {
    let table = """
      22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
      36 27 0:45 / /mnt/a\\040b rw,relatime shared:1 master:2 - fuse.sshfs host:/x rw
      37 27 8:3 / /ntfs rw - fuseblk /dev/sda3 rw
      broken line
      38 27 8:4
      """
    #expect(FileSystem.mountType(major: 0, minor: 45, in: table) == "fuse.sshfs")
    #expect(FileSystem.mountType(major: 8, minor: 3, in: table) == "fuseblk")
    #expect(FileSystem.mountType(major: 8, minor: 4, in: table) == nil)
    #expect(FileSystem.mountType(major: 9, minor: 9, in: table) == nil)
  }

  @Test func onlyARegularFileCanBeAnArchive() throws {
    let folder = try ArchiveFolder()
    mkfifo(folder.scratch.file("pipe"), 0o600)
    symlink("nowhere", folder.scratch.file("link"))
    _ = try folder.scratch.folder("folder")
    for path in [
      folder.scratch.file("pipe"), folder.scratch.file("link"), folder.scratch.file("folder"),
      "/dev/null", "", folder.scratch.file("missing/done.db"),
    ] {
      let error = #expect(throws: FetchError.self, "\(path)") { try Archive(path) }
      #expect(error?.code == .output, "\(path)")
    }
    #expect(folder.scratch.names() == ["folder", "link", "pipe"])
  }
}

@Suite struct ForeignFileTests {
  /// A file's bytes and the names beside it, to be the same after a refusal.
  private func state(_ folder: ArchiveFolder) -> ([String], Data) {
    let names = folder.scratch.names().filter { $0.hasPrefix("done.db") }
    return (names, fileBytes(folder.path))
  }

  private func refuses(_ folder: ArchiveFolder, _ text: String) throws {
    let before = state(folder)
    let error = #expect(throws: FetchError.self) { try Archive(folder.path) }
    #expect(error?.code == .output)
    #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    #expect(state(folder) == before)
  }

  @Test(arguments: [1, 99, 100, 4096, 20_000])
  func textIsRefusedAndLeftAsItIs(count: Int) throws {
    let folder = try ArchiveFolder()
    try folder.scratch.write("done.db", String(repeating: "x", count: count))
    try refuses(folder, "is no archive")
  }

  @Test(arguments: ["DELETE", "WAL"])
  func otherProgramsDatabaseIsRefusedAndLeftAsItIs(mode: String) throws {
    let folder = try ArchiveFolder()
    let other = try folder.python(
      """
      db = connect()
      db.execute("PRAGMA journal_mode = \(mode)")
      db.execute("PRAGMA application_id = 7")
      db.execute("CREATE TABLE videos (key TEXT)")
      os.kill(os.getpid(), signal.SIGKILL)
      """)
    _ = try other.wait()
    try refuses(folder, "is no archive")
  }

  @Test(arguments: [true, false])
  func newerVersionIsRefused(isInTheLogOnly: Bool) async throws {
    let folder = try ArchiveFolder()
    do { try Archive(folder.path).record(.sample(1)) }
    let newer = try folder.python(
      """
      db = connect()
      db.execute("PRAGMA user_version = 2")
      if \(isInTheLogOnly ? "True" : "False"): os.kill(os.getpid(), signal.SIGKILL)
      """)
    _ = try newer.wait()
    let error = #expect(throws: FetchError.self) { try Archive(folder.path) }
    #expect(error?.code == .output && error?.message.contains("newer") == true)
    #expect(
      try await folder.output(
        ofPython: "print(connect().execute('PRAGMA user_version').fetchone()[0])")
        == "2")
  }

  @Test func damagedArchiveIsSaidToBeOne() throws {
    let folder = try ArchiveFolder()
    do {
      let archive = try Archive(folder.path)
      for number in 0..<200 { try archive.record(.sample(number)) }
    }
    var bytes = fileBytes(folder.path)
    for index in 4096..<bytes.count { bytes[index] = 0xA5 }
    try bytes.write(to: URL(fileURLWithPath: folder.path))
    let archive = try Archive(folder.path)
    let error = #expect(throws: FetchError.self) { try archive.record(.sample(1)) }
    #expect(error?.code == .output && error?.message.contains("damaged") == true)
  }

  @Test func emptyFileBecomesAnArchive() throws {
    let folder = try ArchiveFolder()
    try folder.scratch.write("done.db", "")
    try Archive(folder.path).record(.sample(1))
  }
}

@Suite struct DatabaseErrorTests {
  @Test(
    arguments: [
      (13, 0, .diskFull), (10 | 19 << 8, 0, .diskFull), (10 | 3 << 8, ENOSPC, .diskFull),
      (10 | 3 << 8, EDQUOT, .diskFull), (10 | 3 << 8, EIO, .localIO), (10, 0, .localIO),
      (5, 0, .output), (5 | 1 << 8, 0, .output), (15, 0, .output), (11, 0, .output),
      (26, 0, .output), (8, 0, .output), (14, 0, .output), (14, EACCES, .output),
      (14, EMFILE, .output), (7, 0, .localIO), (21, 0, .internal), (19, 0, .internal),
    ] as [(Int32, Int32, OutcomeCode)])
  func resultCodeHasItsClass(code: Int32, number: Int32, outcome: OutcomeCode) {
    let error = DatabaseError(code: code, systemNumber: number, text: "t").fetchError("x", "/a")
    #expect(error.code == outcome)
    #expect(error.message.contains("/a"))
  }
}
