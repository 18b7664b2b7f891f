// The sample tables of one track (ISO/IEC 14496-12, 8.6 and 8.7): where its media ends in the file.
// Tables are read in blocks beside each other and never held: a million samples cost no memory.

import FetchCore

/// How far into the file the samples of a track reach.
struct SampleExtent: Hashable, Sendable {
  var samples: Int64 = 0
  /// One past the last byte of the furthest sample; 0 where there is none.
  var end: Int64 = 0
  /// The bytes of all samples, whether or not some of them are the same.
  var bytes: Int64 = 0
  /// Samples that no chunk holds.
  var unplaced: Int64 = 0
  /// A table that is shorter than it says.
  var shortTable: BoxType?
}

/// Reads the sample tables of a track.
struct SampleTable {
  let window: SourceWindow

  /// Where the samples described by a `stbl` box end.
  func extent(of stbl: BoxHeader) throws(FetchError) -> SampleExtent {
    var result = SampleExtent()
    let boxes = try window.children(of: stbl)
    func first(_ types: BoxType...) -> BoxHeader? { boxes.first { types.contains($0.type) } }

    guard let sizes = first("stsz", "stz2"),
      let sizeWord = try window.big(at: sizes.payload + 4, width: 4),
      let count = try window.big(at: sizes.payload + 8, width: 4)
    else { return result }
    result.samples = Int64(count)
    guard count > 0 else { return result }

    // stsz: one size for all, or 32 bits each. stz2: the low byte is the width in bits.
    let width: Int64 = sizes.type == "stz2" ? Int64(sizeWord & 0xFF) : 32
    let fixedSize = sizes.type == "stz2" ? 0 : sizeWord
    guard [4, 8, 16, 32].contains(width) else {
      result.shortTable = sizes.type
      return result
    }
    if fixedSize == 0, Int64(count) * width > (sizes.end - sizes.payload - 12).clampedBits {
      result.shortTable = sizes.type
      return result
    }

    guard let offsets = first("stco", "co64"), let chunks = first("stsc"),
      let offsetCount = try window.big(at: offsets.payload + 4, width: 4),
      let runCount = try window.big(at: chunks.payload + 4, width: 4)
    else {
      result.unplaced = Int64(count)
      return result
    }
    let offsetWidth = offsets.type == "co64" ? 8 : 4
    if Int64(offsetCount) * Int64(offsetWidth) > offsets.end - offsets.payload - 8 {
      result.shortTable = offsets.type
      return result
    }
    if Int64(runCount) * 12 > chunks.end - chunks.payload - 8 {
      result.shortTable = chunks.type
      return result
    }

    let soundUnit = fixedSize > 0 && fixedSize <= 8 ? try soundUnit(first("stsd")) : nil
    let sizeTable = cursor(sizes, skipping: 12, stride: width == 4 ? 1 : Int(width / 8))
    let offsetTable = cursor(offsets, skipping: 8, stride: offsetWidth)
    let runTable = cursor(chunks, skipping: 8, stride: 12)

    var sample: Int64 = 0
    var samplesPerChunk: Int64 = 0
    var run: Int64 = 0
    var nextRunStart = try runTable.field(0, width: 4) ?? .max
    for chunk in 0..<Int64(offsetCount) {
      while run < Int64(runCount), nextRunStart <= UInt64(chunk) + 1 {
        samplesPerChunk = Int64(try runTable.field(run, at: 4, width: 4) ?? 0)
        run += 1
        nextRunStart = try run < Int64(runCount) ? runTable.field(run, width: 4) ?? .max : .max
      }
      let here = min(samplesPerChunk, Int64(count) - sample)
      guard here > 0, let start = try offsetTable.field(chunk, width: offsetWidth) else { continue }
      var bytes: Int64 = 0
      if let soundUnit {
        // A unit of sound that isn't whole is not counted: some writers end a chunk inside one.
        bytes = Int64(clamping: UInt64(here) / soundUnit.frames).clampedProduct(soundUnit.bytes)
      } else if fixedSize > 0 {
        bytes = here.clampedProduct(Int64(fixedSize))
      } else {
        for index in sample..<sample + here {
          bytes = bytes.clampedSum(try size(at: index, width: width, in: sizeTable))
        }
      }
      sample += here
      result.bytes = result.bytes.clampedSum(bytes)
      if bytes > 0 { result.end = max(result.end, Int64(clamping: start).clampedSum(bytes)) }
      if sample == Int64(count) { break }
    }
    result.unplaced = Int64(count) - sample
    return result
  }

  private func cursor(_ box: BoxHeader, skipping: Int64, stride: Int) -> TableCursor {
    TableCursor(
      window.reader, start: box.payload + skipping, end: min(box.end, window.limit), stride: stride)
  }

  private func size(
    at index: Int64, width: Int64, in table: TableCursor
  ) throws(FetchError) -> UInt64 {
    guard width == 4 else { return try table.field(index, width: Int(width / 8)) ?? 0 }
    let pair = try table.field(index / 2, width: 1) ?? 0
    return index % 2 == 0 ? pair >> 4 : pair & 0xF
  }

  /// How many bytes a number of sound frames takes, where QuickTime counts frames as samples.
  ///
  /// In such a track `stsz` says 1 byte a sample, whatever a frame's size is (QuickTime File Format,
  /// "Sound Sample Descriptions"). Nil for anything that is not sure to be of that kind.
  private func soundUnit(
    _ stsd: BoxHeader?
  ) throws(FetchError) -> (frames: UInt64, bytes: Int64)? {
    guard let stsd, let entry = try window.box(at: stsd.payload + 8, parentEnd: stsd.end),
      let version = try window.big(at: entry.payload + 8, width: 2),
      let channels = try window.big(at: entry.payload + 16, width: 2),
      let bits = try window.big(at: entry.payload + 18, width: 2)
    else { return nil }
    let plain: Set<BoxType> = ["raw ", "twos", "sowt", "in24", "in32", "fl32", "fl64"]
    if version == 1, entry.size >= 52,
      let frames = try window.big(at: entry.payload + 28, width: 4),
      let bytes = try window.big(at: entry.payload + 36, width: 4),
      frames > 0, bytes > 0, plain.contains(entry.type)
    {
      return (frames, Int64(bytes))
    }
    guard version == 0, plain.contains(entry.type), bits % 8 == 0 else { return nil }
    let bytes = Int64(channels * (bits / 8))
    return bytes > 0 ? (1, bytes) : nil
  }
}

extension Int64 {
  /// The product, or `Int64.max` where it would overflow; both must be non-negative.
  func clampedProduct(_ other: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }

  /// Bytes as bits.
  fileprivate var clampedBits: Int64 { self <= 0 ? 0 : clampedProduct(8) }
}
