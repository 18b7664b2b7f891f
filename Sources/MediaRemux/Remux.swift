// The story of one remux, from the first bytes to the verified output: sniff, open, plan, copy,
// prove, check. Runs on the remux thread from beginning to end; the decisions are elsewhere.

import CFFmpeg
import FetchCore
import Glibc

/// One remux, run once.
struct Remux {
  private let request: RemuxRequest
  private let sink: Int32
  private let availability: SourceAvailability
  private let bytes: SourceBytes
  private let onMessage: @Sendable (RemuxMessage) -> Void
  private let log = AVLog()
  private let losses = LossRecord()

  init(
    _ request: RemuxRequest, source: Int32, sink: Int32, availability: SourceAvailability,
    onMessage: @escaping @Sendable (RemuxMessage) -> Void
  ) {
    self.request = request
    self.sink = sink
    self.availability = availability
    self.onMessage = onMessage
    bytes = SourceBytes(
      descriptor: source, availability: availability, onWait: { onMessage(.want($0)) })
  }

  /// Does all of it; returns the last message.
  func run() -> RemuxMessage {
    do throws(FetchError) {
      let outcome = try AVLog.collecting(into: log) { () throws(FetchError) -> RemuxOutcome in
        try remux()
      }
      return .finished(outcome)
    } catch {
      return .failed(availability.isCancelled ? .cancelled : error)
    }
  }

  private func remux() throws(FetchError) -> RemuxOutcome {
    let kind = try bytes.sniff()
    do throws(FetchError) {
      if let outcome = try export(kind, isSecondTry: false) { return outcome }
      // Fragments whose media stands before them are found only by looking at all of them first.
      try SinkIO(descriptor: sink).replaceTail(from: 0, with: [])
      if let outcome = try export(kind, isSecondTry: true) { return outcome }
    } catch {
      throw try bytes.truth(behind: error, kind: kind)
    }
    throw FetchError(
      .damaged, "fragments of the source announce more samples than can be read",
      recovery: "fetch the file again, or from another source")
  }

  /// Makes the output; nil where the source's fragments announce samples that were not read.
  private func export(
    _ kind: ContainerKind, isSecondTry: Bool
  ) throws(FetchError) -> RemuxOutcome? {
    let reader = bytes.reader
    try ProtectionScan.check(reader, kind: kind)

    let isISO = try kind == .mp4 ? bytes.beginsWithFileType() : false
    let demuxer = try Demuxer(
      SourceIO(bytes), isSeekable: kind.isSeekable, readsAhead: isSecondTry,
      isISO: isISO, log: log)
    defer { demuxer.close() }
    try demuxer.probe(log: log)
    let settings = request.settings
    let index = kind == .mp4 ? try SourceIndex(reader) : SourceIndex()
    let source = SourceDescription(demuxer, index)
    if !source.streams.contains(where: { $0.kind.isMedia && !$0.isAttachedPicture }) {
      // A source that was cut in its header shows no streams either, and that is what to say.
      _ = try prove(reader, kind)
    }
    let plan = try StreamPlan(
      source, to: request.format, selection: settings.selection,
      stripsMetadata: settings.metadata.strips)
    if settings.isStrict, let refusal = plan.refusalOfLoss { throw refusal }
    let metadata = MetadataCarriage(
      demuxer, plan, index, to: request.format, edits: settings.metadata)
    let edits = try EditedSamples(plan, demuxer, index) { () throws(FetchError) -> Demuxer in
      try Demuxer(SourceIO(bytes), isSeekable: true, ignoresEdits: true, isISO: isISO, log: AVLog())
    }
    var report = RemuxPlan(
      streams: plan.reports, sourceFormat: demuxer.formatName, duration: demuxer.duration)
    if !isSecondTry {
      onMessage(.planned(report))
      for warning in plan.warnings + edits.warnings + index.warnings { warn(warning) }
    }
    if settings.isStrict { try losses.refuse() }

    let output = SinkIO(
      descriptor: sink, expectedSize: request.releasesSource ? nil : availability.total)
    let muxer = try Muxer(output, format: request.format)
    defer { muxer.close() }
    let room = settings.indexFirst ? indexRoom(demuxer, plan, index) : nil
    let gap = room?.bytes(total: availability.total) ?? 0
    var pipeline = try PacketPipeline(
      demuxer: demuxer, reader: reader, muxer: muxer, output: output, plan: plan,
      format: request.format, log: log, gap: gap, sourceIndex: index, metadata: metadata,
      settings: settings)
    let gapRange = try muxer.gapRange(gap)
    if request.releasesSource {
      pipeline.consumption = SourceConsumption(
        reader, kind: kind, samples: index.isFragmented ? [:] : demuxer.sampleSpans)
    }
    try pipeline.run(availability: availability, onMessage: onMessage)
    try pipeline.checkSource()
    pipeline.nameWhatTracksLose()
    let proof = try prove(reader, kind)
    var outerBoxes: [UInt8] = []
    if kind == .mp4, let total = availability.total {
      let walk = try FragmentWalk(
        reader, size: total, cancellation: availability.cancellation)
      if index.isFragmented, pipeline.missesSamples(of: walk) { return nil }
      pipeline.warn(ofForeignBoxes: walk)
      if metadata.copiesSource { outerBoxes = walk.carriedBoxes.flatMap { $0 } }
    }
    try muxer.finish(log: log)
    try amendIndex(output, behind: gapRange, pipeline.amendment())
    muxer.close()

    var size = output.size
    if let room, let gapRange {
      size = try IndexFirst.finish(
        sink: sink, gap: gapRange, room: room.bytes(total: availability.total),
        cancellation: availability.cancellation)
    }
    if !outerBoxes.isEmpty {
      try output.replaceTail(from: size, with: outerBoxes)
      size = output.size
    }
    try output.giveBackRoom(behind: size)
    for (index, reason) in pipeline.emptyStreams {
      guard let at = report.streams.firstIndex(where: { $0.index == index }) else { continue }
      report.streams[at].action = .dropped
      report.streams[at].reason = reason
    }
    for warning in pipeline.warnings { warn(warning) }
    let check = OutputCheck(
      sink: sink, size: size, cancellation: availability.cancellation)
    let began = ContinuousClock.now
    for warning in try check.compare(with: pipeline, demuxer: demuxer) { warn(warning) }
    let verification = began.duration(to: .now) / .seconds(1)
    if settings.isStrict { try losses.refuse() }

    return RemuxOutcome(
      plan: report, ledger: try pipeline.ledger(), completeBy: proof,
      duration: pipeline.duration, bytes: size,
      counters: RemuxCounters(
        sourcePosition: availability.total ?? pipeline.sourcePosition, packets: pipeline.packets,
        bytesWritten: output.bytesWritten),
      verification: verification)
  }

