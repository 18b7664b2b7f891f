// What an archive spares a job, and what a job tells an archive: against a real server, with real media.

import FetchCore
import Foundation
import PartialStorage
import TestSupport
import Testing
import VideoArchive

@testable import VidFetchKit

@Suite struct JobArchiveTests {
  /// A server, a folder for results and an archive beside it.
  struct Place {
    let server: FaultServer
    let scratch: ScratchDirectory
    let folder: String
    let archive: Archive

    init() throws {
      server = try FaultServer()
      scratch = try ScratchDirectory()
      folder = try scratch.folder("videos")
      archive = try Archive(scratch.file("done.db"))
    }

    var film: String { "\(folder)/film.mp4" }

    func request(_ path: String = "plain.mp4") -> JobRequest {
      var request = JobRequest(source: path.hasPrefix("/") ? path : server.url(path))
      request.destination = .file(film)
      request.archive = JobArchive(archive)
      request.transfer.retries = 0
      return request
    }

    func gets() throws -> [FaultServer.Request] { try server.gets() }
  }

  /// Runs a job on its own thread; the test's is one of few, which others need.
  private func run(_ request: JobRequest) async -> (result: JobResult, warnings: [FetchWarning]) {
    let result = await withCheckedContinuation { continuation in
      FetchJob(request) { event in
        if case .result(let result) = event { continuation.resume(returning: result) }
      }.start()
    }
    return (result, result.warnings)
  }

  private func sha256(_ path: String) throws -> String {
    String(try outputOfTool(["sha256sum", path]).prefix(64))
  }

  // MARK: - Recording

  @Test func resultIsRecordedWithAllThatIsKnown() async throws {
    let place = try Place()
    let (result, _) = await run(place.request("plain.mp4?token=secret"))
    #expect(result.code == .ok && result.skipped == nil)
    let entry = try #require(try place.archive.entries(limit: 10).entries.first)
    #expect(entry.path == place.film && entry.title == "film" && entry.format == "mp4")
    #expect(entry.size == result.bytes && entry.duration == result.duration)
    #expect(try entry.sha256 == sha256(place.film) && entry.sha256 == result.sha256)
    #expect(entry.strongETag?.hasPrefix("\"") == true && entry.lastModified != nil)
    #expect(entry.sourceBytes == fileSize(FixtureFile.media("plain.mp4")).map(Int64.init))
    #expect((entry.width ?? 0) > 0 && (entry.height ?? 0) > 0)
    #expect(entry.started <= entry.finished)
    #expect(entry.id.count == 16 && entry.key.hasPrefix(entry.id))
    let text = String(decoding: fileBytes(place.archive.path + "-wal"), as: UTF8.self)
    #expect(!text.contains("secret"))
    #expect(folderNames(place.folder) == ["film.mp4"])
  }

  @Test func hashIsTakenOnlyWhereItIsWanted() async throws {
    let place = try Place()
    var request = place.request()
    request.archive = nil
    #expect(await run(request).result.sha256 == nil)
    request.existingTarget = .overwrite
    request.hashesResult = true
    #expect(try await run(request).result.sha256 == sha256(place.film))
  }

  @Test func archiveThatCannotBeWrittenFailsTheItemAndTheNextRunHeals() async throws {
    let place = try Place()
    var request = place.request()
    let holder = try lockHolder(place.archive.path)
    let impatient = try Archive(place.archive.path, busyTimeout: .milliseconds(20))
    request.archive = JobArchive(impatient)
    let (result, _) = await run(request)
    #expect(result.code == .output && result.error?.message.contains("in place") == true)
    #expect(fileSize(place.film) != nil)
    holder.signal(SIGKILL)
    _ = try holder.wait()
    let before = try place.gets().count
    let (healed, _) = await run(place.request())
    #expect(healed.code == .ok && healed.path == place.film && healed.skipped != nil)
    #expect(try place.gets().count == before)
    #expect(try place.archive.entries(limit: 2).entries.first?.sha256 == sha256(place.film))
    #expect(folderNames(place.folder) == ["film.mp4"])
    #expect(await run(place.request()).result.skipped == .archive)
  }

