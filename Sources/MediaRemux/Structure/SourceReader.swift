// How the structural checks read a source: by offset, through two closures, so that a complete file,
// a file that is still being downloaded and a test's bytes look the same. Knows no container.

package import FetchCore
import Glibc

/// Reads a source at any offset.
///
/// Sendable and without state of its own: any thread, several at once, as far as the closures allow.
package struct SourceReader: Sendable {
  private let sizeOfSource: @Sendable () throws(FetchError) -> Int64?
  private let readSource: @Sendable (_ offset: Int64, _ count: Int) throws(FetchError) -> [UInt8]

  /// Makes a reader from two closures.
  ///
  /// - Parameters:
  ///   - size: the source's size in bytes; nil while nobody knows it.
  ///   - read: may block until the bytes are there; returns fewer than `count` only at the end.
  package init(
    size: @escaping @Sendable () throws(FetchError) -> Int64?,
    read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws(FetchError) -> [UInt8]
  ) {
    sizeOfSource = size
    readSource = read
  }

  /// Makes a reader of the first `size` bytes of a complete file, by `pread`.
  ///
  /// The descriptor is borrowed: it must stay open as long as the reader is used.
  package init(descriptor: Int32, size: Int64) {
    self.init(
      size: { () throws(FetchError) -> Int64? in size },
      read: { (offset, count) throws(FetchError) -> [UInt8] in
        guard offset >= 0, count > 0, offset < size else { return [] }
        let wanted = Int(min(Int64(count), size - offset))
        do throws(SystemError) {
          return try DescriptorIO.read(descriptor, at: offset, count: wanted)
        } catch {
          throw error.fetchError("reading the source")
        }
      })
  }

  /// Makes a reader of bytes in memory.
  package init(_ bytes: [UInt8]) {
    self.init(
      size: { () throws(FetchError) -> Int64? in Int64(bytes.count) },
      read: { (offset, count) throws(FetchError) -> [UInt8] in
        guard offset >= 0, count > 0, offset < Int64(bytes.count) else { return [] }
        let start = Int(offset)
        return Array(bytes[start..<start + min(count, bytes.count - start)])
      })
  }

  /// The source's size in bytes; nil where it is not known yet.
  package func size() throws(FetchError) -> Int64? { try sizeOfSource() }

  /// The bytes at `offset`; fewer than `count` only at the source's end.
  ///
  /// May block until they are there.
  package func read(at offset: Int64, count: Int) throws(FetchError) -> [UInt8] {
    try readSource(offset, count)
  }

  /// The source's size, found by reading where nobody has said it.
  ///
  /// Blocks until the end is known.
  func measuredSize() throws(FetchError) -> Int64 {
    if let size = try size() { return max(0, size) }
    // Doubling finds a place past the end, halving the end itself: at most 2 x 63 reads of one byte.
    var present: Int64 = 0
    var absent: Int64 = 1
    while absent < Int64.max / 2, try !read(at: absent - 1, count: 1).isEmpty {
      present = absent
      absent *= 2
    }
    while absent - present > 1 {
      let middle = present + (absent - present) / 2
      if try read(at: middle - 1, count: 1).isEmpty { absent = middle } else { present = middle }
    }
    return present
  }
}

/// Positioned reads and writes that are whole or fail.
enum DescriptorIO {
  /// Reads `count` bytes at `offset`; fewer only where the file ends.
  static func read(
    _ descriptor: Int32, at offset: Int64, count: Int
  ) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = try retryingInterrupts("pread") {
        bytes.withUnsafeMutableBytes { buffer in
          pread(
            descriptor, buffer.baseAddress?.advanced(by: filled), count - filled,
            off_t(offset) + filled)
        }
      }
      if got == 0 { break }
      filled += got
    }
    if filled < count { bytes.removeLast(count - filled) }
    return bytes
  }

  /// Writes all of `bytes` at `offset`.
  static func write(
    _ descriptor: Int32, _ bytes: [UInt8], at offset: Int64
  ) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let put = try retryingInterrupts("pwrite") {
        bytes.withUnsafeBytes { buffer in
          pwrite(
            descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written,
            off_t(offset) + written)
        }
      }
      // A regular file never takes 0 bytes; a loop that believes it would not end.
      if put == 0 { throw SystemError("pwrite", errno: EIO) }
      written += put
    }
  }
}
