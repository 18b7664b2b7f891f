// The output, opened again and compared with what was sent into it. Reads the index, not the media.
// Runs on the remux thread.

import CFFmpeg
import FetchCore

/// What one stream of the output must hold.
struct OutputExpectation {
  var description: StreamDescription
  var line: LedgerLine
  var timeBase: AVRational
}

/// The finished output's own account of itself.
struct OutputCheck {
  private let sink: Int32
  private let size: Int64

  init(sink: Int32, size: Int64) {
    self.sink = sink
    self.size = size
  }

  /// Compares streams, packet counts, bytes and spans with the ledger.
  ///
  /// - Throws: `.internal`: the source was read well, so a difference is our own or the muxer's.
  func compare(
    with pipeline: PacketPipeline, demuxer source: Demuxer, onMessage: (RemuxMessage) -> Void
  ) throws(FetchError) {
    let availability = SourceAvailability(isFramed: true)
    availability.apply(.ended(total: size, isFramed: true))
    let log = AVLog()
    try AVLog.collecting(into: log) { () throws(FetchError) in
      let bytes = SourceBytes(descriptor: sink, availability: availability, onWait: { _ in })
      let output: Demuxer
      do throws(FetchError) {
        output = try Demuxer(SourceIO(bytes), isSeekable: true, log: log, ignoresEdits: true)
      } catch {
        throw Self.mismatch("it cannot be opened again (\(error.reason ?? error.message))")
      }
      defer { output.close() }
      if let line = log.demuxerErrors.first { throw Self.mismatch(line) }
      let streams = output.streams.filter {
        $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
      }
      for (position, expected) in pipeline.expectations.enumerated() {
        guard position < streams.count else {
          throw Self.mismatch("stream \(expected.description.index) is missing in it")
        }
        try Self.compare(streams[position], expected)
      }
    }
  }

  private static func compare(
    _ stream: UnsafeMutablePointer<AVStream>, _ expected: OutputExpectation
  ) throws(FetchError) {
    let name = "stream \(expected.description.index) (\(expected.description.codecName))"
    let count = avformat_index_get_entries_count(stream)
    var bytes: Int64 = 0
    for index in 0..<count {
      guard let entry = avformat_index_get_entry(stream, index) else { continue }
      bytes += Int64(cff_index_size(entry))
    }
    // Uncompressed sound is indexed by chunk, so its packets are cut anew at each reading.
    let isIndexedByChunk = av_get_bits_per_sample(stream.pointee.codecpar.pointee.codec_id) > 0
    if isIndexedByChunk {
      guard bytes == expected.line.bytes else {
        throw mismatch("\(name) holds \(bytes) bytes instead of \(expected.line.bytes)")
      }
      return
    }
    guard Int64(count) == expected.line.packets else {
      throw mismatch("\(name) holds \(count) packets instead of \(expected.line.packets)")
    }
    guard count > 1, let first = avformat_index_get_entry(stream, 0),
      let last = avformat_index_get_entry(stream, count - 1)
    else { return }
    let span = last.pointee.timestamp - first.pointee.timestamp
    let want = av_rescale_q(
      expected.line.decodingSpan, expected.timeBase, stream.pointee.time_base)
    guard abs(span - want) <= 1 else {
      throw mismatch("\(name) spans \(span) ticks instead of \(want)")
    }
  }

  private static func mismatch(_ text: String) -> FetchError {
    FetchError(
      .internal, "the output does not hold what was written", reason: text,
      recovery: "keep the source and report it as a bug")
  }
}