  @Test func partOfARunThatDiedAfterRecordingGoes() async throws {
    let place = try Place()
    let request = place.request()
    #expect(await run(request).result.code == .ok)
    // What such a run leaves: the part and a record that names the result.
    let folder = try Folder.existing(place.folder)
    let key = try HTTPFetch.parse(request.source).key
    let part = try PartialFile.open(in: folder, key: key, takesSuffix: false)
    try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try part.write($0, at: 0) }
    let status = try #require(folder.status(of: "film.mp4"))
    part.updateRecord { $0.publication = .init(name: "film.mp4", status) }
    part.release()
    #expect(folderNames(place.folder).count == 3)
    #expect(await run(request).result.skipped == .archive)
    #expect(folderNames(place.folder) == ["film.mp4"])
  }

  @Test func partOfAnotherOutputIsLeftAlone() async throws {
    let place = try Place()
    let request = place.request()
    #expect(await run(request).result.code == .ok)
    let folder = try Folder.existing(place.folder)
    let key = try HTTPFetch.parse(request.source).key
    let part = try PartialFile.open(in: folder, key: key, takesSuffix: false)
    try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try part.write($0, at: 0) }
    part.flushRecord()
    part.release()
    #expect(await run(request).result.skipped == .archive)
    #expect(folderNames(place.folder).count == 3)
  }

  private func lockHolder(_ path: String) throws -> ChildProcess {
    let scratch = try ScratchDirectory()
    let script = """
      import sqlite3, signal
      db = sqlite3.connect("\(path)", isolation_level=None)
      db.execute("BEGIN IMMEDIATE")
      print("held", flush=True)
      signal.pause()
      """
    let holder = try ChildProcess(
      ["python3", "-c", script], environment: systemEnvironment, folder: "/",
      captureIn: scratch.path)
    try waitUntil("the lock") { holder.stdout.contains("held") }
    return holder
  }

  // MARK: - Skipping

  @Test func doneItemIsSkippedWhereverItIsWanted() async throws {
    let place = try Place()
    #expect(await run(place.request()).result.code == .ok)
    let before = try place.gets().count
    var request = place.request()
    request.destination = .directory(place.scratch.file("elsewhere"))
    let (result, _) = await run(request)
    #expect(result.code == .ok && result.skipped == .archive && result.path == place.film)
    #expect(result.bytes == fileSize(place.film).map(Int64.init) && result.sha256 != nil)
    #expect(try place.gets().count == before)
    #expect(!FileManager.default.fileExists(atPath: place.scratch.file("elsewhere")))
    request.format = .mov
    #expect(await run(request).result.skipped == nil)
  }

  @Test func keyOfTheCallersStandsForTheURL() async throws {
    let place = try Place()
    var request = place.request("plain.mp4?sig=1")
    request.archive?.key = "plain"
    #expect(await run(request).result.code == .ok)
    request.source = place.server.url("plain.mp4?sig=2")
    #expect(await run(request).result.skipped == .archive)
    request.archive?.key = nil
    #expect(await run(request).result.code == .output)
  }

  @Test func touchedFileIsComparedAndItsNewTimeKept() async throws {
    let place = try Place()
    #expect(await run(place.request()).result.code == .ok)
    try outputOfTool(["touch", "-d", "2001-02-03", place.film])
    let (result, warnings) = await run(place.request())
    #expect(result.skipped == .archive && warnings.isEmpty)
    let entry = try place.archive.entries(limit: 1).entries.first
    #expect(entry?.modified == 981_158_400_000_000_000)
  }

  @Test func missingFileIsFetchedAgain() async throws {
    let place = try Place()
    #expect(await run(place.request()).result.code == .ok)
    unlink(place.film)
    let (result, _) = await run(place.request())
    #expect(result.code == .ok && result.skipped == nil && fileSize(place.film) != nil)
  }

  @Test(arguments: [JobRequest.ExistingTarget.overwrite, .fail, .skip])
  func damagedFileIsReplacedOnlyIfAsked(existing: JobRequest.ExistingTarget) async throws {
    let isAsked = existing == .overwrite
    let place = try Place()
    #expect(await run(place.request()).result.code == .ok)
    let good = try sha256(place.film)
    var bytes = fileBytes(place.film)
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: URL(fileURLWithPath: place.film))
    var request = place.request()
    request.existingTarget = existing
    let (result, warnings) = await run(request)
    #expect(result.code == (isAsked ? .ok : .output))
    #expect(warnings.contains { $0.message.contains("no longer what the archive recorded") })
    #expect(try (sha256(place.film) == good) == isAsked)
  }

  // MARK: - Local sources

  @Test func localSourceIsArchivedToo() async throws {
    let place = try Place()
    let source = place.scratch.file("own.mp4")
    try FileManager.default.copyItem(atPath: FixtureFile.media("plain.mp4"), toPath: source)
    var request = place.request(source)
    #expect(await run(request).result.skipped == nil)
    #expect(await run(request).result.skipped == .archive)
    request.archive?.refreshes = true
    #expect(await run(request).result.skipped == .archive)
    // Another film under the source's name.
    unlink(source)
    try FileManager.default.copyItem(atPath: FixtureFile.media("rot90.mp4"), toPath: source)
    let before = try sha256(place.film)
    let (result, _) = await run(request)
    #expect(result.code == .ok && result.skipped == nil)
    #expect(try sha256(place.film) != before)
    #expect(folderNames(place.folder) == ["film.mp4"])
  }

  // MARK: - Refreshing

  @Test(arguments: ["", "~etag=weak/", "~etag=none/"])
  func refreshAsksWhetherItIsUpToDate(fault: String) async throws {
    let place = try Place()
    var request = place.request(fault + "plain.mp4")
    request.archive?.refreshes = true
    #expect(await run(request).result.skipped == nil)
    let first = try place.gets()
    #expect(first.allSatisfy { $0.header("If-None-Match") == nil })
    let (result, _) = await run(request)
    let asked = try place.gets().dropFirst(first.count)
    #expect(asked.count == 1 && result.code == .ok)
    let field = fault.contains("none") ? "If-Modified-Since" : "If-None-Match"
    #expect(asked.first?.header(field) != nil)
    #expect(asked.first?.status == 304 && result.skipped == .archive)
    #expect(result.path == place.film && result.sha256 != nil)
    #expect(folderNames(place.folder) == ["film.mp4"])
  }

  @Test func changedRemoteIsFetchedByTheSameRequestAndReplacesItsFile() async throws {
    let place = try Place()
    var request = place.request("~etag=rotate/plain.mp4")
    request.archive?.refreshes = true
    #expect(await run(request).result.code == .ok)
    let first = try #require(try place.archive.entries(limit: 1).entries.first)
    let before = try place.gets().count
    let (result, _) = await run(request)
    #expect(result.code == .ok && result.skipped == nil && result.path == place.film)
    #expect(try place.gets().count == before + 1)
    let second = try #require(try place.archive.entries(limit: 1).entries.first)
    #expect(second.strongETag != first.strongETag && second.modified != first.modified)
    #expect(folderNames(place.folder) == ["film.mp4"])
  }

  @Test func partThatIsThereIsContinuedByARefresh() async throws {
    let place = try Place()
    var request = place.request("resume_a.mp4")
    request.archive?.refreshes = true
    #expect(await run(request).result.code == .ok)
    let total = try #require(fileSize(FixtureFile.media("resume_a.mp4")))
    // What another run of the same has left half-way.
    var cut = place.request("~drop=90000&times=1/resume_a.mp4")
    cut.archive = nil
    cut.existingTarget = .overwrite
    #expect(await run(cut).result.code == .network)
    let folder = try Folder.existing(place.folder)
    let left = try #require(folderNames(place.folder).first { $0.hasSuffix(".part") })
    let key = try HTTPFetch.parse(cut.source).key
    #expect(left == ".\(key).part" && folder.contains(left))
    let before = try place.gets().count
    request.source = cut.source
    request.archive?.key = try HTTPFetch.parse(place.server.url("resume_a.mp4")).url.normalized
    let (result, _) = await run(request)
    #expect(result.code == .ok && result.skipped == nil && result.path == place.film)
    let asked = try place.gets().dropFirst(before)
    #expect(asked.allSatisfy { $0.range != nil && $0.header("If-None-Match") == nil })
    #expect(asked.map(\.sent).reduce(0, +) < total)
    #expect(folderNames(place.folder) == ["film.mp4"])
  }

  @Test func refreshReplacesNothingThatIsNotTheArchives() async throws {
    let place = try Place()
    var request = place.request("~etag=rotate/plain.mp4")
    request.archive?.refreshes = true
    #expect(await run(request).result.code == .ok)
    let other = "\(place.folder)/other.mp4"
    try place.scratch.write("videos/other.mp4", "mine")
    request.destination = .file(other)
    #expect(await run(request).result.code == .output)
    #expect(fileBytes(other) == Data("mine".utf8))
  }
}

@Suite struct ArchivedFileTests {
  private func file(sha256: String?) -> ArchivedFile {
    var entry = ArchiveEntry(
      id: "", key: "", format: "mp4", url: "", title: "", path: "/a", size: 10, modified: 5,
      started: 0, finished: 0)
    entry.sha256 = sha256
    return ArchivedFile(entry)
  }

  @Test func sizeAndTimeDecideBeforeTheContentDoes() {
    #expect(file(sha256: "h").judge(size: 10, modified: 5) == .settled(.whole))
    #expect(file(sha256: nil).judge(size: 10, modified: 5) == .settled(.whole))
    #expect(file(sha256: "h").judge(size: 10, modified: 6) == .compares(sha256: "h"))
    #expect(file(sha256: nil).judge(size: 10, modified: 6) == .settled(.changed))
    #expect(file(sha256: "h").judge(size: 11, modified: 5) == .settled(.changed))
    #expect(file(sha256: "h").judge(size: nil, modified: 5) == .settled(.changed))
  }
}
