// The output as libavformat sees it: streams with everything that hangs on them, header once,
// packets, trailer once. Knows a descriptor through SinkIO, never a path. Lives on the remux thread.

import CFFmpeg
import FetchCore

/// An output being written.
final class Muxer {
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private let io: SinkIO
  /// The outputs whose packets movenc sends through a filter, which copies what isn't counted.
  private var filtered: Set<Int> = []
  private static let movieTimescale: Int64 = 90_000
  /// Codecs whose QuickTime tag says the pixel format, the size or the frame rate as well.
  private static let tagDependsOnPictures: Set<UInt32> = [
    AV_CODEC_ID_RAWVIDEO.rawValue, AV_CODEC_ID_DVVIDEO.rawValue, AV_CODEC_ID_MPEG2VIDEO.rawValue,
  ]

  init(_ io: SinkIO, format: ContainerFormat) throws(FetchError) {
    self.io = io
    var made: UnsafeMutablePointer<AVFormatContext>?
    let result = avformat_alloc_output_context2(&made, nil, format.rawValue, nil)
    guard result >= 0, let made else {
      throw AVError(code: result).fetchError(.writing, evidence: nil)
    }
    context = made
    made.pointee.pb = try io.open()
    made.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    // The same source gives the same bytes: no version, no clock.
    made.pointee.flags |= AVFMT_FLAG_BITEXACT
    made.pointee.io_open = refuseToOpen
    made.pointee.strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL
  }

  deinit { close() }

  /// Frees the output context; an output without its trailer is no file.
  ///
  /// Idempotent.
  func close() {
    guard let open = context else { return }
    open.pointee.pb = nil
    avformat_free_context(open)
    context = nil
    io.close()
  }

