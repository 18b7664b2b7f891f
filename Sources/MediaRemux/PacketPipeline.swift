// The loop from demuxer to muxer: read, choose, rescale, repair, write, count. The only code that
// runs once a packet. Lives on the remux thread.

import CFFmpeg
import FetchCore
import Glibc

/// The way of the packets from an opened source into an opened output.
struct PacketPipeline {
  /// One kept stream on its way.
  private struct Track {
    let source: Int
    let output: Int32
    let entry: StreamPlan.Entry
    let from: AVRational
    let to: AVRational
    /// The start of the presentation in the source's time base: taken off every stamp.
    let shift: Int64
    var repair: TimestampRepair
    /// Whether a packet's length in samples is asked of libavcodec: the source's clock is coarser.
    let isCoarse: Bool
    let parameters: UnsafeMutablePointer<AVCodecParameters>
    /// Parameter sets found in the first packets, where the configuration has none.
    var parameterSets: [UInt8: [[UInt8]]] = [:]
    var line = LedgerLine()
    /// Samples of a stream whose index lists all of them; nil elsewhere.
    let declared: Int64?
    let sourceTrack: SourceTrack?
    /// Encoder delay that the container states beside the packets, in the output's time base.
    let padding: Int64
    var corruptPackets: Int64 = 0
    /// Whether the latest packet is damaged: a source that ends so was cut.
    var endsCorrupt = false
    var lastDelta: Int64 = 0
  }

  private let demuxer: Demuxer
  private let muxer: Muxer
  private let output: SinkIO
  private let log: AVLog
  private let format: ContainerFormat
  /// By the source's stream index; -1 where the stream is dropped.
  private var trackOf: [Int]
  private var tracks: [Track]
  private var strayPackets: [Int64]

  /// nil where the container's clock can't jump.
  private var jumps: JumpRepair?
  private(set) var sourcePosition: Int64 = 0
  private(set) var packets: Int64 = 0
  private(set) var warnings: [FetchWarning] = []
  private(set) var emptyStreams: [(index: Int, reason: String)] = []

  /// Adds the streams and writes the header.
  init(
    demuxer: Demuxer, muxer: Muxer, output: SinkIO, plan: StreamPlan, format: ContainerFormat,
    log: AVLog, gap: Int64, sourceIndex: SourceIndex
  ) throws(FetchError) {
    self.demuxer = demuxer
    self.muxer = muxer
    self.output = output
    self.log = log
    self.format = format
    let streams = demuxer.streams
    trackOf = Array(repeating: -1, count: streams.count)
    strayPackets = Array(repeating: 0, count: streams.count)
    tracks = []

    let start = Self.start(of: plan, streams, sourceFormat: demuxer.formatName)
    var outputs: [(StreamPlan.Entry, Int)] = []
    for entry in plan.entries {
      let index = entry.description.index
      let carriesTimecode = entry.description.tag == "tmcd"
      guard entry.action != .dropped, !carriesTimecode else {
        if !entry.description.kind.isMedia { demuxer.discard(stream: index) }
        continue
      }
      let made = try muxer.add(
        copyOf: streams[index], sampleEntry: entry.sampleEntry, format: format)
      outputs.append((entry, made))
    }
    if let context = demuxer.formatContext {
      try muxer.copyFileProperties(of: context, start: start.value, startBase: start.base)
    }
    try muxer.writeHeader(gap: gap, log: log)
    if demuxer.mayJump { jumps = JumpRepair(streams: outputs.count) }
    for (entry, made) in outputs {
      let index = entry.description.index
      let from = streams[index].pointee.time_base
      trackOf[index] = tracks.count
      let to = muxer.timeBase(of: made)
      let isCoarse =
        entry.description.kind == .audio && av_cmp_q(from, to) > 0
        && !entry.description.codec.hasPrefix("pcm_")
      let tick = isCoarse ? av_rescale_q(1, from, to) : 0
      let listed = Int64(avformat_index_get_entries_count(streams[index]))
      tracks.append(
        Track(
          source: index, output: Int32(made), entry: entry, from: from,
          to: to,
          shift: entry.description.isAttachedPicture
            ? 0 : av_rescale_q(start.value, start.base, from),
          repair: TimestampRepair(slack: tick), isCoarse: isCoarse,
          parameters: streams[index].pointee.codecpar,
          declared: streams[index].pointee.nb_frames > 0 && !sourceIndex.isFragmented
            ? listed : nil,
          sourceTrack: sourceIndex.tracks.first { $0.id == Int(streams[index].pointee.id) },
          padding: Self.padding(
            of: streams[index], sourceFormat: demuxer.formatName, to: to)))
    }
  }

