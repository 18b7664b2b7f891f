// The loop from demuxer to muxer: read, choose, rescale, repair, write, count. The only code that
// runs once a packet. Lives on the remux thread.

import CFFmpeg
import FetchCore

/// The way of the packets from an opened source into an opened output.
struct PacketPipeline {
  /// One kept stream on its way.
  struct Track {
    let source: Int
    let output: Int32
    let entry: StreamPlan.Entry
    let from: AVRational
    let to: AVRational
    /// The start of the presentation in the source's time base: taken off every stamp.
    let shift: Int64
    var repair: TimestampRepair
    /// A packet that is shown far ahead of its decoding, and what follows it, until one of these says
    /// whether that can be.
    var held: [Packet] = []
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
    /// Packets without a byte: the source's way to say that nothing new is to be seen.
    var emptyPackets: Int64 = 0
    /// Over the payload, where it was asked for.
    let hash: PayloadHash?
    /// Whether the latest packet is damaged: a source that ends so was cut.
    var endsCorrupt = false
    var lastDelta: Int64 = 0
    /// The latest decoding time as the source has it.
    var lastSourceDTS: Int64?
    /// Where the packets carry what a decoder is set up with.
    var watch: ParameterWatch?
    /// Whether parameter sets stand among the pictures that the configuration doesn't have.
    var setsChange = false
    /// What the packets go through before they are written; nil where they are copied.
    let stage: (any PacketStage)?
    /// Whether the source tells no time of its sound but its order (AVI).
    let runsOn: Bool
  }

  let demuxer: Demuxer
  private let muxer: Muxer
  private let output: SinkIO
  let log: AVLog
  let format: ContainerFormat
  /// Where the film's metadata goes.
  let metadata: MetadataCarriage
  /// What is wanted of it.
  let edits: MetadataEdits
  /// By the source's stream index; -1 where the stream is dropped.
  private var trackOf: [Int]
  var tracks: [Track]
  /// Packets of streams that are dropped, by the source's stream index.
  var strayPackets: [Int64]
  /// Streams that nobody wants.
  let unselected: Set<Int>

  /// nil where the container's clock can't jump.
  var jumps: JumpRepair?
  /// Reads the headers of a transport stream's packets again; nil elsewhere.
  private let headers: SourceReader?
  /// Where the source's room is to be given back.
  var consumption: SourceConsumption?
  private(set) var sourcePosition: Int64 = 0
  private(set) var packets: Int64 = 0
  var warnings: [FetchWarning] = []
  var emptyStreams: [(index: Int, reason: String)] = []
  /// Handler types of which an ISO source shows a track.
  let shownKinds: Set<String>
  /// How many cover pictures the output is to hold.
  let keptCovers: Int

  /// No container counts finer than nanoseconds.
  private static let finestClock: Int32 = 1_000_000_000

