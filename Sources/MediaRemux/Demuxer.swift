// The source as libavformat sees it: opened over our own reading, with nothing that it could open
// by itself, probed within bounds. Lives on the remux thread.

import CFFmpeg
import FetchCore

/// The containers that may be recognised: those that are carried, and those that are refused by
/// name.
///
/// Never one that names other resources (hls, dash, concat, image sequences).
private let containerWhitelist = [
  "mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "mpegts", "flv", "live_flv", "kux",
  "avi", "mpeg", "mpegvideo", "m4v", "h264", "hevc", "ogg", "asf", "aac", "mp3", "mp2", "ac3",
  "eac3", "dts", "wav", "w64", "aiff", "caf", "au", "flac", "amr", "amrnb", "amrwb", "dv", "mxf",
  "ivf", "obu", "av1", "rm", "nut", "gxf", "vc1", "mjpeg", "truehd", "dtshd", "tta", "wv", "ape",
].joined(separator: ",")

/// The decoders that probing may open, for what no header says (dimensions, sample rate, delay).
///
/// A stream whose decoder is missing here can still be copied.
private let decoderWhitelist = [
  "h264", "hevc", "aac", "mp3float", "mp2float", "mp1float", "ac3", "eac3", "opus", "vorbis",
  "vp8", "vp9", "libdav1d", "av1", "mpeg1video", "mpeg2video", "mpeg4", "h263", "flv", "mjpeg",
  "png", "dvvideo", "prores", "alac", "flac", "dca", "mlp", "truehd", "theora", "msmpeg4v2",
  "msmpeg4", "wmv1", "wmv2", "wmv3", "vc1", "wmav1", "wmav2", "amrnb", "amrwb",
  // Says which pixel format a tag of Matroska or AVI stands for.
  "rawvideo",
].joined(separator: ",")

/// An opened source.
///
/// Owned by the remux thread, together with the `SourceIO` that it reads through.
final class Demuxer {
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private let io: SourceIO
  /// libavformat's name, such as `mov,mp4,m4a,3gp,3g2,mj2`.
  private(set) var formatName = ""

  /// Opens the source, reads its header and, where needed, its first packets.
  ///
  /// Wraps `avformat_open_input`; `probe()` wraps `avformat_find_stream_info`.
  ///
  /// - Parameters:
  ///   - isSeekable: see `SourceIO.open(isSeekable:)`.
  ///   - readsAhead: lets the QuickTime demuxer visit every fragment, and the end of the file,
  ///     before it gives the first packet; without, it takes fragments as they come.
  ///   - ignoresEdits: gives all samples of an ISO file, at their media times.
  ///   - isISO: whether the source is an ISO file beyond doubt, so that libavformat need not ask all
  ///     of its demuxers.
  /// - Throws: `.notMedia`, `.damaged`, `.cancelled`, `.localIO`.
  init(
    _ io: SourceIO, isSeekable: Bool, readsAhead: Bool = false, ignoresEdits: Bool = false,
    isISO: Bool = false, log: AVLog
  ) throws(FetchError) {
    self.io = io
    guard var opened = avformat_alloc_context() as UnsafeMutablePointer<AVFormatContext>? else {
      throw AVError(code: cff_error_no_memory).fetchError(.opening, evidence: nil)
    }
    opened.pointee.pb = try io.open(isSeekable: isSeekable)
    opened.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    if !readsAhead { opened.pointee.flags |= AVFMT_FLAG_IGNIDX }
    opened.pointee.io_open = refuseToOpen
    // SAFETY: `io` is held by this object, which closes the context before it goes.
    opened.pointee.interrupt_callback = AVIOInterruptCB(
      callback: interruptSource, opaque: Unmanaged.passUnretained(io).toOpaque())

    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    av_dict_set(&options, "format_whitelist", containerWhitelist, 0)
    av_dict_set(&options, "codec_whitelist", decoderWhitelist, 0)
    av_dict_set(&options, "protocol_whitelist", "none", 0)
    av_dict_set_int(&options, "max_streams", 256, 0)
    av_dict_set_int(&options, "probesize", 5_000_000, 0)
    av_dict_set_int(&options, "indexmem", 256 << 20, 0)
    av_dict_set_int(&options, "enable_drefs", 0, 0)
    av_dict_set_int(&options, "use_absolute_path", 0, 0)
    if ignoresEdits { av_dict_set_int(&options, "ignore_editlist", 1, 0) }

    // libavformat would do this by itself, but then a source that nobody knows and one that is
    // broken end with the same code.
    var format = isISO ? av_find_input_format("mov") : nil
    let score =
      format == nil
      ? av_probe_input_buffer2(opened.pointee.pb, &format, nil, nil, 0, 0) : AVPROBE_SCORE_MAX
    opened.pointee.probe_score = max(score, 0)
    guard score >= 0, format != nil else {
      opened.pointee.pb = nil
      avformat_free_context(opened)
      io.close()
      try io.rethrow()
      if io.availability.isCancelled { throw .cancelled }
      throw .unknownContainer(reason: AVError(code: score).text)
    }
    var raw: UnsafeMutablePointer<AVFormatContext>? = opened
    // It frees the context where it fails, but not the custom pb.
    let result = avformat_open_input(&raw, nil, format, &options)
    guard result >= 0, let ready = raw else {
      io.close()
      try io.rethrow()
      if io.availability.isCancelled { throw .cancelled }
      throw AVError(code: result).fetchError(.opening, evidence: log.lastError)
    }
    opened = ready
    context = opened
    if let format = opened.pointee.iformat { formatName = String(cString: format.pointee.name) }
  }

