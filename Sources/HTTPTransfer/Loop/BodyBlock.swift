// Collects the small pieces that libcurl delivers into blocks that are worth a system call. Confined
// to the transfer thread.

import FetchCore

/// Bytes on their way into a sink.
///
/// libcurl's callbacks bring at most 16 KiB; writes of 256 KiB take about half the time of those.
final class BodyBlock {
  static let size = 256 * 1024

  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
  private(set) var count = 0
  /// When the first byte came that isn't written, in nanoseconds.
  private(set) var since: Int64 = 0

  deinit { memory.deallocate() }

  /// Takes bytes for `offset + count` on, and writes each block that is full.
  ///
  /// - Parameters:
  ///   - offset: the resource's offset of the block's first byte; moved on by a write.
  func append(
    _ bytes: UnsafeRawBufferPointer, offset: inout Int64, sink: any ByteSink, now: Int64
  ) throws(FetchError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      if count == 0 { since = now }
      // Blocks end where the file's do, so that the page cache takes whole pages.
      let capacity = Self.size - Int(offset % Int64(Self.size))
      let piece = rest.prefix(capacity - count)
      UnsafeMutableRawBufferPointer(rebasing: memory[count...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: piece))
      count += piece.count
      rest = rest.dropFirst(piece.count)
      if count == capacity { try flush(offset: &offset, sink: sink) }
    }
  }

  /// Writes what is there.
  func flush(offset: inout Int64, sink: any ByteSink) throws(FetchError) {
    guard count > 0 else { return }
    let bytes = UnsafeRawBufferPointer(rebasing: memory[..<count])
    count = 0
    try sink.write(bytes, at: offset)
    offset += Int64(bytes.count)
  }
}
