// The output, opened again and compared with what was sent into it. Reads the index, not the media.
// Runs on the remux thread.

import CFFmpeg
import FetchCore

/// What one stream of the output must hold.
struct OutputExpectation {
  var description: StreamDescription
  var line: LedgerLine
  var timeBase: AVRational
  /// How the source framed the payload.
  var form: PayloadForm
  /// Over what was sent into the output, where it was asked for.
  var hash: PayloadHash?

  var name: String { "stream \(description.index) (\(description.codecName))" }

  /// Whether the muxer changes the payload's framing, so that its size changes too.
  ///
  /// Closed captions are pairs of bytes in a box of their own there, and triplets everywhere else.
  var isReframed: Bool {
    form != .plain || ["rawvideo", "eia_608"].contains(description.codec)
  }
}

/// The finished output's own account of itself.
struct OutputCheck {
  private let sink: Int32
  private let size: Int64
  private let cancellation: CancellationFlag

  /// - Parameter cancellation: polled while libavformat reads the index, and between its entries.
  init(sink: Int32, size: Int64, cancellation: CancellationFlag) {
    self.sink = sink
    self.size = size
    self.cancellation = cancellation
  }

  /// Compares streams, packet counts, bytes and spans with the ledger.
  ///
  /// - Returns: what the source has and the output doesn't.
  /// - Throws: `.internal`: the source was read well, so a difference is our own or the muxer's.
  func compare(
    with pipeline: PacketPipeline, demuxer source: Demuxer
  ) throws(FetchError) -> [FetchWarning] {
    let availability = SourceAvailability(isFramed: true, cancellation: cancellation)
    availability.apply(.ended(total: size, isFramed: true))
    let log = AVLog()
    return try AVLog.collecting(into: log) { () throws(FetchError) -> [FetchWarning] in
      let bytes = SourceBytes(descriptor: sink, availability: availability, onWait: { _ in })
      let output: Demuxer
      do throws(FetchError) {
        output = try Demuxer(
          SourceIO(bytes), isSeekable: true, ignoresEdits: true, isISO: true, log: log)
      } catch {
        if cancellation.isCancelled { throw .cancelled }
        throw Self.mismatch("it cannot be opened again (\(error.reason ?? error.message))")
      }
      defer { output.close() }
      if let line = log.demuxerErrors.first { throw Self.mismatch(line) }
      var losses = Self.lostMetadata(source, output, pipeline.edits)
      losses += Self.lostCovers(pipeline, output)
      let streams = output.streams.filter {
        $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
      }
      let expectations = pipeline.expectations
      for (position, expected) in expectations.enumerated() {
        guard position < streams.count else {
          throw Self.mismatch("stream \(expected.description.index) is missing in it")
        }
        try compare(streams[position], expected)
        losses += Self.losses(
          source.streams[expected.description.index], streams[position], expected.description)
      }
      try compareHashes(output, streams, expectations, log)
      return losses
    }
  }

  /// Reads the payload back, where it was hashed on its way in.
  private func compareHashes(
    _ output: Demuxer, _ streams: [UnsafeMutablePointer<AVStream>],
    _ expectations: [OutputExpectation], _ log: AVLog
  ) throws(FetchError) {
    guard expectations.contains(where: { $0.hash != nil }) else { return }
    var found: [Int: PayloadHash] = [:]
    for (position, expected) in expectations.enumerated() where expected.hash != nil {
      let stream = streams[position].pointee
      found[Int(stream.index)] = try PayloadHash(PayloadForm(stream.codecpar.pointee))
    }
    let packet = try Packet()
    while case .packet = try output.read(into: packet, log: log) {
      if cancellation.isCancelled { throw .cancelled }
      found[packet.stream]?.update(packet.payload)
      packet.clear()
    }
    if let line = log.demuxerErrors.first { throw Self.mismatch(line) }
    for (position, expected) in expectations.enumerated() {
      let read = try found[Int(streams[position].pointee.index)]?.hexadecimal()
      guard try read == expected.hash?.hexadecimal() else {
        throw Self.mismatch("the payload of \(expected.name) is not what was read from the source")
      }
    }
  }

  /// Compares a stream's index with what was written.
  private func compare(
    _ stream: UnsafeMutablePointer<AVStream>, _ expected: OutputExpectation
  ) throws(FetchError) {
    let name = expected.name
    let count = avformat_index_get_entries_count(stream)
    var bytes: Int64 = 0
    for index in 0..<count {
      // Millions of entries take a moment.
      if index & 0xFFFF == 0, cancellation.isCancelled { throw .cancelled }
      guard let entry = avformat_index_get_entry(stream, index) else { continue }
      // Packets without a byte were left out; what is empty here was emptied by the muxer.
      guard cff_index_size(entry) > 0 else {
        throw Self.mismatch("packet \(index) of \(name) has lost its bytes")
      }
      bytes += Int64(cff_index_size(entry))
    }
    let wanted = expected.isReframed ? expected.line.written : expected.line.bytes
    guard bytes == wanted else {
      throw Self.mismatch("\(name) holds \(bytes) bytes instead of \(wanted)")
    }
    // Uncompressed sound is indexed by chunk, so its packets are cut anew at each reading.
    if av_get_bits_per_sample(stream.pointee.codecpar.pointee.codec_id) > 0 { return }
    guard Int64(count) == expected.line.packets else {
      throw Self.mismatch("\(name) holds \(count) packets instead of \(expected.line.packets)")
    }
    guard count > 1, let first = avformat_index_get_entry(stream, 0),
      let last = avformat_index_get_entry(stream, count - 1)
    else { return }
    let (span, isWild) = last.pointee.timestamp.subtractingReportingOverflow(
      first.pointee.timestamp)
    let want = try MediaTime.rescale(
      expected.line.decodingSpan, expected.timeBase, stream.pointee.time_base)
    guard !isWild, MediaTime.isSane(span), abs(span - want) <= 1 else {
      throw Self.mismatch("\(name) spans \(span) ticks instead of \(want)")
    }
  }

  private static func mismatch(_ text: String) -> FetchError {
    FetchError(
      .internal, "the output does not hold what was written", reason: text,
      recovery: "keep the source and report it as a bug")
  }
}
