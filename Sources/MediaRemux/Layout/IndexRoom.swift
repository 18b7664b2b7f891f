// How much room the index gets in front of the media: reckoned before the first packet, from what is
// known by then, and once more at the end, so that the output doesn't depend on how the source came.
// Pure.

/// The room for an output's index.
struct IndexRoom: Hashable {
  /// Bytes for the sample tables, as the source's own index tells; nil where it has none that is
  /// whole before the media.
  var tables: Int64?
  /// Bytes for all that isn't a table: headers, configurations, cover pictures.
  var extra: Int64

  /// What one packet takes in `stsz`, `stco`, `ctts` and the like.
  private static let bytesPerPacket: Int64 = 16
  /// The same where all of them differ in length, as times that were rounded do.
  private static let bytesPerRoundedPacket: Int64 = 20
  private static let most: Int64 = 1 << 30

  /// What no index tells, as far as a header's duration and rates say it.
  private var guess: Int64?

  /// - Parameters:
  ///   - sourceIndex: the size of a source's own `moov`, where that lists all its samples.
  ///   - packets: how many packets the source lists.
  ///   - attachments: bytes of configurations and pictures.
  ///   - expected: how many packets there are by duration and rates, where there is no list.
  init(sourceIndex: Int64?, packets: Int64, attachments: Int64, expected: Int64? = nil) {
    let attachments = min(max(attachments, 0), Self.most)
    guard let sourceIndex, sourceIndex > 0 else {
      extra = (16 << 10) + attachments
      guess = expected.map { min(max($0, 0), Self.most) * Self.bytesPerRoundedPacket }
      return
    }
    let packets = min(max(packets, 0), Self.most)
    // No index needs more than a few numbers a packet, whatever a header says of its size.
    let believed = min(sourceIndex, packets * 40 + (1 << 20))
    tables = max(believed + believed * 15 / 100, packets * Self.bytesPerPacket)
    extra = (4 << 10) + attachments
  }

  /// Bytes to leave: whole blocks, so that media that has to move all the same moves by whole ones.
  ///
  /// - Parameter total: the source's size, where it is known.
  func bytes(total: Int64?) -> Int64 {
    let room: Int64
    if let tables {
      room = min(tables + extra, Self.most)
    } else {
      let share = total.map { max($0, 0) / 300 } ?? (1 << 20)
      room = min(max(guess ?? 0, share), 64 << 20) + extra
    }
    return (room + BlockShift.blockSize - 1) / BlockShift.blockSize * BlockShift.blockSize
  }
}