  /// Reads packets until the streams' parameters are known, within libavformat's bounds.
  func probe(log: AVLog) throws(FetchError) {
    let containerColours = streams.map { StreamColour($0.pointee.codecpar.pointee) }
    let result = avformat_find_stream_info(context, nil)
    try io.rethrow()
    if io.availability.isCancelled { throw .cancelled }
    if result < 0 { throw AVError(code: result).fetchError(.opening, evidence: log.lastError) }
    // What the container says of colour wins over the bitstream, as it does in players.
    for (stream, colour) in zip(streams, containerColours) {
      colour.restore(into: &stream.pointee.codecpar.pointee)
    }
  }

  /// Closes the source.
  ///
  /// Idempotent.
  func close() {
    // The custom pb is left alone by libavformat.
    avformat_close_input(&context)
    io.close()
  }

  deinit { close() }

  /// How reading went on.
  enum Step {
    case packet
    case end
  }

  /// Reads the next packet into `packet`, which must be clear.
  ///
  /// Wraps `av_read_frame`.
  func read(into packet: Packet, log: AVLog) throws(FetchError) -> Step {
    let result = av_read_frame(context, packet.pointer)
    if result >= 0 {
      guard packet.hasSaneTimes else {
        throw MediaTime.outOfRange("a timestamp", stream: packet.stream)
      }
      return .packet
    }
    try io.rethrow()
    if io.availability.isCancelled { throw .cancelled }
    if result == cff_error_eof {
      // A read that failed is kept in the AVIOContext and may come out as a plain end.
      let hidden = context?.pointee.pb?.pointee.error ?? 0
      guard hidden < 0, hidden != cff_error_eof else { return .end }
      throw AVError(code: hidden).fetchError(.reading, evidence: log.lastError)
    }
    throw AVError(code: result).fetchError(.reading, evidence: log.lastError)
  }

  /// The streams, in the source's order.
  ///
  /// Valid while the demuxer is open.
  var streams: [UnsafeMutablePointer<AVStream>] {
    guard let context, let list = context.pointee.streams else { return [] }
    return (0..<Int(context.pointee.nb_streams)).compactMap { list[$0] }
  }

  /// Where the samples stand of each stream that is read and has an index.
  var sampleSpans: [Int: SampleSpan] {
    var spans: [Int: SampleSpan] = [:]
    for stream in streams where stream.pointee.discard != AVDISCARD_ALL {
      var span: SampleSpan?
      for index in 0..<avformat_index_get_entries_count(stream) {
        guard let entry = avformat_index_get_entry(stream, index) else { continue }
        let position = entry.pointee.pos
        guard var known = span else {
          span = SampleSpan(first: position, last: position, isAscending: true)
          continue
        }
        if position <= known.last { known.isAscending = false }
        known.last = position
        span = known
      }
      spans[Int(stream.pointee.index)] = span
    }
    return spans
  }

  /// Borrowed; for the muxer to copy chapters and metadata from.
  var formatContext: UnsafeMutablePointer<AVFormatContext>? { context }

  /// Whether timestamps of the container may jump (`AVFMT_TS_DISCONT`).
  var mayJump: Bool {
    (context?.pointee.iformat?.pointee.flags ?? 0) & AVFMT_TS_DISCONT != 0
  }

  /// How far libavformat has read.
  var readPosition: Int64 { io.furthest }

  /// Has libavformat drop the packets of a stream as early as it can.
  func discard(stream index: Int) {
    guard let context, index < Int(context.pointee.nb_streams) else { return }
    context.pointee.streams[index]?.pointee.discard = AVDISCARD_ALL
  }

  /// Seconds, where the container itself says so: no guess from its size and bit rate.
  var statedDuration: Double? {
    context?.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE ? nil : duration
  }

  /// Seconds, where the source says so credibly.
  var duration: Double? {
    guard let value = context?.pointee.duration, value != cff_no_timestamp, value > 0 else {
      return nil
    }
    let seconds = Double(value) / Double(cff_time_base)
    // An index with "unknown" taken literally gives 2^32 units; nobody has a film of a day.
    return seconds < 86_400 ? seconds : nil
  }
}

/// The colour description of a stream, as one place says it.
private struct StreamColour {
  let range: AVColorRange
  let primaries: AVColorPrimaries
  let transfer: AVColorTransferCharacteristic
  let space: AVColorSpace

  init(_ parameters: AVCodecParameters) {
    range = parameters.color_range
    primaries = parameters.color_primaries
    transfer = parameters.color_trc
    space = parameters.color_space
  }

  func restore(into parameters: inout AVCodecParameters) {
    if range != AVCOL_RANGE_UNSPECIFIED { parameters.color_range = range }
    if primaries != AVCOL_PRI_UNSPECIFIED { parameters.color_primaries = primaries }
    if transfer != AVCOL_TRC_UNSPECIFIED { parameters.color_trc = transfer }
    if space != AVCOL_SPC_UNSPECIFIED { parameters.color_space = space }
  }
}
