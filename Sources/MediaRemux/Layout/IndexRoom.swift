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
  private static let most: Int64 = 1 << 30

  /// - Parameters:
  ///   - sourceIndex: the size of a source's own `moov`, where that lists all its samples.
  ///   - packets: how many packets the source lists.
  ///   - attachments: bytes of configurations and pictures.
  init(sourceIndex: Int64?, packets: Int64, attachments: Int64) {
    let attachments = min(max(attachments, 0), Self.most)
    guard let sourceIndex, sourceIndex > 0 else {
      extra = (16 << 10) + attachments
      return
    }
    let packets = min(max(packets, 0), Self.most)
    // No index needs more than a few numbers a packet, whatever a header says of its size.
    let believed = min(sourceIndex, packets * 40 + (1 << 20))
    tables = max(believed + believed * 15 / 100, packets * Self.bytesPerPacket)
    extra = (4 << 10) + attachments
  }

  /// Bytes to leave.
  ///
  /// - Parameter total: the source's size, where it is known.
  func bytes(total: Int64?) -> Int64 {
    if let tables { return min(tables + extra, Self.most) }
    let guess = total.map { max($0, 0) / 300 } ?? (1 << 20)
    return min(guess, 64 << 20) + extra
  }
}