  /// Adds a stream that carries all that the source's stream does.
  ///
  /// - Parameter stage: what the packets go through, where they aren't copied.
  /// - Returns: the output's index.
  func add(
    copyOf source: UnsafeMutablePointer<AVStream>, sampleEntry: String?, format: ContainerFormat,
    edits: MetadataEdits, stage: (any PacketStage)? = nil
  ) throws(FetchError) -> Int {
    guard let context, let stream = avformat_new_stream(context, nil) else {
      throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
    }
    let result = avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar)
    if result < 0 { throw AVError(code: result).fetchError(.writing, evidence: nil) }
    try stage?.describe(in: stream.pointee.codecpar)
    let codec = source.pointee.codecpar.pointee.codec_id
    if codec == AV_CODEC_ID_VP9 { filtered.insert(Int(stream.pointee.index)) }
    if let sampleEntry = sampleEntry == "dvh1" ? "hvc1" : sampleEntry {
      // libavformat 59 knows no `dvh1`: the name is put right in the finished index.
      stream.pointee.codecpar.pointee.codec_tag = fourCharacterCode(sampleEntry)
    } else if !keepsTag(source.pointee.codecpar.pointee.codec_tag, codec) {
      stream.pointee.codecpar.pointee.codec_tag = 0
      if format == .mov, Self.tagDependsOnPictures.contains(codec.rawValue) {
        // With a laxer compliance movenc takes the first tag that it knows for the codec.
        context.pointee.strict_std_compliance = FF_COMPLIANCE_NORMAL
      }
    }
    stream.pointee.time_base = stage?.timeBase ?? timeBase(for: source, format: format)
    stream.pointee.avg_frame_rate = source.pointee.avg_frame_rate
    stream.pointee.r_frame_rate = source.pointee.r_frame_rate
    // The container's pixel aspect wins over the bitstream's, and the muxer wants to see one only.
    let aspect = av_guess_sample_aspect_ratio(nil, source, nil)
    stream.pointee.sample_aspect_ratio = aspect
    stream.pointee.codecpar.pointee.sample_aspect_ratio = aspect
    stream.pointee.disposition = source.pointee.disposition
    if edits.strips {
      let tags = Metadata(source.pointee.metadata)
      for key in Self.technicalStreamKeys {
        if let value = tags[key] { av_dict_set(&stream.pointee.metadata, key, value, 0) }
      }
    } else {
      av_dict_copy(&stream.pointee.metadata, source.pointee.metadata, 0)
    }
    // libavformat 59 keeps what belongs to a whole stream (matrix, HDR, Dolby Vision) on AVStream,
    // where avcodec_parameters_copy doesn't see it.
    for index in 0..<Int(source.pointee.nb_side_data) {
      let entry = source.pointee.side_data[index]
      guard let data = entry.data, entry.size > 0 else { continue }
      // A matrix that only stretches is in the pixel aspect already, and this muxer writes that into
      // the track's size.
      if format == .mp4, entry.type == AV_PKT_DATA_DISPLAYMATRIX,
        isPureScale(UnsafeRawBufferPointer(start: data, count: entry.size))
      {
        continue
      }
      guard let copy = av_stream_new_side_data(stream, entry.type, entry.size) else {
        throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
      }
      copy.update(from: data, count: entry.size)
    }
    return Int(stream.pointee.index)
  }

  /// What of a stream's metadata says how it is to be played.
  private static let technicalStreamKeys = ["language", "timecode", "reel_name"]

  /// Adds a stream for samples that nobody is to understand.
  ///
  /// libavformat 59 writes data under one name only; the finished index gets the source's own.
  ///
  /// - Returns: the output's index.
  func add(opaque source: UnsafeMutablePointer<AVStream>) throws(FetchError) -> Int {
    guard let context, let stream = avformat_new_stream(context, nil) else {
      throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
    }
    stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_DATA
    stream.pointee.codecpar.pointee.codec_id = AV_CODEC_ID_BIN_DATA
    stream.pointee.codecpar.pointee.codec_tag = fourCharacterCode("gpmd")
    stream.pointee.time_base = source.pointee.time_base
    av_dict_set(
      &stream.pointee.metadata, "language", Metadata(source.pointee.metadata)["language"], 0)
    return Int(stream.pointee.index)
  }

  /// A tag is kept where the muxer knows it for the same codec.
  private func keepsTag(_ tag: UInt32, _ codec: AVCodecID) -> Bool {
    guard tag != 0, let tags = context?.pointee.oformat?.pointee.codec_tag else { return false }
    return av_codec_get_id(tags, tag) == codec
  }

  /// The time base to ask the muxer for; a timescale above 100,000 is more than QuickTime takes.
  private func timeBase(
    for source: UnsafeMutablePointer<AVStream>, format: ContainerFormat
  ) -> AVRational {
    let base = source.pointee.time_base
    if format == .mov, base.den > 100_000, base.num == 1,
      source.pointee.codecpar.pointee.codec_type != AVMEDIA_TYPE_AUDIO
    {
      return AVRational(num: 1, den: 90_000)
    }
    return base
  }

  private func fourCharacterCode(_ text: String) -> UInt32 {
    text.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Copies what belongs to the whole file: metadata and chapters.
  ///
  /// - Parameters:
  ///   - tags: the metadata that the muxer is to write.
  ///   - start: the presentation time, in `startBase`, that becomes zero.
  ///   - duration: the film's in seconds; nil where it isn't known well.
  /// - Returns: how many chapters were left out, as they lie outside the film.
  func copyFileProperties(
    of source: UnsafeMutablePointer<AVFormatContext>, tags: [MetadataTag], start: Int64,
    startBase: AVRational, duration: Double?
  ) throws(FetchError) -> Int {
    guard let context else { return 0 }
    for tag in tags { av_dict_set(&context.pointee.metadata, tag.key, tag.value, 0) }
    let count = Int(source.pointee.nb_chapters)
    guard count > 0, let chapters = source.pointee.chapters else { return 0 }
    guard
      let list = av_calloc(count, MemoryLayout<UnsafeMutablePointer<AVChapter>?>.stride)
    else { throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil) }
    context.pointee.chapters = list.assumingMemoryBound(
      to: UnsafeMutablePointer<AVChapter>?.self)
    let film = ChapterSpan.Film(start: start, base: startBase, duration: duration)
    for index in 0..<count {
      guard let from = chapters[index],
        let span = ChapterSpan(
          start: from.pointee.start, end: from.pointee.end, base: from.pointee.time_base, in: film)
      else { continue }
      guard let memory = av_mallocz(MemoryLayout<AVChapter>.stride) else {
        throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
      }
      let to = memory.assumingMemoryBound(to: AVChapter.self)
      to.pointee.id = from.pointee.id
      to.pointee.time_base = from.pointee.time_base
      to.pointee.start = span.start
      to.pointee.end = span.end
      av_dict_copy(&to.pointee.metadata, from.pointee.metadata, 0)
      context.pointee.chapters[Int(context.pointee.nb_chapters)] = to
      context.pointee.nb_chapters += 1
    }
    return count - Int(context.pointee.nb_chapters)
  }

  /// Writes the header.
  ///
  /// Wraps `avformat_write_header`.
  ///
  /// - Parameters:
  ///   - gap: bytes to leave free for the index; 0 for none.
  ///   - makesTimecode: whether a timecode among the metadata becomes a track.
  func writeHeader(gap: Int64, makesTimecode: Bool, log: AVLog) throws(FetchError) {
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    if gap > 0 { av_dict_set_int(&options, "moov_size", gap, 0) }
    // Fine enough for an edit list to begin and end where the source's does.
    av_dict_set_int(&options, "movie_timescale", Self.movieTimescale, 0)
    if !makesTimecode { av_dict_set_int(&options, "write_tmcd", 0, 0) }
    let result = avformat_write_header(context, &options)
    try io.rethrow()
    if result < 0 {
      throw AVError(code: result).fetchError(.writingHeader, evidence: log.lastError)
    }
    hideTimedText()
  }

  /// Keeps the muxer from putting samples of its own between subtitles.
  ///
  /// libavformat 59 ends a timed text as soon as another stream's stamp, in that stream's ticks, is
  /// larger; where texts follow each other without a pause, that makes a sample of no length. Past
  /// the header it knows timed text only by this number.
  private func hideTimedText() {
    guard let context else { return }
    for index in 0..<Int(context.pointee.nb_streams) {
      guard let parameters = context.pointee.streams[index]?.pointee.codecpar else { continue }
      if parameters.pointee.codec_id == AV_CODEC_ID_MOV_TEXT {
        parameters.pointee.codec_id = AV_CODEC_ID_NONE
      }
    }
  }

  /// Where the gap lies: right after the file type box.
  func gapRange(_ gap: Int64) throws(FetchError) -> ByteRange? {
    guard gap > 0, let pb = context?.pointee.pb else { return nil }
    avio_flush(pb)
    try io.rethrow()
    let fileType = try io.read(at: 0, count: 8)
    return ByteRange(offset: Int64(fileType.integer(0, 4)), count: gap)
  }

  /// The streams' time bases, as the header fixed them.
  func timeBase(of index: Int) -> AVRational {
    context?.pointee.streams[index]?.pointee.time_base ?? AVRational(num: 1, den: 1)
  }

  /// Writes a packet whose stamps are in the output's time base.
  ///
  /// Wraps `av_write_frame`.
  @inline(__always)
  func write(_ packet: Packet, log: AVLog) throws(FetchError) {
    let result: Int32
    if filtered.contains(packet.stream) {
      result = av_write_frame(context, packet.pointer)
    } else {
      // Without a reference to count, the muxer takes none: an allocation less for each packet.
      // SAFETY: the bytes stay where they are until the buffer, which is put back, is let go.
      let buffer = packet.pointer.pointee.buf
      packet.pointer.pointee.buf = nil
      result = av_write_frame(context, packet.pointer)
      packet.pointer.pointee.buf = buffer
    }
    if result < 0 { try fail(result, log) }
  }

  /// Where the next byte of the output goes.
  ///
  /// Wraps `avio_tell`.
  @inline(__always)
  var position: Int64 { avio_tell(context?.pointee.pb) }

  private func fail(_ result: Int32, _ log: AVLog) throws(FetchError) {
    try io.rethrow()
    throw AVError(code: result).fetchError(.writingMedia, evidence: log.lastError)
  }

  /// Writes the index behind the media, and everything that is still buffered.
  ///
  /// Wraps `av_write_trailer`, whose positive results are successes. `moov_size` is taken back
  /// first: the muxer would notice a gap that is too small only after writing over the media.
  func finish(log: AVLog) throws(FetchError) {
    guard let context else { return }
    av_opt_set_int(context.pointee.priv_data, "moov_size", 0, 0)
    let result = av_write_trailer(context)
    avio_flush(context.pointee.pb)
    try io.rethrow()
    if result < 0 { throw AVError(code: result).fetchError(.writingMedia, evidence: log.lastError) }
    let hidden = context.pointee.pb.pointee.error
    if hidden < 0 { throw AVError(code: hidden).fetchError(.writingMedia, evidence: log.lastError) }
  }
}

/// Whether a display matrix (nine 32-bit numbers) neither turns nor mirrors.
func isPureScale(_ matrix: UnsafeRawBufferPointer) -> Bool {
  guard matrix.count >= 36 else { return false }
  let numbers = (0..<9).map { matrix.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self) }
  return numbers[1] == 0 && numbers[3] == 0 && numbers[0] > 0 && numbers[4] > 0
}
