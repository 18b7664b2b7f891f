// Large sources that take no room: what stands between their head and their index is a hole.

private import Foundation

package enum LargeFilm {
  /// Writes a film whose index stands last, behind so many bytes that belong to nothing.
  ///
  /// - Parameter fixture: an mp4 of the fixtures.
  /// - Returns: where the index begins.
  @discardableResult
  package static func write(
    to path: String, of fixture: String = "plain.mp4", hole: Int
  ) throws -> Int {
    let scratch = try ScratchDirectory()
    let plain = scratch.file("last.mp4")
    try outputOfTool([
      "ffmpeg", "-v", "error", "-i", FixtureFile.media(fixture), "-c", "copy", plain,
    ])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: plain))
    guard let name = bytes.range(of: Data("moov".utf8), options: .backwards) else {
      throw ProcessTrouble.failed("no index in \(fixture)")
    }
    let index = name.lowerBound - 4
    // A free box with a 64-bit size (ISO 14496-12 4.2).
    var free = Data([0, 0, 0, 1]) + Data("free".utf8)
    withUnsafeBytes(of: UInt64(hole).bigEndian) { free.append(contentsOf: $0) }
    try (bytes.prefix(index) + free).write(to: URL(fileURLWithPath: path))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(index + hole))
    try file.write(contentsOf: bytes.suffix(from: index))
    try file.close()
    return index + hole
  }
}