  private func warn(_ warning: FetchWarning) {
    losses.note(warning)
    onMessage(.warning(warning))
  }

  /// The room that the index will need.
  private func indexRoom(
    _ demuxer: Demuxer, _ plan: StreamPlan, _ index: SourceIndex
  ) -> IndexRoom {
    let streams = demuxer.streams
    var packets: Int64 = 0
    var attachments = index.carriedSize
    var expected: Double = 0
    for entry in plan.kept {
      let stream = streams[entry.description.index]
      // Of an ISO source they are among the boxes.
      if index.movie == nil { attachments += Int64(max(stream.pointee.attached_pic.size, 0)) }
      attachments += Int64(max(stream.pointee.codecpar.pointee.extradata_size, 0))
      if entry.description.isAttachedPicture { continue }
      packets += Int64(avformat_index_get_entries_count(stream))
      expected += (demuxer.statedDuration ?? 0) * packetRate(stream.pointee)
    }
    return IndexRoom(
      sourceIndex: index.isFragmented ? nil : index.size - index.carriedSize, packets: packets,
      attachments: attachments, expected: Int64(min(expected, 1e9)))
  }

  /// Packets a second, as far as a header tells; 0 where it doesn't.
  private func packetRate(_ stream: AVStream) -> Double {
    let parameters = stream.codecpar.pointee
    if parameters.codec_type == AVMEDIA_TYPE_AUDIO {
      guard parameters.frame_size > 0 else { return 0 }
      return Double(max(parameters.sample_rate, 0)) / Double(parameters.frame_size)
    }
    let rate = stream.avg_frame_rate
    return rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : 0
  }

  /// Puts right, in the index at the output's end, what the muxer could not say.
  private func amendIndex(
    _ output: SinkIO, behind gap: ByteRange?, _ amendment: IndexAmendment
  ) throws(FetchError) {
    let layout = try FileLayout(sink, gap: gap)
    let moov = try output.read(at: layout.moovStart, count: Int(layout.moovCount))
    guard let amended = amendment.apply(to: moov) else {
      throw FetchError(
        .internal, "the output's index is not as expected", recovery: "report it as a bug")
    }
    try output.replaceTail(from: layout.moovStart, with: amended)
  }

  /// How it is known that the source was whole.
  private func prove(
    _ reader: SourceReader, _ kind: ContainerKind
  ) throws(FetchError) -> CompletionProof {
    guard availability.waitForEnd(willWait: bytes.onWait) != nil else { throw .cancelled }
    switch try ContainerStructure.examine(reader, kind: kind) {
    case .proven:
      return .structure
    case .noEndOfItsOwn where availability.isFramed:
      return .framing
    case .noEndOfItsOwn:
      throw FetchError(
        .damaged, "it cannot be told whether the source is complete",
        reason: "the container has no end of its own, and the server gave no length",
        recovery: "fetch it from a server that sends a Content-Length")
    case .damaged(let error):
      throw error
    }
  }
}