  /// Adds the streams and writes the header.
  init(
    demuxer: Demuxer, reader: SourceReader, muxer: Muxer, output: SinkIO, plan: StreamPlan,
    format: ContainerFormat, log: AVLog, gap: Int64, sourceIndex: SourceIndex,
    metadata: MetadataCarriage, settings: ExportSettings
  ) throws(FetchError) {
    self.demuxer = demuxer
    headers = demuxer.formatName == "mpegts" ? reader : nil
    self.muxer = muxer
    self.output = output
    self.log = log
    self.format = format
    self.metadata = metadata
    edits = settings.metadata
    let streams = demuxer.streams
    trackOf = Array(repeating: -1, count: streams.count)
    strayPackets = Array(repeating: 0, count: streams.count)
    unselected = Set(plan.entries.filter { !$0.isSelected }.map(\.description.index))
    tracks = []
    shownKinds = Set(
      sourceIndex.tracks.filter { $0.carriage.header?.isEnabled == true }
        .map(\.carriage.handlerType))
    keptCovers = plan.kept.count { $0.description.isAttachedPicture }

    let start = try Self.start(of: plan, streams, sourceFormat: demuxer.formatName)
    var outputs: [(StreamPlan.Entry, Int)] = []
    var stages: [Int: any PacketStage] = [:]
    let frameHeight = plan.kept.lazy.compactMap(\.description.height).first
    for entry in plan.entries {
      let index = entry.description.index
      guard entry.isTrack(in: format) else {
        if !entry.isSelected || !entry.description.kind.isMedia { demuxer.discard(stream: index) }
        continue
      }
      if entry.action == .converted {
        stages[index] = try SubtitleConversion(of: streams[index], frameHeight: frameHeight)
      } else if entry.ordersPictures {
        stages[index] = try PictureOrdering(of: streams[index])
      }
      let made =
        entry.isOpaque
        ? try muxer.add(opaque: streams[index])
        : try muxer.add(
          copyOf: streams[index], sampleEntry: entry.sampleEntry, format: format,
          edits: settings.metadata, stage: stages[index])
      outputs.append((entry, made))
    }
    if let context = demuxer.formatContext {
      let lost = try muxer.copyFileProperties(
        of: context, tags: metadata.muxerTags, start: start.value, startBase: start.base,
        duration: demuxer.statedDuration)
      if lost > 0 {
        warnings.append(
          FetchWarning(
            .propertyLost, "\(lost) chapters lie outside the film and are left out"))
      }
    }
    let copiesTimecode = outputs.contains { $0.0.isOpaque && $0.0.description.tag == "tmcd" }
    try muxer.writeHeader(gap: gap, makesTimecode: !copiesTimecode, log: log)
    if demuxer.mayJump { jumps = JumpRepair(streams: outputs.count) }
    for (entry, made) in outputs {
      let index = entry.description.index
      let from = streams[index].pointee.time_base
      guard from.num > 0, from.den > 0, from.den <= Self.finestClock else {
        throw FetchError(
          .damaged, "the clock of stream \(index) ticks \(from.den) times a second: it is damaged",
          recovery: "fetch the file again, or from another source")
      }
      trackOf[index] = tracks.count
      let to = muxer.timeBase(of: made)
      let isCoarse =
        entry.description.kind == .audio && (av_cmp_q(from, to) > 0 || entry.soundRunsOn)
        && !entry.description.codec.hasPrefix("pcm_")
      let tick = isCoarse ? try MediaTime.rescale(1, from, to) : 0
      let listed = Int64(avformat_index_get_entries_count(streams[index]))
      tracks.append(
        Track(
          source: index, output: Int32(made), entry: entry, from: from,
          to: to,
          shift: entry.description.isAttachedPicture
            ? 0 : try MediaTime.rescale(start.value, start.base, from),
          repair: TimestampRepair(
            slack: tick,
            reordering: Int64(max(0, streams[index].pointee.codecpar.pointee.video_delay)),
            furthest: entry.description.kind.isMedia
              ? try MediaTime.rescale(10, AVRational(num: 1, den: 1), to) : .max),
          isCoarse: isCoarse,
          parameters: streams[index].pointee.codecpar,
          declared: streams[index].pointee.nb_frames > 0 && !sourceIndex.isFragmented
            ? listed : nil,
          sourceTrack: sourceIndex.tracks.first { $0.id == Int(streams[index].pointee.id) },
          padding: try Self.padding(
            of: streams[index], sourceFormat: demuxer.formatName, to: to),
          hash: settings.verification == .hash
            ? try PayloadHash(PayloadForm(streams[index].pointee.codecpar.pointee)) : nil,
          watch: ParameterWatch(
            codec: entry.description.codec,
            form: PayloadForm(streams[index].pointee.codecpar.pointee)),
          stage: stages[index], runsOn: entry.soundRunsOn))
    }
  }

  /// Matroska's codec delay; its demuxer puts what is to be skipped before zero, and leaves the
  /// skipping to the decoder.
  private static func padding(
    of stream: UnsafeMutablePointer<AVStream>, sourceFormat: String, to base: AVRational
  ) throws(FetchError) -> Int64 {
    let parameters = stream.pointee.codecpar.pointee
    guard sourceFormat.hasPrefix("matroska"), parameters.sample_rate > 0,
      stream.pointee.start_time != cff_no_timestamp, stream.pointee.start_time < 0
    else { return 0 }
    return try MediaTime.rescale(
      Int64(parameters.initial_padding), AVRational(num: 1, den: parameters.sample_rate), base)
  }

