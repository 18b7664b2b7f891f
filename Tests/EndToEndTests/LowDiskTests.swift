// --low-disk: a film on a disk that can't hold source and result at once.

import Foundation
import TestSupport
import Testing

@Suite struct LowDiskTests {
  /// Writes a film of about so many bytes, its media in small pieces.
  private static func film(_ path: String, megabytes: Int) throws {
    let seed = path + ".seed.mp4"
    try outputOfTool([
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i",
      "testsrc2=s=640x360:r=25:d=4,noise=alls=60:allf=t:all_seed=3", "-f", "lavfi", "-i",
      "sine=f=440:r=48000:d=4", "-c:v", "libx264", "-preset", "ultrafast", "-b:v", "20M",
      "-minrate",
      "20M", "-maxrate", "20M", "-bufsize", "20M", "-pix_fmt", "yuv420p", "-c:a", "aac", seed,
    ])
    let size = try FileManager.default.attributesOfItem(atPath: seed)[.size] as? Int ?? 1
    try outputOfTool([
      "ffmpeg", "-v", "error", "-stream_loop", "\((megabytes << 20) / size)", "-i", seed, "-c",
      "copy", "-movflags", "+faststart", path,
    ])
    try FileManager.default.removeItem(atPath: seed)
  }

  @Test(.enabled(if: Machine.canMount, "no file system can be mounted here"))
  func aDiskTooSmallForBothHoldsTheResult() throws {
    let scratch = try ScratchDirectory()
    try Self.film(scratch.file("film.mp4"), megabytes: 120)
    let server = try NginxServer(root: scratch.path)
    let run = try VidfetchRun()
    // The source's 120 MB once, a tenth, and what the export may be behind.
    let disk = try SmallDisk(in: run, kilobytes: 190 << 10)
    let plain = try run.run(["-o", "disk/a.mp4", server.url("film.mp4")])
    expectFailure(plain, 40, of: run, says: ["space"], keepsPart: true)
    for name in folderNames(disk.path) {
      try FileManager.default.removeItem(atPath: disk.path + "/" + name)
    }
    let words = ["--low-disk", "--limit-rate", "40M", "-o", "disk/a.mp4", server.url("film.mp4")]
    let outcome = try run.run(words)
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    #expect(folderNames(disk.path) == ["a.mp4"])
    let facts = try MediaFacts(disk.path + "/a.mp4")
    #expect(try facts.packets == MediaFacts(scratch.file("film.mp4")).packets)
  }

  @Test func aRunThatEndsEarlyLeavesNothingThatLooksResumable() throws {
    let scratch = try ScratchDirectory()
    try Self.film(scratch.file("film.mp4"), megabytes: 16)
    let server = try NginxServer(root: scratch.path)
    let run = try VidfetchRun()
    let words = ["--low-disk", "--limit-rate", "4M", "-o", "a.mp4", server.url("film.mp4")]
    let first = try run.start(words)
    // The record claims nothing from the first hole on.
    try waitUntil("the first hole", limit: 30) {
      guard let part = VidfetchRun.parts(in: run.work).first else { return false }
      var status = stat()
      guard stat(run.file(part), &status) == 0 else { return false }
      return status.st_size > 3 << 20 && Int(status.st_blocks) * 512 < Int(status.st_size) - 1 << 20
    }
    first.signal(SIGKILL)
    #expect(try first.wait().status == .signalled(SIGKILL))
    #expect(VidfetchRun.parts(in: run.work).count == 1)
    let record = try #require(folderNames(run.work).first { $0.hasSuffix(".part.json") })
    let text = try String(contentsOfFile: run.file(record), encoding: .utf8)
    #expect(text.contains(#""ranges":[],"synced":[]"#))
    let second = try run.run(["--low-disk", "-o", "a.mp4", server.url("film.mp4")])
    #expect(second.status == .exited(0), "\(second.stderr)")
    #expect(run.leftovers() == ["work/a.mp4"])
    #expect(
      try MediaFacts(run.file("a.mp4")).packets == MediaFacts(scratch.file("film.mp4")).packets)
  }
}
