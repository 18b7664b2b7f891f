// Long Matroska files that take no room: their sound is silence, and silence is a hole.

private import Foundation

package enum SilentFilm {
  /// Five seconds of 48 kHz, 16 bits, two channels.
  private static let blockSize = 5 * 48_000 * 4

  /// Writes a film of about so many bytes, one packet to a Cluster.
  ///
  /// - Returns: how many packets it has.
  @discardableResult
  package static func write(to path: String, bytes: Int) throws -> Int {
    let count = max(1, bytes / blockSize)
    let info =
      element([0x2A, 0xD7, 0xB1], big(1_000_000)) + element([0x4D, 0x80], text("silence"))
      + element([0x57, 0x41], text("silence"))
      + element([0x44, 0x89], big(Double(count * 5000).bitPattern))
    let sound =
      element([0xB5], big(Double(48_000).bitPattern)) + element([0x9F], [2])
      + element([0x62, 0x64], [16])
    let track =
      element([0xD7], [1]) + element([0x73, 0xC5], [1]) + element([0x83], [2])
      + element([0x9C], [0]) + element([0x23, 0xE3, 0x83], big(5_000_000_000))
      + element([0x86], text("A_PCM/INT/LIT")) + element([0xE1], sound)
    let head =
      element([0x15, 0x49, 0xA9, 0x66], info)
      + element([0x16, 0x54, 0xAE, 0x6B], element([0xAE], track))
    let segment = head.count + count * (cluster(0).count + blockSize)
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { throw ProcessTrouble.cannotStart(path, errno) }
    defer { close(file) }
    var position = 0
    func put(_ bytes: [UInt8]) throws {
      guard pwrite(file, bytes, bytes.count, position) == bytes.count else {
        throw ProcessTrouble.cannotStart(path, errno)
      }
      position += bytes.count
    }
    try put(fileHeader + [0x18, 0x53, 0x80, 0x67] + size(segment) + head)
    for index in 0..<count {
      try put(cluster(index * 5000))
      position += blockSize
    }
    ftruncate(file, position)
    return count
  }

  private static let fileHeader = element(
    [0x1A, 0x45, 0xDF, 0xA3],
    element([0x42, 0x86], [1]) + element([0x42, 0xF7], [1]) + element([0x42, 0xF2], [4])
      + element([0x42, 0xF3], [8]) + element([0x42, 0x82], text("matroska"))
      + element([0x42, 0x87], [4]) + element([0x42, 0x85], [2]))

  /// A Cluster up to its packet's bytes.
  private static func cluster(_ milliseconds: Int) -> [UInt8] {
    let time = element([0xE7], big(UInt64(milliseconds)))
    let block: [UInt8] = [0x81, 0, 0, 0x80]
    let header = [0xA3] + size(block.count + blockSize) + block
    return [0x1F, 0x43, 0xB6, 0x75] + size(time.count + header.count + blockSize) + time + header
  }

  private static func element(_ id: [UInt8], _ payload: [UInt8]) -> [UInt8] {
    id + size(payload.count) + payload
  }

  /// A size of eight bytes (RFC 8794 4.4).
  private static func size(_ count: Int) -> [UInt8] { [1] + big(UInt64(count)).dropFirst() }

  private static func big(_ value: UInt64) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
}
