// How many items a list has, counted before it is read: for a display that can say how much is left.

import Glibc

/// Counts lines that say something.
package struct LineCount: Sendable {
  package private(set) var items = 0
  /// Whether the present line has had something before a comment's sign.
  private var isBlank = true
  private var isComment = false

  package init() {}

  /// Takes in the next bytes.
  package mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\n"): endLine()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      case UInt8(ascii: "#") where isBlank: isComment = true
      default: isBlank = isBlank && isComment
      }
    }
  }

  /// Ends a last line without a line feed.
  package mutating func endLine() {
    if !isBlank { items += 1 }
    isBlank = true
    isComment = false
  }

  /// Lists above this size are not counted beforehand: their first item would have to wait.
  private static let largest: Int64 = 32 << 20

  /// The items of a regular file; nil where it is none, or too large, or can't be read.
  package static func of(path: String) -> Int? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= largest
    else { return nil }
    var count = LineCount()
    var block = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      let size = block.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if size == 0 { break }
      guard size > 0 else { return nil }
      count.add(block[..<size])
    }
    count.endLine()
    return count.items
  }
}