  /// Matroska's codec delay; its demuxer puts what is to be skipped before zero, and leaves the
  /// skipping to the decoder.
  private static func padding(
    of stream: UnsafeMutablePointer<AVStream>, sourceFormat: String, to base: AVRational
  ) -> Int64 {
    let parameters = stream.pointee.codecpar.pointee
    guard sourceFormat.hasPrefix("matroska"), parameters.sample_rate > 0,
      stream.pointee.start_time != cff_no_timestamp, stream.pointee.start_time < 0
    else { return 0 }
    return av_rescale_q(
      Int64(parameters.initial_padding), AVRational(num: 1, den: parameters.sample_rate), base)
  }

  /// The earliest presentation among the kept sounds and pictures; it becomes zero.
  private static func start(
    of plan: StreamPlan, _ streams: [UnsafeMutablePointer<AVStream>], sourceFormat: String
  ) -> (value: Int64, base: AVRational) {
    var start: (value: Int64, base: AVRational)?
    for entry in plan.kept where entry.description.kind.isMedia {
      let stream = streams[entry.description.index].pointee
      guard !entry.description.isAttachedPicture, stream.start_time != cff_no_timestamp else {
        continue
      }
      var value = stream.start_time
      if sourceFormat.hasPrefix("matroska"), value < 0, stream.codecpar.pointee.sample_rate > 0 {
        // Codec delay: Matroska's demuxer puts what is to be skipped before zero.
        let padding = AVRational(num: 1, den: stream.codecpar.pointee.sample_rate)
        value += av_rescale_q(
          Int64(stream.codecpar.pointee.initial_padding), padding, stream.time_base)
      }
      if let so_far = start, av_compare_ts(so_far.value, so_far.base, value, stream.time_base) <= 0
      {
        continue
      }
      start = (value, stream.time_base)
    }
    return start ?? (0, AVRational(num: 1, den: Int32(cff_time_base)))
  }

  /// Moves every packet, until the source's end.
  mutating func run(
    availability: SourceAvailability, onMessage: (RemuxMessage) -> Void
  ) throws(FetchError) {
    let packet = try Packet()
    var lastReport = monotonicNanoseconds()
    var sinceReport = 0
    while case .packet = try demuxer.read(into: packet, log: log) {
      if availability.isCancelled { throw .cancelled }
      try move(packet)
      packet.clear()
      sinceReport += 1
      guard sinceReport >= 32 else { continue }
      sinceReport = 0
      let now = monotonicNanoseconds()
      guard now - lastReport >= 100_000_000 else { continue }
      lastReport = now
      onMessage(
        .progress(
          RemuxCounters(
            sourcePosition: sourcePosition, packets: packets, bytesWritten: output.bytesWritten)))
    }
  }

  @inline(__always)
  private mutating func move(_ packet: Packet) throws(FetchError) {
    let stream = packet.stream
    if let position = packet.position {
      sourcePosition = max(sourcePosition, position + Int64(packet.size))
    } else {
      sourcePosition = max(sourcePosition, demuxer.readPosition)
    }
    guard stream < trackOf.count else {
      try lateStream(stream)
      return
    }
    let at = trackOf[stream]
    guard at >= 0 else {
      strayPackets[stream] += 1
      return
    }
    if jumps != nil { closeJump(before: packet, at) }
    try tracks.withUnsafeMutableBufferPointer { buffer throws(FetchError) in
      try Self.write(packet, on: &buffer[at], muxer: muxer, log: log)
    }
    packets += 1
  }

  private mutating func closeJump(before packet: Packet, _ at: Int) {
    let microseconds = AVRational(num: 1, den: Int32(cff_time_base))
    let base = tracks[at].from
    guard tracks[at].entry.description.kind.isMedia, let dts = packet.dts ?? packet.pts,
      let offset = jumps?.offset(
        stream: at, dts: av_rescale_q(dts, base, microseconds),
        duration: av_rescale_q(packet.duration, base, microseconds)),
      offset != 0
    else { return }
    let ticks = av_rescale_q(offset, microseconds, base)
    if let pts = packet.pts { packet.pointer.pointee.pts = pts + ticks }
    if let dts = packet.dts { packet.pointer.pointee.dts = dts + ticks }
  }

