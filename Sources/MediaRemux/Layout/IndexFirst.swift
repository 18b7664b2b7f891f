// Moving a finished file's index (`moov`) in front of the media, so that players can start at once.
// The muxer left a gap there; where the index fits, nothing but the index is copied. Where it doesn't,
// the media moves by whole blocks of the file system, or else by a pass over it. Runs on the remux
// thread, on a file that nobody else has open.

package import FetchCore
import Glibc

/// Puts `moov` before the media of a finished file.
package enum IndexFirst {
  /// Moves `moov` from the end of the file to the gap in front of the media.
  ///
  /// A gap that is larger than the index keeps a `free` box for the rest. One that is too small makes
  /// the media move towards the end, and the chunk offsets with it. With `room` that is by whole
  /// blocks, which the file system does without copying where it can; else it is a pass over the
  /// whole file, with the same result. Holes in the file stay holes.
  ///
  /// - Parameters:
  ///   - sink: the file, open for reading and writing. Borrowed. Its position is
  ///     neither used nor kept.
  ///   - gap: the bytes that were left out for the index, which no box covers; nil where there are
  ///     none: then the index goes right behind `ftyp`.
  ///   - room: the bytes that the index is to have in the end, used or not, whatever the gap was.
  ///     Of a tiny file, and where much would stay empty, the index gets just what it takes. The
  ///     layout then depends on `room` and the file's contents alone. Nil leaves the gap as it is.
  ///   - movesBlocks: false copies, as where the file system can do nothing else.
  ///   - cancellation: looked at between blocks.
  /// - Returns: the file's new size in bytes.
  /// - Throws: `diskFull` and `localIO` as the system says, `signal` where cancelled, `internal`
  ///   where the file isn't `…, media, moov`. The file is useless afterwards.
  @discardableResult
  package static func finish(
    sink: Int32, gap: ByteRange?, room: Int64? = nil, movesBlocks: Bool = true,
    cancellation: CancellationFlag? = nil
  ) throws(FetchError) -> Int64 {
    let layout = try FileLayout(sink, gap: gap)
    let mover = IndexMover(
      sink: sink, layout: layout, movesBlocks: movesBlocks, cancellation: cancellation)
    guard let room else {
      // A rest of 1 to 7 bytes, too small for any box, grows to an empty one.
      return try layout.fits
        ? mover.placeInGap() : mover.resettle { _ in layout.rest > 0 ? 8 : 0 }
    }
    return try layout.rest(of: room, index: layout.moovCount) == layout.rest
      ? mover.placeInGap() : mover.resettle { layout.rest(of: room, index: $0) }
  }
}

/// Where the parts of a finished file are.
struct FileLayout: Hashable {
  /// Where the index is to stand, and the bytes that are free for it.
  var gapStart: Int64
  var gapCount: Int64
  /// 8 where an empty box (`free`, `wide`) stands right behind the gap: it may be given up.
  var spareCount: Int64 = 0
  /// The index, which is the last box.
  var moovStart: Int64
  var moovCount: Int64

  var mediaStart: Int64 { gapStart + gapCount }

  /// What the index leaves of the gap, or negative: how much is missing.
  var rest: Int64 { gapCount - moovCount }

  /// Below so many bytes of media, moving them costs nothing worth a byte.
  static let tinyMedia: Int64 = 1 << 20
  /// Below so many, media that can't stay where it is gets copied, and then leaves nothing empty.
  static let smallMedia: Int64 = 16 << 20
  /// A rest above one part in so many of the file is worth a pass over it.
  static let largestWaste: Int64 = 50

  /// What is to stay free behind an index of `count` bytes: 0, or enough for a box.
  ///
  /// Of a large file, media that can't stay where it is moves by whole blocks only: see `BlockShift`.
  /// The result is the same where it has to be copied.
  func rest(of room: Int64, index count: Int64) -> Int64 {
    let media = moovStart - mediaStart
    guard media >= Self.tinyMedia else { return 0 }
    let rest = room - count
    if rest >= 8, rest <= (media + count) / Self.largestWaste { return rest }
    guard media >= Self.smallMedia else { return 0 }
    let beyondBlocks = (rest % BlockShift.blockSize + BlockShift.blockSize) % BlockShift.blockSize
    return (1...7).contains(beyondBlocks) ? beyondBlocks + BlockShift.blockSize : beyondBlocks
  }

