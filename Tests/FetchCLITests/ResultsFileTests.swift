import FetchCLI
import FetchCore
import Foundation
import TestSupport
import Testing
import VidFetchKit

/// A result as a run makes it.
private func result(_ url: String) -> JSONObject {
  JSONEventWriter.result(JobResult(url: url, format: .mp4), job: 1, exit: 0, fraction: 1)
}

/// The URLs of all lines that are whole, and how many lines aren't; empty lines don't count.
private func contents(of path: String) throws -> (urls: [String], torn: Int) {
  var urls: [String] = []
  var torn = 0
  for line in fileBytes(path).split(separator: UInt8(ascii: "\n")) {
    let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
    if let url = object?["url"] as? String { urls.append(url) } else { torn += 1 }
  }
  return (urls, torn)
}

@Suite struct ResultsFileTests {
  @Test func aLineIsTheResultWithTimeHostAndProcess() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.file("results")
    let before = Timestamp.now()
    let file = try ResultsFile(path: path)
    #expect(file.append(result("https://h/a.mp4")) == nil)
    #expect(file.finish() == nil)
    let after = Timestamp.now()
    let text = String(decoding: fileBytes(path), as: UTF8.self)
    let expected = result("https://h/a.mp4").encoded.dropLast()
    #expect(text.hasPrefix(expected + #","time":""#))
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let time = try #require((value?["time"] as? String).flatMap { Timestamp($0) })
    #expect((before...after).contains(time))
    #expect(value?["pid"] as? Int32 == getpid())
    #expect(value?["host"] as? String == ProcessInfo.processInfo.hostName)
  }

  @Test func appendsToWhatIsThere() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write("results", "{\"url\":\"before\"}\n")
    for url in ["a", "b"] { #expect(try ResultsFile(path: path).append(result(url)) == nil) }
    let (urls, torn) = try contents(of: path)
    #expect(urls == ["before", "a", "b"] && torn == 0)
  }

  @Test func aTornLineIsTheOnlyOneLost() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write("results", "{\"url\":\"before\"}\n{\"url\":\"to")
    let file = try ResultsFile(path: path)
    for url in ["a", "b"] { #expect(file.append(result(url)) == nil) }
    let (urls, torn) = try contents(of: path)
    #expect(urls == ["before", "a", "b"] && torn == 1)
    #expect(!String(decoding: fileBytes(path), as: UTF8.self).contains("\n\n"))
  }

  /// Shells and Python stand for writers that know no lock, or only the lock.
  @Test func manyWritersLoseNoLine() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.file("results")
    let shell = """
      i=0; while [ $i -lt 1000 ]; do
        printf '{"url":"sh-%s-%s"}\\n' "$1" $i >> "$0"; i=$((i+1))
      done
      """
    let python = """
      import fcntl, os, sys
      file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
      for i in range(1000):
          fcntl.flock(file, fcntl.LOCK_EX)
          os.write(file, b'{"url":"py-%s-%d","x":"%s"}\\n' % (sys.argv[2].encode(), i, b"x" * 9000))
          fcntl.flock(file, fcntl.LOCK_UN)
      """
    let others = try (0..<8).map { number in
      try ChildProcess(
        number % 2 == 0
          ? ["/bin/sh", "-c", shell, path, "\(number)"]
          : ["/usr/bin/python3", "-c", python, path, "\(number)"],
        environment: systemEnvironment, folder: "/", captureIn: scratch.folder("c\(number)"))
    }
    let troubles = Locked<[SystemError]>([])
    let group = DispatchGroup()
    for thread in 0..<4 {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        guard let file = try? ResultsFile(path: path) else { return }
        for number in 0..<1000 {
          if let trouble = file.append(result("us-\(thread)-\(number)")) {
            troubles.withLock { $0.append(trouble) }
          }
        }
      }
    }
    for other in others { #expect(try other.wait().status == .exited(0)) }
    #expect(group.wait(timeout: .now() + 60) == .success)
    #expect(troubles.withLock { $0 } == [])
    let (urls, torn) = try contents(of: path)
    #expect(torn == 0 && urls.count == 12_000 && Set(urls).count == 12_000)
  }

  @Test func aWriterThatStoppedWithTheLockHoldsNobodyUpForLong() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write("results", "")
    let holder = open(path, O_RDWR)
    defer { close(holder) }
    #expect(flock(holder, LOCK_EX) == 0)
    let file = try ResultsFile(path: path)
    let began = now()
    for number in 0..<20 { #expect(file.append(result("\(number)")) == nil) }
    #expect((1.5..<8).contains(now() - began))
    #expect(try contents(of: path).urls.count == 20)
    // Once it is gone, lines are written under the lock again.
    #expect(flock(holder, LOCK_UN) == 0)
    #expect(file.append(result("20")) == nil)
    #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
  }

  @Test(.enabled(if: MountedDisk.isPossible(.tmpfs)))
  func aFullDiskIsToldAndCostsOneLine() throws {
    let disk = try MountedDisk(.tmpfs, megabytes: 1)
    let path = disk.file("results")
    let file = try ResultsFile(path: path)
    var written = 0
    var trouble: SystemError?
    while trouble == nil, written < 100_000 {
      trouble = file.append(result("\(written)"))
      if trouble == nil { written += 1 }
    }
    #expect(trouble?.number == ENOSPC)
    #expect(file.append(result("again"))?.number == ENOSPC)
    // Room comes back: what stands is whole, and what follows is too.
    try outputOfTool(["mount", "-o", "remount,size=2m", disk.path])
    #expect(file.append(result("after")) == nil)
    #expect(file.finish() == nil)
    let (urls, torn) = try contents(of: path)
    #expect(urls == (0..<written).map { "\($0)" } + ["after"])
    #expect(torn <= 1)
  }

  @Test func aFileThatSomebodyRemovedIsBegunAnew() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.file("results")
    let file = try ResultsFile(path: path)
    #expect(file.append(result("a")) == nil)
    try FileManager.default.removeItem(atPath: path)
    #expect(file.append(result("b")) == nil)
    #expect(try contents(of: path).urls == ["b"])
  }

  @Test func aFolderThatVanishesIsTold() throws {
    let scratch = try ScratchDirectory()
    let folder = try scratch.folder("folder")
    let file = try ResultsFile(path: folder + "/results")
    #expect(file.append(result("a")) == nil)
    try FileManager.default.removeItem(atPath: folder)
    #expect(file.append(result("b"))?.number == ENOENT)
    _ = try scratch.folder("folder")
    #expect(file.append(result("c")) == nil)
  }

  @Test func whatIsNoRegularFileIsRefusedUntouched() throws {
    let scratch = try ScratchDirectory()
    let fifo = scratch.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    for path in [fifo, scratch.path, "/dev/full"] {
      #expect { try ResultsFile(path: path) } throws: { error in
        let error = error as? FetchError
        return error?.code == .output && error?.message.contains(path) == true
      }
    }
  }

  @Test(arguments: ["nowhere/results", "plain/results"])
  func aFolderThatIsNotThereIsRefused(name: String) throws {
    let scratch = try ScratchDirectory()
    try scratch.write("plain", "")
    #expect { try ResultsFile(path: scratch.file(name)) } throws: {
      ($0 as? FetchError)?.code == .output
    }
  }

  @Test(.enabled(if: MountedDisk.isPossible(.tmpfs)))
  func aFolderThatCannotBeWrittenIsRefused() throws {
    let disk = try MountedDisk(.tmpfs, megabytes: 1)
    try outputOfTool(["mount", "-o", "remount,ro", disk.path])
    #expect { try ResultsFile(path: disk.file("results")) } throws: {
      ($0 as? FetchError)?.code == .output
    }
  }
}