  @inline(__always)
  private static func write(
    _ packet: Packet, on track: inout Track, muxer: Muxer, log: AVLog
  ) throws(FetchError) {
    let size = packet.size
    let flags = packet.flags
    let isCorrupt = flags & AV_PKT_FLAG_CORRUPT != 0
    if isCorrupt { track.corruptPackets += 1 }
    track.endsCorrupt = isCorrupt
    var duration = av_rescale_q(packet.duration, track.from, track.to)
    if track.isCoarse {
      let samples = av_get_audio_frame_duration2(track.parameters, size)
      if samples > 0 {
        let rate = AVRational(num: 1, den: max(track.parameters.pointee.sample_rate, 1))
        duration = av_rescale_q(Int64(samples), rate, track.to)
      }
    }
    if duration <= 0 { duration = track.lastDelta }
    if packet.pointer.pointee.side_data_elems > 0 { try refuseNewParameters(packet, track) }
    if track.entry.description.lacksParameterSets, track.line.packets < 32 {
      takeParameterSets(packet, &track)
    }
    let last = track.repair.lastDTS
    var stamps = track.repair.next(
      pts: packet.pts.map { av_rescale_q($0 - track.shift, track.from, track.to) },
      dts: packet.dts.map { av_rescale_q($0 - track.shift, track.from, track.to) },
      duration: duration)
    if track.entry.description.isAttachedPicture { stamps = .init(pts: 0, dts: 0) }
    if let last { track.lastDelta = stamps.dts - last }
    packet.pointer.pointee.pts = stamps.pts
    packet.pointer.pointee.dts = stamps.dts
    packet.pointer.pointee.duration = duration
    packet.pointer.pointee.stream_index = track.output
    packet.pointer.pointee.pos = -1
    var hiddenStart: Int64 = 0
    if track.line.packets == 0 {
      hiddenStart = track.padding
      if let skipped = packet.skippedAtStart {
        let rate = AVRational(num: 1, den: Int32(max(track.entry.description.sampleRate ?? 1, 1)))
        hiddenStart = av_rescale_q(skipped, rate, track.to)
      }
    }
    try muxer.write(packet, log: log)
    track.line.add(
      bytes: size, stamps: stamps, duration: duration,
      isPresented: flags & AV_PKT_FLAG_DISCARD == 0, hiddenStart: hiddenStart)
  }

  /// Parameters that change within a stream need a second sample entry, which the muxer can't write.
  private static func refuseNewParameters(
    _ packet: Packet, _ track: Track
  ) throws(FetchError) {
    var size = 0
    guard
      let data = av_packet_get_side_data(packet.pointer, AV_PKT_DATA_NEW_EXTRADATA, &size),
      size > 0, track.parameters.pointee.extradata_size > 0
    else { return }
    let known = UnsafeRawBufferPointer(
      start: track.parameters.pointee.extradata, count: Int(track.parameters.pointee.extradata_size)
    )
    if known.elementsEqual(UnsafeRawBufferPointer(start: data, count: size)) { return }
    throw FetchError(
      .cannotPassthrough,
      "the parameters of stream \(track.source) (\(track.entry.description.codecName)) change in"
        + " the middle, which cannot be carried unchanged",
      recovery: "keep the source")
  }

  private static func takeParameterSets(_ packet: Packet, _ track: inout Track) {
    let parameters = track.parameters.pointee
    guard let extradata = parameters.extradata, parameters.extradata_size >= 23, extradata[0] == 1,
      let data = packet.pointer.pointee.data
    else { return }
    let units = HEVCParameterSets.find(
      in: UnsafeRawBufferPointer(start: data, count: Int(packet.size)),
      lengthSize: Int(extradata[21] & 3) + 1)
    for (kind, sets) in units {
      for set in sets where track.parameterSets[kind]?.contains(set) != true {
        track.parameterSets[kind, default: []].append(set)
      }
    }
  }

