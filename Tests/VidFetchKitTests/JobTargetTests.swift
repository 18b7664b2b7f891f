import FetchCore
import Glibc
import PartialStorage
import TestSupport
import Testing

@testable import VidFetchKit

@Suite struct JobTargetTests {
  private func target(
    _ path: String, _ existing: JobRequest.ExistingTarget = .fail
  ) throws -> JobTarget {
    var request = JobRequest(source: "http://example.com/a.mp4")
    request.destination = .file(path)
    request.existingTarget = existing
    return try JobTarget(request)
  }

  private func code(_ body: () throws -> Void) -> OutcomeCode? {
    do {
      try body()
      return nil
    } catch {
      return (error as? FetchError)?.code
    }
  }

  @Test func onlyARegularFileCountsAsDone() throws {
    let scratch = try ScratchDirectory()
    try scratch.write("file.mp4", "x")
    _ = try scratch.folder("folder.mp4")
    mkfifo(scratch.file("pipe.mp4"), 0o600)
    #expect(try target(scratch.file("file.mp4"), .skip).isSatisfied(by: "file.mp4"))
    for name in ["folder.mp4", "pipe.mp4"] {
      for existing in [JobRequest.ExistingTarget.skip, .overwrite, .fail] {
        let target = try target(scratch.file(name), existing)
        #expect(code { _ = try target.isSatisfied(by: name) } == .output, "\(name)")
      }
    }
    #expect(scratch.names() == ["file.mp4", "folder.mp4", "pipe.mp4"])
  }

  @Test func sourceIsNeverReplacedByWhateverName() throws {
    let scratch = try ScratchDirectory()
    try scratch.write("source.mp4", "x")
    link(scratch.file("source.mp4"), scratch.file("hard.mp4"))
    symlink("source.mp4", scratch.file("soft.mp4"))
    let source = try #require(try Folder.existing(scratch.path).status(of: "source.mp4"))
    for name in ["source.mp4", "hard.mp4", "soft.mp4"] {
      let target = try target(scratch.file(name), .overwrite)
      #expect(code { _ = try target.isSatisfied(by: name, source: source) } == .output)
    }
  }

  @Test func earlierPublicationCountsOnlyUnderTheNameThatIsWanted() throws {
    let scratch = try ScratchDirectory()
    try scratch.write("film.mp4", "x")
    try scratch.write("film-2.mp4", "y")
    let folder = try Folder.existing(scratch.path)
    var record = ResumeRecord(resource: "r", bootID: "b")
    func note(_ name: String) throws {
      record.publication = .init(name: name, try #require(folder.status(of: name)))
    }
    try note("film.mp4")
    #expect(try target(scratch.file("film.mp4")).published(by: record) == scratch.file("film.mp4"))
    #expect(try target(scratch.file("other.mp4")).published(by: record) == nil)
    try note("film-2.mp4")
    #expect(try target(scratch.file("film.mp4")).published(by: record) == nil)
    record.publication?.size += 1
    #expect(try target(scratch.file("film-2.mp4")).published(by: record) == nil)
  }

  @Test func folderAndOverlongNameAreRefusedBeforeAnything() throws {
    let scratch = try ScratchDirectory()
    #expect(code { _ = try target(scratch.path + "/") } == .output)
    #expect(code { _ = try target(scratch.file(String(repeating: "n", count: 256))) } == .output)
    #expect(code { _ = try target(scratch.file("none/x.mp4")) } == .output)
  }
}
