// A block of the source in memory, and numbers read out of it. Every access is checked against the
// source's end and answers nil past it: what a parser reads is hostile, so nothing here can trap.

import FetchCore

/// Reads small values of a source through one cached block.
///
/// Not Sendable: one parser owns it.
final class SourceWindow {
  let reader: SourceReader
  /// Nothing at or past this offset is read.
  let limit: Int64

  private let blockSize: Int
  private var block: [UInt8] = []
  private var blockStart: Int64 = 0

  init(_ reader: SourceReader, limit: Int64, blockSize: Int = 16 * 1024) {
    self.reader = reader
    self.limit = limit
    self.blockSize = max(16, blockSize)
  }

  /// `count` bytes at `offset`; nil where the source has fewer.
  func bytes(at offset: Int64, count: Int) throws(FetchError) -> [UInt8]? {
    guard count >= 0, let index = try load(offset, count) else { return nil }
    return Array(block[index..<index + count])
  }

  func byte(at offset: Int64) throws(FetchError) -> UInt8? {
    guard let index = try load(offset, 1) else { return nil }
    return block[index]
  }

  /// A big-endian number of 1 to 8 bytes; nil where the source has fewer.
  func big(at offset: Int64, width: Int) throws(FetchError) -> UInt64? {
    guard let index = try load(offset, width) else { return nil }
    var value: UInt64 = 0
    for next in index..<index + width { value = value << 8 | UInt64(block[next]) }
    return value
  }

  /// A little-endian number of 1 to 8 bytes; nil where the source has fewer.
  func little(at offset: Int64, width: Int) throws(FetchError) -> UInt64? {
    guard let index = try load(offset, width) else { return nil }
    var value: UInt64 = 0
    for next in (index..<index + width).reversed() { value = value << 8 | UInt64(block[next]) }
    return value
  }

  /// Whether everything from `offset` to the end is zero.
  func isZero(from offset: Int64) throws(FetchError) -> Bool {
    var position = offset
    while position < limit {
      let count = Int(min(Int64(blockSize), limit - position))
      guard let index = try load(position, count) else { return false }
      if block[index..<index + count].contains(where: { $0 != 0 }) { return false }
      position += Int64(count)
    }
    return true
  }

  /// Makes `count` bytes at `offset` present; returns their index in the block.
  private func load(_ offset: Int64, _ count: Int) throws(FetchError) -> Int? {
    guard offset >= 0, offset <= limit, Int64(count) <= limit - offset else { return nil }
    let relative = offset - blockStart
    if relative >= 0, relative <= Int64(block.count), block.count - Int(relative) >= count {
      return Int(relative)
    }
    let wanted = Int(min(Int64(max(blockSize, count)), limit - offset))
    block = try reader.read(at: offset, count: wanted)
    blockStart = offset
    return block.count >= count ? 0 : nil
  }
}

extension Int64 {
  /// The sum, or `Int64.max` where it would overflow; both must be non-negative.
  func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  /// The sum with an unsigned number from outside, `Int64.max` where it would overflow.
  func clampedSum(_ other: UInt64) -> Int64 { clampedSum(Int64(clamping: other)) }
}