  /// Whether the index fits as it is: exactly, or with room for the header of a `free` box.
  var fits: Bool { rest == 0 || rest > 0 && rest + spareCount >= 8 }

  /// Walks the boxes of a file, over the gap.
  init(_ sink: Int32, gap: ByteRange?) throws(FetchError) {
    var status = stat()
    guard fstat(sink, &status) == 0 else {
      throw SystemError.last("fstat").fetchError("reading the new file")
    }
    let size = Int64(status.st_size)
    let window = SourceWindow(
      SourceReader(descriptor: sink, size: size), limit: size, blockSize: 64)
    var position: Int64 = 0
    var afterType: Int64 = 0
    var spare: Int64 = 0
    var moov: BoxHeader?
    while position < size {
      if let gap, position == gap.lowerBound { position = gap.upperBound }
      guard let box = try window.box(at: position, parentEnd: size), box.end <= size else {
        throw Self.unexpected("no box at byte \(position)")
      }
      if box.type == "ftyp" { afterType = box.end }
      // A box with contents of its own must stay.
      if position == gap?.upperBound, box.type == "free" || box.type == "wide", box.size == 8 {
        spare = 8
      }
      if box.type == "moov" { moov = box }
      position = box.end
    }
    guard let moov, moov.end == size else { throw Self.unexpected("its last box isn't moov") }
    gapStart = gap?.lowerBound ?? afterType
    gapCount = gap?.count ?? 0
    spareCount = spare
    moovStart = moov.offset
    moovCount = moov.size
    guard moovStart >= mediaStart else { throw Self.unexpected("the gap isn't before moov") }
  }

  private static func unexpected(_ what: String) -> FetchError {
    FetchError(.internal, "the new file isn't laid out as expected: \(what)")
  }
}

/// Does the moving.
struct IndexMover {
  let sink: Int32
  let layout: FileLayout
  let movesBlocks: Bool
  let cancellation: CancellationFlag?

  private static let blockSize: Int64 = 4 * 1024 * 1024

  // MARK: It fits

  /// Copies the index into the gap and cuts it off at the end.
  func placeInGap() throws(FetchError) -> Int64 {
    var copied: Int64 = 0
    while copied < layout.moovCount {
      try checkCancellation()
      let count = min(Self.blockSize, layout.moovCount - copied)
      try write(read(layout.moovStart + copied, count), at: layout.gapStart + copied)
      copied += count
    }
    if layout.rest > 0 {
      let count = layout.rest < 8 ? layout.rest + layout.spareCount : layout.rest
      try writeFree(at: layout.gapStart + layout.moovCount, count: count)
    }
    return try truncate(to: layout.moovStart)
  }

  private func writeFree(at offset: Int64, count: Int64) throws(FetchError) {
    let isLong = count > Int64(UInt32.max)
    var header = Self.bigEndian(isLong ? 1 : count, width: 4) + Array("free".utf8)
    if isLong { header += Self.bigEndian(count, width: 8) }
    try write(header, at: offset)
  }

  private func clear(from offset: Int64, count: Int64) throws(FetchError) {
    var cleared: Int64 = 0
    while cleared < count {
      try checkCancellation()
      let piece = min(Self.blockSize, count - cleared)
      try write([UInt8](repeating: 0, count: Int(piece)), at: offset + cleared)
      cleared += piece
    }
  }

  private static func bigEndian(_ value: Int64, width: Int) -> [UInt8] {
    (0..<width).reversed().map { UInt8(truncatingIfNeeded: value >> Int64($0 * 8)) }
  }

  // MARK: It doesn't fit

