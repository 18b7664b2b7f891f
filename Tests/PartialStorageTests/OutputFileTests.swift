import FetchCore
import Glibc
import PartialStorage
import Testing

@Suite struct OutputFileTests {
  @Test func nothingIsSeenBeforePublication() throws {
    let scratch = try Scratch()
    let output = try OutputFile.make(in: scratch.folder(), stem: ".k")
    try output.descriptor.write([1, 2, 3], at: 0)
    #expect(scratch.names.isEmpty)
    try output.sync()
    #expect(try output.publish(as: "film.mp4", replacing: false) == .published)
    #expect(scratch.names == ["film.mp4"])
    #expect(scratch.content("film.mp4") == [1, 2, 3])
  }

  @Test func existingNameIsLeftAlone() throws {
    let scratch = try Scratch()
    try scratch.write("film.mp4", [9])
    let output = try OutputFile.make(in: scratch.folder(), stem: ".k")
    #expect(try output.publish(as: "film.mp4", replacing: false) == .exists)
    output.discard()
    #expect(scratch.content("film.mp4") == [9] && scratch.names == ["film.mp4"])
  }

  @Test func replacementIsOneStepAndLeavesNothingBeside() throws {
    let scratch = try Scratch()
    try scratch.write("film.mp4", [9])
    try scratch.write(".k.new", [8])
    let output = try OutputFile.make(in: scratch.folder(), stem: ".k")
    try output.descriptor.write([1], at: 0)
    #expect(try output.publish(as: "film.mp4", replacing: true) == .published)
    #expect(scratch.content("film.mp4") == [1] && scratch.names == ["film.mp4"])
  }

  @Test func folderIsNotReplaced() throws {
    let scratch = try Scratch()
    mkdir(scratch.path + "/film.mp4", 0o755)
    let output = try OutputFile.make(in: scratch.folder(), stem: ".k")
    #expect(throws: FetchError.self) { try output.publish(as: "film.mp4", replacing: true) }
    #expect(scratch.names == ["film.mp4"])
  }

  @Test func demandCountsTheMissingPartAndTheResult() throws {
    let demand = DiskDemand(missing: 100 << 20, output: 100 << 20)
    try demand.check(available: 201 << 20, folder: "/x")
    do {
      try demand.check(available: 200 << 20, folder: "/x")
      Issue.record("a full disk was not noticed")
    } catch {
      #expect(error.code == .diskFull)
    }
    #expect(throws: FetchError.self) {
      try DiskDemand(missing: .max, output: .max).check(available: .max - 1, folder: "/x")
    }
  }
}

@Suite struct FolderTests {
  @Test func privateFolderIsForThisUserAlone() throws {
    let scratch = try Scratch()
    let folder = try Folder.privateTemporary(in: scratch.path)
    let status = try folder.descriptor.status()
    #expect(folder.path == "\(scratch.path)/vidfetch-\(geteuid())")
    #expect(status.mode & 0o777 == 0o700 && status.owner == geteuid())
    _ = try Folder.privateTemporary(in: scratch.path)
  }

  @Test func symbolicLinkInItsPlaceIsRefused() throws {
    let scratch = try Scratch()
    mkdir(scratch.path + "/elsewhere", 0o700)
    symlink(scratch.path + "/elsewhere", "\(scratch.path)/vidfetch-\(geteuid())")
    do {
      _ = try Folder.privateTemporary(in: scratch.path)
      Issue.record("a planted link was followed")
    } catch {
      #expect(error.code == .output)
    }
  }

  @Test func folderThatOthersCanWriteToIsRefused() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/vidfetch-\(geteuid())"
    mkdir(path, 0o700)
    chmod(path, 0o777)
    #expect(throws: FetchError.self) { try Folder.privateTemporary(in: scratch.path) }
  }

  @Test func removesOnlyTheFoldersThatItMadeAndOnlyEmptyOnes() throws {
    let scratch = try Scratch()
    let folder = try Folder.made(scratch.path + "/a/b")
    #expect(scratch.names == ["a"])
    folder.removeIfMadeAndEmpty()
    #expect(scratch.names.isEmpty)
    let kept = try Folder.made(scratch.path + "/a")
    try scratch.write("a/file", [1])
    kept.removeIfMadeAndEmpty()
    #expect(scratch.names == ["a"])
  }

  @Test func outputOfAJobWithoutALockTouchesNoHiddenName() throws {
    let scratch = try Scratch()
    let folder = try scratch.folder()
    guard let output = try OutputFile.nameless(in: folder) else { return }
    try scratch.write(".key.new", [1])
    try scratch.write("film.mp4", [2])
    #expect(throws: FetchError.self) { try output.publish(as: "film.mp4", replacing: true) }
    output.discard()
    #expect(scratch.names == [".key.new", "film.mp4"])
    #expect(scratch.content("film.mp4") == [2])
  }

  @Test func folderThatAnotherJobIsAboutToFillStays() throws {
    let scratch = try Scratch()
    let maker = try Folder.made(scratch.path + "/a")
    do {
      let other = try Folder.existing(scratch.path + "/a")
      maker.removeIfMadeAndEmpty()
      #expect(!other.isGone && scratch.names == ["a"])
    }
    maker.removeIfMadeAndEmpty()
    #expect(scratch.names.isEmpty)
  }

  @Test(arguments: [
    ("/a/b", "/a/b"), ("/a/./b//", "/a/b"), ("/", "/"), ("/a/../b", "/a/../b"), ("//x", "/x"),
  ])
  func absolutePathsLoseOnlyWhatSaysNothing(path: String, absolute: String) {
    #expect(Folder.absolute(path) == absolute)
  }

  @Test func missingFolderIsNamedBeforeAnythingIsDone() throws {
    let scratch = try Scratch()
    do {
      _ = try Folder.existing(scratch.path + "/none")
      Issue.record("a missing folder was opened")
    } catch {
      #expect(error.code == .output && error.message.contains("does not exist"))
    }
  }
}
