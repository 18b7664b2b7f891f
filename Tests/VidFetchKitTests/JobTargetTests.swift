import FetchCore
import Glibc
import PartialStorage
import TestSupport
import Testing
import VideoArchive

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

  @Test func earlierResultIsReplacedOnlyWhileItIsAsRecorded() throws {
    let scratch = try ScratchDirectory()
    try scratch.write("film.mp4", "x")
    let folder = try Folder.existing(scratch.path)
    let status = try #require(folder.status(of: "film.mp4"))
    var entry = ArchiveEntry(
      id: "", key: "", format: "mp4", url: "", title: "", path: scratch.file("film.mp4"),
      size: status.size, modified: status.modified, started: 0, finished: 0)
    for existing in [JobRequest.ExistingTarget.fail, .skip, .overwrite] {
      var target = try target(scratch.file("film.mp4"), existing)
      target.replaceable = ArchivedFile(entry)
      #expect(try !target.isSatisfied(by: "film.mp4"))
    }
    entry.modified += 1
    var changed = try target(scratch.file("film.mp4"))
    changed.replaceable = ArchivedFile(entry)
    #expect(code { _ = try changed.isSatisfied(by: "film.mp4") } == .output)
    changed = try target(scratch.file("film.mp4"), .skip)
    changed.changed = scratch.file("film.mp4")
    #expect(code { _ = try changed.isSatisfied(by: "film.mp4") } == .output)
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

  // MARK: - Names

  private func target(
    in folder: String, _ naming: JobRequest.Naming, format: ContainerFormat = .mp4
  ) throws -> JobTarget {
    var request = JobRequest(source: "http://example.com/a.mp4")
    request.destination = .directory(folder, naming)
    request.format = format
    return try JobTarget(request)
  }

  @Test func nameIsKnownUnlessTheServerHasASay() throws {
    let scratch = try ScratchDirectory()
    func known(_ naming: JobRequest.Naming) throws -> String? {
      try target(in: scratch.path, naming).nameIfKnown
    }
    #expect(try known(.proposed) == nil)
    #expect(try known(.stem("film.mkv")) == "film.mp4")
    #expect(try known(.name("film.m4v")) == "film.m4v")
    #expect(
      try known(.template(NameTemplate("{index:03}.{host}"), index: 5)) == "005.example.com.mp4")
    #expect(try known(.template(NameTemplate("{index}-{title}"), index: 5)) == nil)
  }

  @Test func titleIsTheFirstUsableProposalWithoutItsExtension() throws {
    let scratch = try ScratchDirectory()
    let target = try target(
      in: scratch.path, .template(NameTemplate("{index}-{title}"), index: 5), format: .mov)
    #expect(target.name(from: ["../Served Name.mkv", "a.mp4"]) == "5-Served Name.mov")
    #expect(target.name(from: [nil, "a.mp4"]) == "5-a.mov")
    #expect(target.name(from: ["", nil]) == "5-video.mov")
  }

  @Test func earlierPublicationUnderATemplatesNameCounts() throws {
    let scratch = try ScratchDirectory()
    let folder = try Folder.existing(scratch.path)
    var record = ResumeRecord(resource: "r", bootID: "b")
    for name in ["5.mp4", "6.mp4", "film.m4v"] {
      try scratch.write(name, "x")
      record.publication = .init(name: name, try #require(folder.status(of: name)))
      let byIndex = try target(in: scratch.path, .template(NameTemplate("{index}"), index: 5))
      #expect((byIndex.published(by: record) != nil) == (name == "5.mp4"))
      let byName = try target(in: scratch.path, .name("film.m4v"))
      #expect((byName.published(by: record) != nil) == (name == "film.m4v"))
    }
  }
}