  /// Moves the media by what is missing or too much, and writes the index with the new offsets.
  ///
  /// - Parameter rest: how many bytes are to stay free behind an index of so many: 0, or 8 and more;
  ///   the sum never falls as the index grows.
  func resettle(leaving rest: (Int64) -> Int64) throws(FetchError) -> Int64 {
    let offsets = try ChunkOffsets(moov: read(layout.moovStart, layout.moovCount))
    // A longer way may need 64-bit tables, which make the way longer still. Each turn promotes at
    // least one table more, so this ends.
    var delta = layout.moovCount + rest(layout.moovCount) - layout.gapCount
    while true {
      let count = Int64(offsets.size(delta: delta))
      let needed = count + rest(count) - layout.gapCount
      if needed <= delta { break }
      delta = needed
    }
    let moov = try offsets.rewritten(delta: delta)
    try moveMedia(by: delta)
    try write(moov, at: layout.gapStart)
    let spare = layout.gapCount + delta - Int64(moov.count)
    if spare > 0 {
      // Where the media stood, it is still to be read.
      try clear(from: layout.gapStart + Int64(moov.count), count: spare)
      try writeFree(at: layout.gapStart + Int64(moov.count), count: spare)
    }
    return try truncate(to: layout.moovStart + delta)
  }

  private func moveMedia(by delta: Int64) throws(FetchError) {
    if movesBlocks, layout.moovStart - layout.mediaStart >= FileLayout.smallMedia,
      let shift = BlockShift(from: layout.gapStart, by: delta),
      try shift.perform(
        on: sink, size: layout.moovStart + layout.moovCount, cancellation: cancellation)
    {
      return
    }
    if delta > 0 { try shiftMediaUp(by: delta) } else { try shiftMediaDown(by: -delta) }
  }

  /// Copies the media towards the end, last block first, over the old index.
  private func shiftMediaUp(by delta: Int64) throws(FetchError) {
    var end = layout.moovStart
    while end > layout.mediaStart {
      try checkCancellation()
      // Blocks are aligned where they go: pages are written whole, and a page that holds the first
      // byte of the next block would not pass for a hole any more.
      let target = (end + delta - 1) / Self.blockSize * Self.blockSize
      let start = max(layout.mediaStart, target - delta)
      // A hole is written only over something else, so that a sparse file stays sparse.
      if !isHole(start, end) || !isHole(start + delta, end + delta) {
        try write(read(start, end - start), at: start + delta)
      }
      end = start
    }
  }

  /// Copies the media towards the beginning, first block first, over what was left of the gap.
  private func shiftMediaDown(by delta: Int64) throws(FetchError) {
    guard delta > 0 else { return }
    var start = layout.mediaStart
    while start < layout.moovStart {
      try checkCancellation()
      let target = start - delta
      let next = (target / Self.blockSize + 1) * Self.blockSize + delta
      let end = min(next, layout.moovStart)
      if !isHole(start, end) || !isHole(target, end - delta) {
        try write(read(start, end - start), at: target)
      }
      start = end
    }
  }

  /// Whether the file is known to hold nothing but a hole there; past its end it does.
  ///
  /// A file system that knows no holes says no (lseek(2), SEEK_DATA).
  private func isHole(_ start: Int64, _ end: Int64) -> Bool {
    let data = lseek(sink, off_t(start), Self.seekData)
    return data < 0 ? errno == ENXIO : Int64(data) >= end
  }

  /// `SEEK_DATA`, which the imported C library leaves out.
  private static let seekData: Int32 = 3

  // MARK: The file

  private func checkCancellation() throws(FetchError) {
    if cancellation?.isCancelled == true { throw .cancelled }
  }

  private func read(_ offset: Int64, _ count: Int64) throws(FetchError) -> [UInt8] {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try DescriptorIO.read(sink, at: offset, count: Int(count))
    } catch {
      throw error.fetchError(Self.doing)
    }
    guard bytes.count == count else {
      throw FetchError(.localIO, "the new file became shorter while its index was moved")
    }
    return bytes
  }

  private func write(_ bytes: [UInt8], at offset: Int64) throws(FetchError) {
    do throws(SystemError) {
      try DescriptorIO.write(sink, bytes, at: offset)
    } catch {
      throw error.fetchError(Self.doing)
    }
  }

  private func truncate(to size: Int64) throws(FetchError) -> Int64 {
    do throws(SystemError) {
      _ = try retryingInterrupts("ftruncate") { ftruncate(sink, off_t(size)) }
      return size
    } catch {
      throw error.fetchError(Self.doing)
    }
  }

  private static let doing = "moving the index to the front"
}
