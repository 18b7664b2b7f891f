// A list, read from a descriptor as its lines are needed: a block and a line are all that is held, so
// that a list may be longer than the memory, and a pipe may bring its lines over days.

package import FetchCore
import Glibc

/// Reads a list line by line.
///
/// Confined to one thread; `next()` waits for a pipe's writer.
package final class ListReader {
  /// Never more than this is read ahead.
  static let blockSize = 64 << 10

  private let descriptor: Int32
  private let ownsDescriptor: Bool
  private var block = [UInt8](repeating: 0, count: blockSize)
  /// What of the block has not been taken yet.
  private var rest = 0..<0
  private var line: [UInt8] = []
  private var number = 0
  private var isAtEnd = false

  /// Opens a list; the path `-` is standard input.
  package convenience init(path: String) throws(SystemError) {
    guard path != "-" else {
      self.init(descriptor: STDIN_FILENO, owns: false)
      return
    }
    let descriptor = try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      close(descriptor)
      throw SystemError("read", errno: EISDIR)
    }
    self.init(descriptor: descriptor, owns: true)
  }

  /// - Parameter owns: whether the descriptor is closed with the reader.
  package init(descriptor: Int32, owns: Bool) {
    self.descriptor = descriptor
    ownsDescriptor = owns
  }

  deinit { if ownsDescriptor { close(descriptor) } }

  /// The next line that says something, with its number from 1; nil at the end of the list.
  package func next() throws(SystemError) -> (number: Int, line: ListLine)? {
    while let line = try nextLine() {
      if line != .nothing { return (number, line) }
    }
    return nil
  }

  private func nextLine() throws(SystemError) -> ListLine? {
    line.removeAll(keepingCapacity: true)
    var isTooLong = false
    while true {
      if rest.isEmpty {
        if !isAtEnd { try fill() }
        if isAtEnd {
          guard isTooLong || !line.isEmpty else { return nil }
          return end(line[...], isTooLong)
        }
      }
      guard let feed = block[rest].firstIndex(of: UInt8(ascii: "\n")) else {
        isTooLong = isTooLong || line.count + rest.count > ListLine.longest
        if !isTooLong { line += block[rest] }
        rest = rest.upperBound..<rest.upperBound
        continue
      }
      let piece = block[rest.lowerBound..<feed]
      rest = feed + 1..<rest.upperBound
      // Most lines lie in one block, and need no copy.
      if line.isEmpty, !isTooLong { return end(piece, false) }
      isTooLong = isTooLong || line.count + piece.count > ListLine.longest
      if !isTooLong { line += piece }
      return end(line[...], isTooLong)
    }
  }

  private func end(_ bytes: ArraySlice<UInt8>, _ isTooLong: Bool) -> ListLine {
    number += 1
    return isTooLong ? ListLine.tooLong : ListLine.parse(bytes, number: number)
  }

  private func fill() throws(SystemError) {
    let count = try retryingInterrupts("read") {
      block.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    }
    rest = 0..<count
    isAtEnd = count == 0
  }
}
