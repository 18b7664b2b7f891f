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
  private let cancellation: CancellationFlag

  /// - Parameter cancellation: polled while libavformat reads the index, and between its entries.
  init(sink: Int32, size: Int64, cancellation: CancellationFlag) {
    self.sink = sink
    self.size = size
    self.cancellation = cancellation
  }

  /// Compares streams, packet counts, bytes and spans with the ledger.
  ///
  /// - Throws: `.internal`: the source was read well, so a difference is our own or the muxer's.
  func compare(
    with pipeline: PacketPipeline, demuxer source: Demuxer, onMessage: (RemuxMessage) -> Void
  ) throws(FetchError) {
    let availability = SourceAvailability(isFramed: true, cancellation: cancellation)
    availability.apply(.ended(total: size, isFramed: true))
    let log = AVLog()
    try AVLog.collecting(into: log) { () throws(FetchError) in
      let bytes = SourceBytes(descriptor: sink, availability: availability, onWait: { _ in })
      let output: Demuxer
      do throws(FetchError) {
        output = try Demuxer(
          SourceIO(bytes), isSeekable: true, ignoresEdits: true, log: log)
      } catch {
        if cancellation.isCancelled { throw .cancelled }
        throw Self.mismatch("it cannot be opened again (\(error.reason ?? error.message))")
      }
      defer { output.close() }
      if let line = log.demuxerErrors.first { throw Self.mismatch(line) }
      for warning in Self.lostMetadata(source, output) { onMessage(.warning(warning)) }
      let streams = output.streams.filter {
        $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
      }
      for (position, expected) in pipeline.expectations.enumerated() {
        guard position < streams.count else {
          throw Self.mismatch("stream \(expected.description.index) is missing in it")
        }
        try Self.compare(streams[position], expected, cancellation)
        for warning in Self.losses(
          source.streams[expected.description.index], streams[position], expected.description)
        {
          onMessage(.warning(warning))
        }
      }
    }
  }

  /// What says something of the container or of the tool, not of the film.
  private static let technicalKeys: Set<String> = [
    "major_brand", "minor_version", "compatible_brands", "encoder", "duration", "handler_name",
    "vendor_id", "language", "timecode", "creation_time", "filename", "mimetype",
    // What FLV writers put beside the film.
    "bytelength", "canseekontime", "httphostheader", "pmsg", "purl", "sourcedata", "starttime",
    "totaldatarate", "totalduration", "metadatacreator", "hasmetadata", "haskeyframes",
  ]

  /// The keys of the whole file's metadata that the output doesn't give back.
  private static func lostMetadata(_ source: Demuxer, _ output: Demuxer) -> [FetchWarning] {
    let kept = Set(Metadata(output.formatContext?.pointee.metadata).keys.map { $0.lowercased() })
    let lost = Metadata(source.formatContext?.pointee.metadata).keys.filter { key in
      let name = key.lowercased()
      return !kept.contains(name) && !technicalKeys.contains(name) && !name.hasPrefix("_statistics")
    }
    guard !lost.isEmpty else { return [] }
    let names = lost.sorted().prefix(12).map { String($0.prefix(64)) }.joined(separator: ", ")
    return [FetchWarning(.propertyLost, "metadata lost: \(names)")]
  }

  /// What hung on the source's stream and is not found on the output's.
  private static func losses(
    _ source: UnsafeMutablePointer<AVStream>, _ output: UnsafeMutablePointer<AVStream>,
    _ description: StreamDescription
  ) -> [FetchWarning] {
    func kinds(_ stream: UnsafeMutablePointer<AVStream>) -> Set<UInt32> {
      var kinds: Set<UInt32> = []
      for index in 0..<Int(stream.pointee.nb_side_data) {
        let entry = stream.pointee.side_data[index]
        // Stretching is carried by the pixel aspect.
        if entry.type == AV_PKT_DATA_DISPLAYMATRIX,
          isPureScale(UnsafeRawBufferPointer(start: entry.data, count: entry.size))
        {
          continue
        }
        kinds.insert(entry.type.rawValue)
      }
      return kinds
    }
    let lost = kinds(source).subtracting(kinds(output))
    let names: [(AVPacketSideDataType, String)] = [
      (AV_PKT_DATA_DISPLAYMATRIX, "rotation (display matrix)"),
      (AV_PKT_DATA_STEREO3D, "stereo 3D description (st3d)"),
      (AV_PKT_DATA_SPHERICAL, "spherical description (sv3d)"),
      (AV_PKT_DATA_MASTERING_DISPLAY_METADATA, "mastering display metadata (mdcv)"),
      (AV_PKT_DATA_CONTENT_LIGHT_LEVEL, "content light level (clli)"),
      (AV_PKT_DATA_ICC_PROFILE, "ICC colour profile"),
      (AV_PKT_DATA_DOVI_CONF, "Dolby Vision configuration (dvcC, dvvC)"),
      (AV_PKT_DATA_AUDIO_SERVICE_TYPE, "audio service type"),
    ]
    return names.filter { lost.contains($0.0.rawValue) }.map {
      FetchWarning(
        .propertyLost, stream: description.index,
        "\($0.1) of stream \(description.index) lost: the container cannot hold it")
    }
  }

  private static func compare(
    _ stream: UnsafeMutablePointer<AVStream>, _ expected: OutputExpectation,
    _ cancellation: CancellationFlag
  ) throws(FetchError) {
    let name = "stream \(expected.description.index) (\(expected.description.codecName))"
    let count = avformat_index_get_entries_count(stream)
    var bytes: Int64 = 0
    for index in 0..<count {
      // Millions of entries take a moment.
      if index & 0xFFFF == 0, cancellation.isCancelled { throw .cancelled }
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
    // The muxer fills the pauses between subtitles with empty samples.
    if expected.description.kind == .subtitle, Int64(count) >= expected.line.packets { return }
    guard Int64(count) == expected.line.packets else {
      throw mismatch("\(name) holds \(count) packets instead of \(expected.line.packets)")
    }
    guard count > 1, let first = avformat_index_get_entry(stream, 0),
      let last = avformat_index_get_entry(stream, count - 1)
    else { return }
    let (span, isWild) = last.pointee.timestamp.subtractingReportingOverflow(
      first.pointee.timestamp)
    let want = try MediaTime.rescale(
      expected.line.decodingSpan, expected.timeBase, stream.pointee.time_base)
    guard !isWild, MediaTime.isSane(span), abs(span - want) <= 1 else {
      throw mismatch("\(name) spans \(span) ticks instead of \(want)")
    }
  }

  private static func mismatch(_ text: String) -> FetchError {
    FetchError(
      .internal, "the output does not hold what was written", reason: text,
      recovery: "keep the source and report it as a bug")
  }
}