  /// A stream that shows up after the header can't be added any more.
  private func lateStream(_ index: Int) throws(FetchError) {
    let streams = demuxer.streams
    guard index < streams.count else { return }
    let kind = streams[index].pointee.codecpar.pointee.codec_type
    guard kind == AVMEDIA_TYPE_AUDIO || kind == AVMEDIA_TYPE_VIDEO else { return }
    throw FetchError(
      .cannotPassthrough, "a stream begins in the middle of the source (stream \(index))",
      reason: "all streams of an mp4 or mov must be known at its beginning",
      recovery: "keep the source")
  }

  /// Judges what was read, after the demuxer's plain end.
  mutating func checkSource() throws(FetchError) {
    let media = tracks.filter {
      $0.entry.description.kind.isMedia && !$0.entry.description.isAttachedPicture
    }
    if media.allSatisfy({ $0.line.packets == 0 }) {
      throw FetchError(
        .damaged, "no samples: the source announces streams but holds no media",
        recovery: "fetch the file again, or from another source")
    }
    if let line = log.demuxerErrors.first {
      throw FetchError(
        .damaged, "the media is damaged or cut", reason: line,
        recovery: "fetch the file again, or from another source")
    }
    try refuseUnknownParameters()
    if let jumps, jumps.jumps > 0 {
      warnings.append(
        FetchWarning(
          .timestampsRepaired,
          "the source's clock jumps \(jumps.jumps) times; the jumps were closed"))
    }
    for track in media {
      let index = track.source
      try judgeCorruption(of: track)
      if let declared = track.declared, track.line.packets < declared, track.line.packets > 0 {
        throw FetchError(
          .damaged,
          "stream \(index) holds \(track.line.packets) of \(declared) packets: the media is cut",
          recovery: "fetch the file again, or from another source")
      }
      if track.line.packets == 0 {
        emptyStreams.append((index, "it is announced but empty"))
        let name = "\(track.entry.description.kind.rawValue) stream \(index)"
        warnings.append(
          FetchWarning(
            .streamDropped, stream: index,
            "empty \(name) (\(track.entry.description.codecName)) dropped: it holds no packets"))
      }
      if track.entry.sampleEntry == "hev1", filledConfiguration(of: track) == nil {
        warnings.append(
          FetchWarning(
            .compatibility, stream: index,
            "stream \(index) stays hev1, which Apple players may refuse:"
              + " its parameter sets stand in the stream only"))
      }
      if track.repair.movedPresentations + track.repair.inventedTimestamps > 0 {
        warnings.append(
          FetchWarning(
            .timestampsRepaired, stream: index,
            "\(track.repair.movedPresentations + track.repair.inventedTimestamps) timestamps of"
              + " stream \(index) were missing or not rising and had to be set"))
      }
    }
  }

  /// A sound or picture that was taken for empty, and then had packets after all.
  private func refuseUnknownParameters() throws(FetchError) {
    let streams = demuxer.streams
    for index in strayPackets.indices where strayPackets[index] > 0 {
      let kind = streams[index].pointee.codecpar.pointee.codec_type
      guard kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO,
        streams[index].pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
      else { continue }
      throw FetchError(
        .cannotPassthrough,
        "stream \(index) has \(strayPackets[index]) packets, but its parameters (size, rate) are"
          + " not to be found",
        recovery: "keep the source")
    }
  }

  /// Whether fewer packets came than the source's fragments announce.
  func missesSamples(of walk: FragmentWalk) -> Bool {
    tracks.contains { track in
      guard track.entry.description.kind.isMedia, let id = track.sourceTrack?.id else {
        return false
      }
      return track.line.packets < walk.samples[id, default: 0]
    }
  }

  mutating func warn(ofForeignBoxes walk: FragmentWalk) {
    for type in walk.foreignBoxes.sorted() {
      let meaning = type == "sefd" ? "Samsung's slow-motion and other camera data" : "unknown data"
      warnings.append(
        FetchWarning(
          .propertyLost, "box \(type) (\(meaning)) at the source's top level is left out"))
    }
  }

  /// Damaged packets end a remux, but for a broadcast recording's own: a receiver loses transport
  /// packets now and then, and nobody has them any more.
  private mutating func judgeCorruption(of track: Track) throws(FetchError) {
    guard track.corruptPackets > 0 else { return }
    let text = "\(track.corruptPackets) packets of stream \(track.source) are damaged"
    let isRecording = demuxer.mayJump && demuxer.formatName == "mpegts"
    let isRare = track.corruptPackets <= max(4, track.line.packets / 100)
    guard isRecording, isRare, !track.endsCorrupt else {
      throw FetchError(
        .damaged, text, recovery: "fetch the file again, or from another source")
    }
    warnings.append(
      FetchWarning(
        .unusual, stream: track.source, "\(text) in the source itself; they are kept as they are"))
  }

