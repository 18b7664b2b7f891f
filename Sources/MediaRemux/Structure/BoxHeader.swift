// Boxes of ISO/IEC 14496-12 and atoms of QuickTime: their headers, and walking from one to the next
// without reading what they hold.

import FetchCore

/// The four-character code of a box.
struct BoxType: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The code as written; only its first four bytes count.
  init(stringLiteral text: String) {
    rawValue = text.utf8.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The code for people: printable characters only, since it comes from outside.
  var text: String {
    isPrintable ? String(decoding: bytes, as: UTF8.self) : "0x" + String(rawValue, radix: 16)
  }

  /// Whether all four characters are printable ASCII.
  var isPrintable: Bool { bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }

  private var bytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) }
  }
}

/// Where a box is, as its header says.
struct BoxHeader: Hashable, Sendable {
  var type: BoxType
  var offset: Int64
  /// Where its contents begin.
  var payload: Int64
  /// One past its last byte, as declared: hostile, perhaps past the source's end.
  var end: Int64
  /// The size was 0, which means "to the end of the file".
  var runsToEnd = false

  var size: Int64 { end - offset }

  /// Reads a header by the rules of ISO/IEC 14496-12, 4.2: the one place that knows them.
  ///
  /// - Parameters:
  ///   - parentEnd: where the box's surroundings end; a size of 0 runs to there.
  ///   - big: the big-endian number of so many bytes at an offset; nil where there are fewer.
  /// - Returns: nil where no header fits or the declared size is smaller than the header.
  static func read(
    at offset: Int64, parentEnd: Int64,
    big: (_ offset: Int64, _ width: Int) throws(FetchError) -> UInt64?
  ) throws(FetchError) -> BoxHeader? {
    guard offset >= 0, parentEnd >= 8, offset <= parentEnd - 8,
      let size32 = try big(offset, 4), let type = try big(offset + 4, 4)
    else { return nil }
    var box = BoxHeader(
      type: BoxType(rawValue: UInt32(truncatingIfNeeded: type)), offset: offset,
      payload: offset + 8, end: offset.clampedSum(size32))
    switch size32 {
    case 0:
      box.end = parentEnd
      box.runsToEnd = true
    case 1:
      guard offset <= parentEnd - 16, let size64 = try big(offset + 8, 8), size64 >= 16 else {
        return nil
      }
      box.payload = offset + 16
      box.end = offset.clampedSum(size64)
    case 2..<8:
      return nil
    default:
      break
    }
    return box
  }
}

extension Array where Element == UInt8 {
  /// The header at `offset` of a box inside something that ends at `end`, and lies wholly in it.
  func boxHeader(at offset: Int, end: Int) -> BoxHeader? {
    let found: BoxHeader?
    do throws(FetchError) {
      found = try BoxHeader.read(at: Int64(offset), parentEnd: Int64(Swift.min(end, count))) {
        (at, width) throws(FetchError) -> UInt64? in
        at <= Int64(count - width) ? integer(Int(at), width) : nil
      }
    } catch {
      return nil
    }
    guard let found, found.end <= Int64(end) else { return nil }
    return found
  }
}

extension SourceWindow {
  /// The header at `offset` of a box inside something that ends at `parentEnd`.
  ///
  /// - Returns: nil where no header fits or the declared size is smaller than the header.
  func box(at offset: Int64, parentEnd: Int64) throws(FetchError) -> BoxHeader? {
    try BoxHeader.read(at: offset, parentEnd: parentEnd) {
      (at, width) throws(FetchError) -> UInt64? in try big(at: at, width: width)
    }
  }

  /// The boxes inside a box, clamped to it.
  ///
  /// A child that reaches past its parent is clamped, as libavformat does; whoever reads its table
  /// finds out. More than 65536 children are nobody's file: the rest is left out.
  func children(of parent: BoxHeader, skipping: Int64 = 0) throws(FetchError) -> [BoxHeader] {
    var found: [BoxHeader] = []
    let end = min(parent.end, limit)
    var position = parent.payload.clampedSum(skipping)
    while position < end, found.count < 65536,
      var box = try box(at: position, parentEnd: end)
    {
      position = box.end
      box.end = min(box.end, end)
      found.append(box)
    }
    return found
  }

  /// The first box at the end of a path of types below `parent`.
  func descendant(of parent: BoxHeader, _ path: BoxType...) throws(FetchError) -> BoxHeader? {
    var current = parent
    for type in path {
      guard let next = try children(of: current).first(where: { $0.type == type }) else {
        return nil
      }
      current = next
    }
    return current
  }
}

/// Fixed-width big-endian numbers one after the other, read in blocks.
struct TableCursor {
  private let window: SourceWindow
  private let start: Int64
  private let stride: Int64

  /// The table of entries of `stride` bytes between two offsets.
  init(_ reader: SourceReader, start: Int64, end: Int64, stride: Int) {
    let length = Int(clamping: max(0, end - start))
    window = SourceWindow(reader, limit: end, blockSize: min(length, 64 * 1024))
    self.start = start
    self.stride = Int64(stride)
  }

  /// A field of an entry; nil past the table's end.
  func field(_ index: Int64, at offset: Int64 = 0, width: Int) throws(FetchError) -> UInt64? {
    let (relative, overflow) = index.multipliedReportingOverflow(by: stride)
    guard !overflow else { return nil }
    return try window.big(at: start.clampedSum(relative).clampedSum(offset), width: width)
  }
}
