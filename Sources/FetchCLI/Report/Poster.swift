// Pictures that results name, put into a page. Reads files. A results file may come from elsewhere, so
// that only what begins like a picture gets in.

import FoundationEssentials
import Glibc

/// Posters as `data:` URLs (RFC 2397), up to so many bytes for all of them.
final class PosterSource {
  private static let largest = 512 << 10
  private var room = 32 << 20

  /// The picture at a path, or nil where it can't be shown.
  func picture(_ path: String) -> String? {
    guard path.hasPrefix("/"), let bytes = Self.read(path), bytes.count <= room,
      let type = Self.type(of: bytes)
    else { return nil }
    room -= bytes.count
    return "data:\(type);base64,\(Data(bytes).base64EncodedString())"
  }

  /// The type that a file's first bytes promise.
  static func type(of bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
      return "image/webp"
    }
    return nil
  }

  private static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size > 0, status.st_size <= largest
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    return count == bytes.count ? bytes : nil
  }
}
