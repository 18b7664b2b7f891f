// AVI (with the OpenDML extensions 1.02) and WAV (with RF64, EBU Tech 3306): RIFF chunks and their
// declared sizes.

import FetchCore

/// Examines RIFF files.
enum RIFFStructure {
  /// A chunk's place, as its header says.
  private struct Chunk {
    var id: BoxType
    var offset: Int64
    var length: UInt64

    var payload: Int64 { offset + 8 }
    var end: Int64 { payload.clampedSum(length) }
    /// Chunks begin at even offsets.
    var next: Int64 { end.clampedSum(length & 1) }
    /// What writers leave that can't go back to fill in a size.
    var isOpen: Bool { length == 0 || length == 0xFFFF_FFFF }
  }

  private static func chunk(
    _ window: SourceWindow, at offset: Int64
  ) throws(FetchError) -> Chunk? {
    guard let id = try window.big(at: offset, width: 4),
      let length = try window.little(at: offset + 4, width: 4)
    else { return nil }
    return Chunk(
      id: BoxType(rawValue: UInt32(truncatingIfNeeded: id)), offset: offset, length: length)
  }

  private static func cut(_ name: String, _ chunk: Chunk, _ size: Int64) -> StructureVerdict {
    .cut(name, needs: chunk.end - chunk.offset, has: size - chunk.offset)
  }

  // MARK: AVI

  static func examineAVI(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let window = SourceWindow(reader, limit: size, blockSize: 4096)
    var position: Int64 = 0
    var isOpen = false
    var indexEnd: Int64 = 0
    while position < size {
      guard let riff = try chunk(window, at: position), riff.id == "RIFF" else { break }
      if riff.isOpen || hasHeaderCounted(riff, size) {
        isOpen = true
      } else if riff.end > size {
        return cut("the RIFF chunk", riff, size)
      }
      let end = riff.isOpen ? size : min(riff.end, size)
      if let verdict = try walkAVI(
        window, from: position + 12, to: end, isOpen: &isOpen, indexEnd: &indexEnd)
      {
        return verdict
      }
      position = riff.isOpen ? size : riff.next
    }
    guard position > 0 else { return .incomplete("cut: no RIFF chunk") }
    if indexEnd > size { return .cut("what the index lists", needs: indexEnd, has: size) }
    if isOpen { return .noEndOfItsOwn }
    if size - position >= 8, try !window.isZero(from: position) { return .noEndOfItsOwn }
    return .proven
  }

  /// Some writers count the 8 bytes of the chunk's header as well; its parts tell whether they end.
  private static func hasHeaderCounted(_ riff: Chunk, _ size: Int64) -> Bool {
    riff.end > size && riff.end - size <= 8
  }

  /// Walks the chunks of a RIFF chunk; nil where nothing is wrong with them.
  private static func walkAVI(
    _ window: SourceWindow, from start: Int64, to end: Int64, isOpen: inout Bool,
    indexEnd: inout Int64
  ) throws(FetchError) -> StructureVerdict? {
    let size = window.limit
    var position = start
    while end - position >= 8, let part = try chunk(window, at: position) {
      let kind = try part.id == "LIST" ? window.big(at: part.payload, width: 4) : nil
      let isMedia = kind == UInt64(BoxType(stringLiteral: "movi").rawValue)
      if isMedia, part.isOpen {
        isOpen = true
        return nil
      }
      if part.end > size {
        return cut("chunk \(part.id.text)", part, size)
      }
      if part.end > end { isOpen = true }
      if kind == UInt64(BoxType(stringLiteral: "hdrl").rawValue) {
        try readHeaders(window, from: part.payload + 4, to: part.end, &indexEnd)
      }
      position = part.next
    }
    return nil
  }

  /// Takes the places of the index chunks from the super indexes of all streams.
  private static func readHeaders(
    _ window: SourceWindow, from start: Int64, to end: Int64, _ indexEnd: inout Int64
  ) throws(FetchError) {
    var position = start
    while end - position >= 8, let list = try chunk(window, at: position), list.end <= end {
      position = list.next
      guard list.id == "LIST",
        try window.big(at: list.payload, width: 4)
          == UInt64(BoxType(stringLiteral: "strl").rawValue)
      else { continue }
      var field = list.payload + 4
      while list.end - field >= 8, let part = try chunk(window, at: field), part.end <= list.end {
        field = part.next
        guard part.id == "indx", try window.byte(at: part.payload + 3) == 0,
          let entries = try window.little(at: part.payload + 4, width: 4)
        else { continue }
        let room = UInt64(max(0, part.end - part.payload - 24) / 16)
        for index in 0..<Int64(min(entries, room)) {
          let entry = part.payload + 24 + index * 16
          guard let offset = try window.little(at: entry, width: 8),
            let length = try window.little(at: entry + 8, width: 4)
          else { break }
          indexEnd = max(indexEnd, Int64(clamping: offset).clampedSum(length))
        }
      }
    }
  }

  // MARK: WAV

  static func examineWave(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let window = SourceWindow(reader, limit: size, blockSize: 4096)
    guard let riff = try chunk(window, at: 0) else {
      return .cut("the header", needs: 12, has: size)
    }
    let isLong = riff.id == "RF64" || riff.id == "BW64"
    var longData: UInt64?
    var position: Int64 = 12
    while let part = try chunk(window, at: position) {
      if part.id == "ds64" { longData = try window.little(at: part.payload + 8, width: 8) }
      if part.id == "data" {
        var data = part
        if isLong, part.length == 0xFFFF_FFFF, let longData { data.length = longData }
        if data.isOpen { return data.payload == size ? .proven : .noEndOfItsOwn }
        if data.end > size { return cut("chunk data", data, size) }
        if !riff.isOpen, !isLong, riff.end > size, !hasHeaderCounted(riff, size) {
          return cut("the RIFF chunk", riff, size)
        }
        return .proven
      }
      if part.end > size { return cut("chunk \(part.id.text)", part, size) }
      position = part.next
    }
    return .incomplete("cut: the header is there, no sound follows it")
  }
}