  /// What the finished index must be told, in the order of its tracks.
  var amendments: [TrackAmendment] {
    // Leading pictures may be shown before the first packet's time.
    var origin: (value: Int64, base: AVRational) = (0, AVRational(num: 1, den: 1))
    var isFirst = true
    for track in tracks
    where track.entry.description.kind.isMedia && !track.entry.description.isAttachedPicture {
      guard let begin = track.line.firstPresentation else { continue }
      if isFirst || av_compare_ts(begin, track.to, origin.value, origin.base) < 0 {
        origin = (begin, track.to)
        isFirst = false
      }
    }
    return tracks.filter { $0.line.packets > 0 && !$0.entry.description.isAttachedPicture }.map {
      track in
      var amendment = TrackAmendment()
      if track.entry.description.kind.isMedia {
        amendment.presentation = presentation(of: track, origin: origin)
      }
      if track.entry.sampleEntry == "dvh1" { amendment.sampleEntry = "dvh1" }
      if let configuration = filledConfiguration(of: track) {
        amendment.sampleEntry = "hvc1"
        amendment.replacedBoxes = [configuration]
      }
      if track.entry.description.kind == .video, let source = track.sourceTrack {
        amendment.entryBoxes = TrackAmendment.carriedBoxes.compactMap { source.entryBoxes[$0] }
      }
      return amendment
    }
  }

  /// The HEVC configuration with the parameter sets that only the stream had.
  private func filledConfiguration(of track: Track) -> [UInt8]? {
    let parameters = track.parameters.pointee
    guard track.entry.description.lacksParameterSets, let extradata = parameters.extradata else {
      return nil
    }
    let payload = Array(
      UnsafeBufferPointer(start: extradata, count: Int(parameters.extradata_size)))
    return HEVCParameterSets.configuration(from: payload, units: track.parameterSets)
  }

  /// - Parameter origin: the earliest presentation of all; it becomes zero.
  private func presentation(
    of track: Track, origin: (value: Int64, base: AVRational)
  ) -> TrackAmendment.Presentation? {
    guard let begin = track.line.firstPresentation, var end = track.line.lastPresentationEnd,
      let first = track.line.firstDTS
    else { return nil }
    if let seconds = track.sourceTrack?.presentedEnd {
      // The source's edit list may end inside its last packet.
      let shift = av_rescale_q(track.shift, track.from, track.to)
      let ticks = Double(track.to.den) / Double(track.to.num)
      let sourceEnd = Int64((seconds * ticks).rounded()) - shift
      let tick = Int64(ticks / Double(max(track.sourceTrack?.movieTimescale ?? 1, 1))) + 1
      if sourceEnd < end - tick, sourceEnd > begin { end = sourceEnd }
    }
    return TrackAmendment.Presentation(
      delay: begin - av_rescale_q(origin.value, origin.base, track.to), mediaStart: begin - first,
      duration: end - begin)
  }

  /// What the output must be found to hold, in the output's order.
  var expectations: [OutputExpectation] {
    tracks.filter { $0.line.packets > 0 && !$0.entry.description.isAttachedPicture }.map {
      OutputExpectation(description: $0.entry.description, line: $0.line, timeBase: $0.to)
    }
  }

  var ledger: [StreamLedger] {
    tracks.filter { $0.line.packets > 0 }.map {
      StreamLedger(
        index: $0.source, packets: $0.line.packets, bytes: $0.line.bytes,
        duration: Double($0.line.span) * Double($0.to.num) / Double($0.to.den))
    }
  }

  /// Seconds from zero to the end of the last presentation.
  var duration: Double {
    tracks.filter { !$0.entry.description.isAttachedPicture }.reduce(0) {
      max($0, Double($1.line.lastPresentationEnd ?? 0) * Double($1.to.num) / Double($1.to.den))
    }
  }
}

extension StreamReport.Kind {
  var isMedia: Bool { self == .video || self == .audio }
}

private func monotonicNanoseconds() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}
