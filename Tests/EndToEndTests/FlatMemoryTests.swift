// Memory doesn't grow with the size of a film, but for libavformat's index of its packets.

import Foundation
import TestSupport
import Testing

@Suite struct FlatMemoryTests {
  /// Runs the binary; returns the most memory that it had, in bytes.
  private static func peak(_ run: VidfetchRun, _ arguments: [String]) throws -> Int {
    let process = try run.start(arguments)
    var peak = 0
    try waitUntil("the end", limit: 600) {
      let status = try? String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
      let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
      let words = line?.split(whereSeparator: \.isWhitespace) ?? []
      if words.count > 1, let kibibytes = Int(words[1]) { peak = max(peak, kibibytes << 10) }
      return process.pollStatus() != nil
    }
    let outcome = try process.wait()
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    return peak
  }

  /// 10 GB are read and written where there is time for it.
  private static let sizes = Machine.isLong ? [256 << 20, 10_000_000_000] : [256 << 20]

  @Test(.disabled(if: Machine.isSanitized, "a sanitizer needs memory of its own"), arguments: sizes)
  func aLongFilmTakesNoMoreMemoryThanAShortOne(_ bytes: Int) throws {
    let run = try VidfetchRun()
    try SilentFilm.write(to: run.file("film.mkv"), bytes: bytes)
    // Read back, uncompressed sound is indexed by 1024 frames of four bytes.
    let entries = bytes / 4096
    let peak = try Self.peak(run, ["-o", "a.mov", "film.mkv"])
    #expect(peak > 8 << 20, "it was measured")
    #expect(peak < 72 << 20 + entries * 32, "\(peak) bytes for \(entries) index entries")
    #expect(try MediaFacts(run.file("a.mov")).packets.values.reduce(0, +) > 0)
  }
}
