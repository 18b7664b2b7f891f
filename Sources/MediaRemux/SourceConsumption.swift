// Which bytes of a source are read no more, told while the source is still read, so that a caller who
// is short of disk may give their room back. Kept is all that the checks behind the last packet look
// at: boxes and elements but for the media in them, and a stream's ends. Lives on the remux thread.

import FetchCore

/// Follows the reading of one source.
struct SourceConsumption {
  /// How the media stands in a container.
  private enum Layout {
    /// In `mdat` boxes, read wherever the samples are.
    case boxes
    /// In Clusters, read forwards.
    case clusters
    /// Everywhere, read forwards.
    case stream
  }

  /// So much is told at once, or more.
  private static let step: Int64 = 1 << 20
  /// Enough of a box or element for whoever reads its header in one block with what follows.
  private static let headSize: Int64 = 64 << 10
  private static let longestHeader: Int64 = 16
  /// What is looked at once more of a transport stream's end, twice over.
  private static let tailSize: Int64 = 2 << 20

  private let layout: Layout
  /// By stream: the sample that was read last, or the first, and the last one of all.
  ///
  /// A stream that was read to its end has gone.
  private var unread: [Int: (at: Int64, last: Int64)] = [:]
  private let window: SourceWindow
  /// The box or element that is looked at, or where the stream was told up to.
  private var position: Int64
  private var told: Int64 = 0
  private var hasLostItsWay = false

  /// - Parameter samples: for an ISO source, where the samples of each stream that is read stand, in
  ///   reading order.
  /// - Returns: nil where nothing can be given back: a fragmented source may have to be read twice,
  ///   and other containers are checked byte by byte.
  init?(_ reader: SourceReader, kind: ContainerKind, samples: [Int: SampleSpan]) {
    switch kind {
    case .mp4:
      guard !samples.isEmpty, samples.values.allSatisfy(\.isAscending) else { return nil }
      layout = .boxes
      unread = samples.mapValues { ($0.first, $0.last) }
      position = 0
    case .matroska:
      layout = .clusters
      position = 0
    case .mpegTS:
      layout = .stream
      position = Self.headSize
      told = Self.headSize
    default:
      return nil
    }
    // Headers only, one at a time: nothing ahead of the reading is waited for.
    window = SourceWindow(reader, limit: .max / 4, blockSize: 16)
  }

  /// Takes note of a packet.
  ///
  /// - Parameter position: where it stands in the source; nil where nobody knows.
  mutating func take(stream: Int, position: Int64?) {
    guard layout == .boxes, let position, let last = unread[stream]?.last else { return }
    unread[stream] = position >= last ? nil : (position, last)
  }

  /// What is read no more, beyond what was told before.
  ///
  /// - Parameter read: how far the demuxer has read.
  mutating func released(read: Int64) throws(FetchError) -> ByteRange? {
    guard !hasLostItsWay else { return nil }
    if layout == .stream {
      guard read - Self.tailSize - told >= Self.step else { return nil }
      return tell(from: told, to: read - Self.tailSize)
    }
    let frontier = unread.values.reduce(read) { min($0, $1.at) }
    guard frontier - max(told, position) >= Self.step else { return nil }
    // A header that reaches further would have to be waited for.
    while position + Self.longestHeader <= frontier {
      guard let unit = try unit(at: position) else {
        hasLostItsWay = true
        return nil
      }
      if unit.isMedia {
        let start = max(told, unit.payload + Self.headSize)
        if let range = tell(from: start, to: min(unit.end, frontier)) {
          if unit.end <= frontier { position = unit.end }
          return range
        }
      }
      guard unit.end <= frontier else { return nil }
      position = unit.end
    }
    return nil
  }

  private mutating func tell(from start: Int64, to end: Int64) -> ByteRange? {
    // What is small isn't worth a hole of its own.
    guard end - start >= Self.headSize, let range = ByteRange(start, end) else { return nil }
    told = end
    return range
  }

  /// A box or element at the top; nil where there is none, or none whose end is known.
  private func unit(
    at offset: Int64
  ) throws(FetchError) -> (payload: Int64, end: Int64, isMedia: Bool)? {
    if layout == .boxes {
      guard let box = try window.box(at: offset, parentEnd: window.limit), !box.runsToEnd else {
        return nil
      }
      return (box.payload, box.end, box.type == "mdat")
    }
    guard let element = try window.element(at: offset) else { return nil }
    // A Segment's children are walked as if they stood at the top.
    if element.id == MatroskaID.segment { return (element.payload, element.payload, false) }
    guard let end = element.end else { return nil }
    return (element.payload, end, element.id == MatroskaID.cluster)
  }
}

/// Where the samples of a stream stand.
struct SampleSpan: Hashable {
  var first: Int64
  var last: Int64
  /// Whether each stands behind the one before it.
  var isAscending: Bool
}
