// MPEG transport streams (ISO/IEC 13818-1, 2.4.3.2; 192-byte packets as on Blu-ray, 204-byte packets
// as in DVB): sync bytes at the head and in the last MiB. The middle is libavformat's to read; a
// stream has no end of its own, so all that can be proven is that the last packet is whole.

import FetchCore

/// The packet grid of a transport stream.
struct PacketGrid: Hashable, Sendable {
  /// 188, 192 or 204.
  var size: Int
  /// Where the first packet begins that is in step.
  var start: Int

  /// Bytes of a packet before its sync byte.
  var prefix: Int { size == 192 ? 4 : 0 }

  private static let syncByte: UInt8 = 0x47

  /// Finds the grid that begins first and holds for `runLength` packets.
  static func find(in bytes: [UInt8], runLength: Int = 5) -> PacketGrid? {
    for offset in bytes.indices where bytes[offset] == syncByte {
      for size in [188, 192, 204] {
        let grid = PacketGrid(size: size, start: offset - (size == 192 ? 4 : 0))
        guard grid.start >= 0 else { continue }
        if grid.run(in: bytes, from: grid.start, atMost: runLength) == runLength { return grid }
      }
    }
    return nil
  }

  /// How many packets in step begin at `position`; the last may be cut behind its sync byte.
  func run(in bytes: [UInt8], from position: Int, atMost: Int) -> Int {
    var count = 0
    var sync = position + prefix
    while count < atMost, sync < bytes.count, bytes[sync] == Self.syncByte {
      count += 1
      sync += size
    }
    return count
  }
}

/// Examines MPEG transport streams.
enum TransportStreamStructure {
  private static let headSize = 64 * 1024
  private static let tailSize = 1024 * 1024

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let head = try reader.read(at: 0, count: Int(min(Int64(headSize), size)))
    guard let grid = PacketGrid.find(in: head, runLength: min(5, max(1, head.count / 204))) else {
      return .incomplete("damaged: no packets of a transport stream at its head")
    }
    let tailStart = max(0, size - Int64(tailSize))
    let tail = try reader.read(at: tailStart, count: Int(size - tailStart))
    guard Int64(tail.count) == size - tailStart else {
      return .cut("the stream", needs: size, has: tailStart + Int64(tail.count))
    }
    return judge(tail, grid: grid, isWhole: tailStart == 0)
  }

  /// Judges the last bytes of a stream.
  static func judge(_ tail: [UInt8], grid: PacketGrid, isWhole: Bool) -> StructureVerdict {
    // Zeros behind the last packet are padding, whatever their number; a packet's own last zeros
    // are found again below, because the grid says where it ends.
    let significant = (tail.lastIndex { $0 != 0 } ?? -1) + 1
    guard significant > 0 else {
      return .incomplete("damaged: the stream ends in zeros")
    }
    guard let last = lastInStep(tail, grid: grid, before: significant) else {
      return .incomplete("damaged: the stream's last packets are out of step")
    }
    let end = last + grid.size
    if end > tail.count {
      return .cut("the last packet", needs: Int64(grid.size), has: Int64(tail.count - last))
    }
    if significant > end {
      return .incomplete(
        "damaged: \(tail.count - end) bytes after the last packet are no packet")
    }
    // A prefix of a packet that holds nothing but zeros can't be told from padding: both are no media.
    return .noEndOfItsOwn
  }

  /// Where the last packet begins that ends a run in step.
  private static func lastInStep(
    _ tail: [UInt8], grid: PacketGrid, before significant: Int
  ) -> Int? {
    let needed = min(5, max(1, tail.count / grid.size))
    var sync = significant - 1
    let lowest = max(grid.prefix, significant - 64 * grid.size)
    while sync >= lowest {
      if tail[sync] == 0x47 {
        var run = 1
        while run < needed, sync - run * grid.size >= grid.prefix,
          tail[sync - run * grid.size] == 0x47
        {
          run += 1
        }
        let reachesStart = sync - run * grid.size < grid.prefix
        if run == needed || (reachesStart && run > 1) { return sync - grid.prefix }
      }
      sync -= 1
    }
    return nil
  }
}