  /// The earliest presentation among the kept sounds and pictures; it becomes zero.
  private static func start(
    of plan: StreamPlan, _ streams: [UnsafeMutablePointer<AVStream>], sourceFormat: String
  ) throws(FetchError) -> (value: Int64, base: AVRational) {
    var start: (value: Int64, base: AVRational)?
    for entry in plan.kept where entry.description.kind.isMedia {
      let stream = streams[entry.description.index].pointee
      guard !entry.description.isAttachedPicture, stream.start_time != cff_no_timestamp else {
        continue
      }
      var value = stream.start_time
      guard MediaTime.isSane(value) else {
        throw MediaTime.outOfRange("the start", stream: entry.description.index)
      }
      if sourceFormat.hasPrefix("matroska"), value < 0, stream.codecpar.pointee.sample_rate > 0 {
        // Codec delay: Matroska's demuxer puts what is to be skipped before zero.
        let padding = AVRational(num: 1, den: stream.codecpar.pointee.sample_rate)
        value += try MediaTime.rescale(
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
    let staged = try Packet()
    var lastReport = ContinuousClock.now
    var sinceReport = 0
    while case .packet = try demuxer.read(into: packet, log: log) {
      if availability.isCancelled { throw .cancelled }
      consumption?.take(stream: packet.stream, position: packet.position)
      try move(packet, through: staged)
      packet.clear()
      sinceReport += 1
      guard sinceReport >= 32 else { continue }
      sinceReport = 0
      if let range = try consumption?.released(read: demuxer.readPosition) {
        onMessage(.released(range))
      }
      let now = ContinuousClock.now
      guard now - lastReport >= .milliseconds(100) else { continue }
      lastReport = now
      onMessage(
        .progress(
          RemuxCounters(
            sourcePosition: sourcePosition, packets: packets, bytesWritten: output.bytesWritten)))
    }
    for at in tracks.indices {
      try tracks.withUnsafeMutableBufferPointer { buffer throws(FetchError) in
        try Self.writeHeld(on: &buffer[at], muxer: muxer, log: log)
      }
      try tracks[at].stage?.finish()
      try writeStaged(at, through: staged)
    }
  }

  /// - Parameter staged: clear; what a stage gives goes through it.
  @inline(__always)
  private mutating func move(
    _ packet: Packet, through staged: Packet
  ) throws(FetchError) {
    let stream = packet.stream
    if let position = packet.position {
      sourcePosition = max(sourcePosition, position.clampedSum(Int64(packet.size)))
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
    if let headers { try Self.forgetStaleStamps(of: packet, on: &tracks[at], headers) }
    if jumps != nil { try closeJump(before: packet, at) }
    if let stage = tracks[at].stage {
      try stage.take(packet, shift: tracks[at].shift)
      try writeStaged(at, through: staged)
      packets += 1
      return
    }
    try tracks.withUnsafeMutableBufferPointer { buffer throws(FetchError) in
      try Self.writeInTurn(packet, on: &buffer[at], muxer: muxer, log: log)
    }
    packets += 1
  }

  /// A stamp of the source in the output's time base, counted from the film's start.
  @inline(__always)
  static func stamp(_ stamp: Int64?, _ track: Track) throws(FetchError) -> Int64? {
    guard let stamp else { return nil }
    return try MediaTime.rescale(stamp - track.shift, track.from, track.to)
  }

  /// Writes what a stream's stage has ready.
  private mutating func writeStaged(_ at: Int, through packet: Packet) throws(FetchError) {
    guard let stage = tracks[at].stage else { return }
    while try stage.next(into: packet) {
      try tracks.withUnsafeMutableBufferPointer { buffer throws(FetchError) in
        try Self.write(packet, on: &buffer[at], muxer: muxer, log: log)
      }
      packet.clear()
    }
  }

  private mutating func closeJump(before packet: Packet, _ at: Int) throws(FetchError) {
    let microseconds = AVRational(num: 1, den: Int32(cff_time_base))
    let base = tracks[at].from
    guard tracks[at].entry.description.kind.isMedia, let dts = packet.dts ?? packet.pts,
      let offset = jumps?.offset(
        stream: at, dts: try MediaTime.rescale(dts, base, microseconds),
        duration: try MediaTime.rescale(packet.duration, base, microseconds)),
      offset != 0
    else { return }
    let ticks = try MediaTime.rescale(offset, microseconds, base)
    if let pts = packet.pts { packet.pointer.pointee.pts = pts + ticks }
    if let dts = packet.dts { packet.pointer.pointee.dts = dts + ticks }
  }

  @inline(__always)
  static func write(
    _ packet: Packet, on track: inout Track, isJoined: Bool = false, muxer: Muxer, log: AVLog
  ) throws(FetchError) {
    let from = track.stage?.timeBase ?? track.from
    let shift = track.stage == nil ? track.shift : 0
    let size = packet.size
    let flags = packet.flags
    let isCorrupt = flags & AV_PKT_FLAG_CORRUPT != 0
    if isCorrupt { track.corruptPackets += 1 }
    track.endsCorrupt = isCorrupt
    var duration = try MediaTime.rescale(packet.duration, from, track.to)
    // What libavformat flushes at the end of a short transport stream has no duration.
    if track.isCoarse || (duration <= 0 && track.entry.description.kind == .audio) {
      let samples = av_get_audio_frame_duration2(track.parameters, size)
      if samples > 0 {
        let rate = AVRational(num: 1, den: max(track.parameters.pointee.sample_rate, 1))
        duration = try MediaTime.rescale(Int64(samples), rate, track.to)
      }
    }
    if track.entry.description.kind == .subtitle, duration > Int64(Int32.max) {
      // Until something else is shown, however that is written.
      duration = 0
    }
    if duration <= 0 { duration = track.lastDelta }
    if packet.pointer.pointee.side_data_elems > 0 { try refuseNewParameters(packet, track) }
    switch track.watch?.take(packet.payload) {
    case .newConfiguration: throw changed(track)
    case .newSets: track.setsChange = true
    case .same, nil: break
    }
    if size == 0 {
      // movenc drops it without a word; what comes before it lasts until what comes after it.
      track.emptyPackets += 1
      return
    }
    if track.entry.description.lacksParameterSets, track.line.packets < 32 {
      takeParameterSets(packet, &track)
    }
    let last = track.repair.lastDTS
    var pts: Int64?
    var dts: Int64?
    if track.runsOn, let next = track.repair.end {
      pts = next
      dts = next
    } else if let stamp = packet.pts {
      pts = try MediaTime.rescale(stamp - shift, from, track.to)
    }
    if dts == nil, let stamp = packet.dts {
      dts = try MediaTime.rescale(stamp - shift, from, track.to)
    }
    var stamps = track.repair.next(pts: pts, dts: dts, duration: duration, isJoined: isJoined)
    if track.entry.description.isAttachedPicture { stamps = .init(pts: 0, dts: 0) }
    if track.repair.isContradictory {
      throw FetchError(
        .damaged, "the timestamps of stream \(track.source) contradict each other",
        reason: "they go back by more than 10 s",
        recovery: "fetch the file again, or from another source")
    }
    try refuseWhatNoTableHolds(stamps, duration, after: last, track)
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
        hiddenStart = try MediaTime.rescale(skipped, rate, track.to)
      }
    }
    track.hash?.update(packet.payload)
    let before = muxer.position
    try muxer.write(packet, log: log)
    track.line.add(
      bytes: size, written: muxer.position - before, stamps: stamps, duration: duration,
      isPresented: flags & AV_PKT_FLAG_DISCARD == 0, hiddenStart: hiddenStart)
  }

  /// Durations and composition offsets are 32 bits in the tables (ISO 14496-12 8.6.1), and movenc
  /// sets a stamp that doesn't fit to another one, with no more than a log line.
  @inline(__always)
  private static func refuseWhatNoTableHolds(
    _ stamps: TimestampRepair.Stamps, _ duration: Int64, after last: Int64?, _ track: Track
  ) throws(FetchError) {
    let longest = Int64(Int32.max)
    guard MediaTime.isSane(stamps.pts), MediaTime.isSane(stamps.dts) else {
      throw MediaTime.outOfRange("a timestamp", stream: track.source)
    }
    if stamps.dts - (last ?? stamps.dts) < longest, stamps.pts - stamps.dts < longest,
      duration <= longest
    {
      return
    }
    throw FetchError(
      .damaged, "the timestamps of stream \(track.source) are further apart than can be",
      reason: "more than \(longest) ticks of 1/\(track.to.den) s lie between two of them",
      recovery: "fetch the file again, or from another source")
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
    throw changed(track)
  }

  private static func changed(_ track: Track) -> FetchError {
    FetchError(
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
}
