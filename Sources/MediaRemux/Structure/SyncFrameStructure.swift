// AC-3 and E-AC-3 (ETSI TS 102 366), DTS (ETSI TS 102 114) and AMR (RFC 4867, 5): frames with sizes
// and nothing around them. None has an end of its own; a last frame that is cut is found.

import FetchCore

/// A frame of AC-3, E-AC-3 or DTS.
struct SyncFrame: Hashable, Sendable {
  /// Bytes from this header to the next.
  var length: Int
  /// Whether it begins a unit of time; what follows belongs to it (dependent substreams, extensions).
  var startsUnit: Bool

  /// Reads the header at `position`; nil where there is none.
  init?(_ bytes: [UInt8], at position: Int, _ kind: ContainerKind) {
    guard position >= 0, bytes.count - position >= Self.headerSize(kind) else { return nil }
    let read = { (index: Int) in Int(bytes[position + index]) }
    switch kind {
    case .ac3 where bytes.has([0x0B, 0x77], at: position):
      let version = read(5) >> 3
      if version <= 10 {
        guard read(4) >> 6 < 3, read(4) & 0x3F < 38 else { return nil }
        let rate = Self.rates[(read(4) & 0x3F) >> 1]
        let words =
          switch read(4) >> 6 {
          case 0: rate * 2
          case 1: rate * 96000 / 44100 + (read(4) & 1)
          default: rate * 3
          }
        self.init(length: words * 2, startsUnit: true)
      } else {
        let type = read(2) >> 6
        guard version <= 16, type < 3 else { return nil }
        let words = (read(2) & 7) << 8 | read(3)
        self.init(length: words * 2 + 2, startsUnit: type != 1 && read(2) >> 3 & 7 == 0)
      }
    case .dts where bytes.has([0x7F, 0xFE, 0x80, 0x01], at: position):
      self.init(
        length: ((read(5) & 3) << 12 | read(6) << 4 | read(7) >> 4) + 1, startsUnit: true)
    case .dts where bytes.has([0x64, 0x58, 0x20, 0x25], at: position):
      // Behind 8 bits of the user's and 2 of the index: how wide the sizes are.
      let bits = (5...9).reduce(0) { $0 << 8 | read($1) }
      let length = read(5) & 0x20 == 0 ? bits >> 13 & 0xFFFF : bits >> 5 & 0xF_FFFF
      self.init(length: length + 1, startsUnit: false)
    default:
      return nil
    }
    if length < Self.headerSize(kind) { return nil }
  }

  private init(length: Int, startsUnit: Bool) {
    self.length = length
    self.startsUnit = startsUnit
  }

  /// How many bytes have to be there to know a frame's size.
  static func headerSize(_ kind: ContainerKind) -> Int { kind == .dts ? 10 : 6 }

  /// Whether `bytes`, fewer than a header, begin like one.
  static func begins(_ bytes: ArraySlice<UInt8>, _ kind: ContainerKind) -> Bool {
    let words: [[UInt8]] =
      kind == .dts ? [[0x7F, 0xFE, 0x80, 0x01], [0x64, 0x58, 0x20, 0x25]] : [[0x0B, 0x77]]
    return !bytes.isEmpty && words.contains { zip($0, bytes).allSatisfy(==) }
  }

  /// Whether a source begins with such frames: two in a row, or one that reaches past the head.
  static func begin(_ head: [UInt8], _ kind: ContainerKind) -> Bool {
    guard let frame = SyncFrame(head, at: 0, kind), frame.startsUnit else { return false }
    return frame.length + headerSize(kind) > head.count
      || SyncFrame(head, at: frame.length, kind) != nil
  }

  private static let rates = [
    32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
  ]
}

/// Examines raw AC-3, E-AC-3 and DTS files.
enum SyncFrameStructure {
  private static let tailSize = 512 * 1024

  static func examine(
    _ reader: SourceReader, size: Int64, kind: ContainerKind
  ) throws(FetchError) -> StructureVerdict {
    let end = try AudioFrameStructure.endOfFrames(reader, size: size)
    let start = max(0, end - Int64(tailSize))
    let tail = try reader.read(at: start, count: Int(end - start))
    return judge(tail, kind, startsWithFrame: start == 0)
  }

  /// Judges the last bytes of the frames; `startsWithFrame` where they are all of them.
  static func judge(
    _ bytes: [UInt8], _ kind: ContainerKind, startsWithFrame: Bool
  ) -> StructureVerdict {
    var position = 0
    var isInStep = startsWithFrame
    /// Frames of the unit before the last and of the last; 0 where unknown.
    var before = 0
    var current = 0
    while position < bytes.count {
      guard let frame = SyncFrame(bytes, at: position, kind) else {
        let left = bytes.count - position
        if isInStep, left < SyncFrame.headerSize(kind),
          SyncFrame.begins(bytes[position...], kind)
        {
          return .cut("the last frame", needs: Int64(SyncFrame.headerSize(kind)), has: Int64(left))
        }
        isInStep = false
        (before, current) = (0, 0)
        position += 1
        continue
      }
      let next = position + frame.length
      if !isInStep {
        // Bytes that look like a header are met anywhere: two more in step make it one.
        guard let second = SyncFrame(bytes, at: next, kind),
          next + second.length + SyncFrame.headerSize(kind) > bytes.count
            || SyncFrame(bytes, at: next + second.length, kind) != nil
        else {
          position += 1
          continue
        }
        isInStep = true
      }
      if next > bytes.count {
        return .cut(
          "the last frame", needs: Int64(frame.length), has: Int64(bytes.count - position))
      }
      if frame.startsUnit {
        before = current
        current = 1
      } else if current > 0 {
        current += 1
      }
      position = next
    }
    if current > 0, current < before {
      return .incomplete("cut: the last \(before - current) parts of the last frame are missing")
    }
    return .noEndOfItsOwn
  }
}

/// Examines AMR files of one channel.
enum AMRStructure {
  private static let narrow = Array("#!AMR\n".utf8)
  private static let wide = Array("#!AMR-WB\n".utf8)

  /// Whether a source begins like such a file.
  static func begins(_ head: [UInt8]) -> Bool {
    head.has(narrow, at: 0) || head.has(wide, at: 0)
  }

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let window = SourceWindow(reader, limit: size, blockSize: 64 * 1024)
    let head = try reader.read(at: 0, count: wide.count)
    guard begins(head) else { return .cut("the header", needs: 6, has: size) }
    let isWide = head.has(wide, at: 0)
    let lengths: [Int64?] = isWide ? wideLengths : narrowLengths
    var position = Int64(isWide ? wide.count : narrow.count)
    var steps = 0
    guard position < size else { return .incomplete("cut: no frame follows the header") }
    while position < size, let byte = try window.byte(at: position) {
      guard steps < StructureVerdict.longestWalk else { return .endlessWalk }
      guard let length = lengths[Int(byte >> 3 & 0xF)] else {
        return .incomplete("damaged: the frames end at byte \(position) of \(size)")
      }
      if 1 + length > size - position {
        return .cut("the last frame", needs: 1 + length, has: size - position)
      }
      position += 1 + length
      steps += 1
    }
    return .noEndOfItsOwn
  }

  /// Bytes behind the first of a frame, by its type (RFC 4867, 4.3.1 and 5.3).
  private static let narrowLengths: [Int64?] = [
    12, 13, 15, 17, 19, 20, 26, 31, 5, 6, 5, 5, nil, nil, nil, 0,
  ]
  private static let wideLengths: [Int64?] = [
    17, 23, 32, 36, 40, 46, 50, 58, 60, 5, nil, nil, nil, nil, 0, 0,
  ]
}
