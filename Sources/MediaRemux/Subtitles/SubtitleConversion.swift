// A text subtitle stream on its way to mov_text: libavcodec's decoder on one side, its encoder on the
// other, the timeline between. Lives on the remux thread.

import CFFmpeg
import FetchCore

/// The conversion of one stream.
final class SubtitleConversion: PacketStage {
  /// The clock of the converted track.
  let timeBase = AVRational(num: 1, den: 1000)

  /// No subtitle is longer; what is, is damaged.
  private static let largestPacket: Int32 = 64 << 10
  /// What an encoded sample may take: its text, and a style record for every second letter.
  private static let largestSample = 512 << 10

  private var decoder: UnsafeMutablePointer<AVCodecContext>?
  private var encoder: UnsafeMutablePointer<AVCodecContext>?
  private let buffer: UnsafeMutablePointer<UInt8>
  private let styles: ASSStyles
  private let from: AVRational
  private let isForced: Bool
  private let unescapes: Bool
  private var timeline = SubtitleTimeline()

  /// Packets that held something.
  private(set) var events: Int64 = 0
  /// Packets that could not be read.
  private(set) var unreadable: Int64 = 0
  /// Packets whose text was not UTF-8.
  private(set) var repaired: Int64 = 0
  /// Texts that draw shapes and say nothing.
  private(set) var drawings: Int64 = 0
  private var unencodable: Int64 = 0

  /// Whether both codecs are there.
  static func isPossible(_ codec: AVCodecID) -> Bool {
    avcodec_find_decoder(codec) != nil && avcodec_find_encoder(AV_CODEC_ID_MOV_TEXT) != nil
  }

  /// Opens decoder and encoder.
  ///
  /// - Parameter frameHeight: the film's, which sizes of letters are given for.
  init(of stream: UnsafeMutablePointer<AVStream>, frameHeight: Int?) throws(FetchError) {
    from = stream.pointee.time_base
    isForced = stream.pointee.disposition & AV_DISPOSITION_FORCED != 0
    // Its decoder writes plain text with ASS's own signs escaped.
    unescapes = stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_TEXT
    let opened = try Self.openDecoder(stream)
    decoder = opened
    // From here on all is owned by fields, so that a failure frees it.
    buffer = .allocate(capacity: Self.largestSample)
    var script = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    if let header = opened.pointee.subtitle_header, opened.pointee.subtitle_header_size > 0 {
      script = UnsafeBufferPointer(start: header, count: Int(opened.pointee.subtitle_header_size))
    }
    styles = ASSStyles(script, height: frameHeight)
    encoder = try Self.openEncoder(header: styles.header, timeBase: timeBase)
  }

  deinit {
    avcodec_free_context(&decoder)
    avcodec_free_context(&encoder)
    buffer.deallocate()
  }

  private static func openDecoder(
    _ stream: UnsafeMutablePointer<AVStream>
  ) throws(FetchError) -> UnsafeMutablePointer<AVCodecContext> {
    let parameters = stream.pointee.codecpar
    guard let codec = avcodec_find_decoder(stream.pointee.codecpar.pointee.codec_id),
      let context = avcodec_alloc_context3(codec)
    else { throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil) }
    var result = avcodec_parameters_to_context(context, parameters)
    context.pointee.pkt_timebase = stream.pointee.time_base
    // Text that isn't UTF-8 is put right before; libavcodec would drop it.
    context.pointee.sub_charenc_mode = Int32(FF_SUB_CHARENC_MODE_IGNORE)
    if result >= 0 { result = avcodec_open2(context, codec, nil) }
    guard result >= 0 else {
      var owned: UnsafeMutablePointer<AVCodecContext>? = context
      avcodec_free_context(&owned)
      throw AVError(code: result).fetchError(.opening, evidence: nil)
    }
    return context
  }

  private static func openEncoder(
    header: String, timeBase: AVRational
  ) throws(FetchError) -> UnsafeMutablePointer<AVCodecContext> {
    guard let codec = avcodec_find_encoder(AV_CODEC_ID_MOV_TEXT),
      let context = avcodec_alloc_context3(codec)
    else { throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil) }
    context.pointee.time_base = timeBase
    var result = cff_error_no_memory
    if let copy = av_strdup(header) {
      // libavcodec frees it with the context.
      context.pointee.subtitle_header = UnsafeMutableRawPointer(copy)
        .assumingMemoryBound(to: UInt8.self)
      context.pointee.subtitle_header_size = Int32(header.utf8.count)
      result = avcodec_open2(context, codec, nil)
    }
    guard result >= 0 else {
      var owned: UnsafeMutablePointer<AVCodecContext>? = context
      avcodec_free_context(&owned)
      throw AVError(code: result).fetchError(.writing, evidence: nil)
    }
    return context
  }

  /// Wraps `avcodec_parameters_from_context`.
  func describe(in parameters: UnsafeMutablePointer<AVCodecParameters>) throws(FetchError) {
    let result = avcodec_parameters_from_context(parameters, encoder)
    if result < 0 { throw AVError(code: result).fetchError(.writing, evidence: nil) }
    if isForced, let description = parameters.pointee.extradata,
      parameters.pointee.extradata_size >= 4
    {
      // displayFlags: some, and all, samples are forced (QuickTime File Format, "Subtitle Sample
      // Data").
      description[0] |= 0xC0
    }
  }

  // MARK: In

  func take(_ packet: Packet, shift: Int64) throws(FetchError) {
    guard let stamp = packet.pts ?? packet.dts, packet.size <= Self.largestPacket else {
      unreadable += 1
      return
    }
    let begin = try MediaTime.rescale(stamp - shift, from, timeBase)
    var end: Int64?
    if packet.duration > 0 {
      end = try MediaTime.rescale(stamp + packet.duration - shift, from, timeBase)
    }
    guard let texts = try texts(of: packet) else {
      unreadable += 1
      return
    }
    if !texts.isEmpty { events += 1 }
    timeline.add(.init(begin: begin, end: end, texts: texts))
  }

  func finish() { timeline.finish() }

  /// The texts of a packet; nil where it can't be read.
  private func texts(of packet: Packet) throws(FetchError) -> [SubtitleText]? {
    guard packet.size > 0, let data = packet.pointer.pointee.data else { return [] }
    var bytes = UnsafeBufferPointer(start: data, count: Int(packet.size))
    while bytes.last == 0 { bytes = UnsafeBufferPointer(rebasing: bytes.dropLast()) }
    if bytes.isEmpty { return [] }
    if String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) {
      return decode(packet)
    }
    repaired += 1
    let text = String(decoding: bytes.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self)
    let replacement = try Packet()
    var utf8 = Array(text.utf8)
    guard av_new_packet(replacement.pointer, Int32(utf8.count)) >= 0 else {
      throw AVError(code: cff_error_no_memory).fetchError(.reading, evidence: nil)
    }
    av_packet_copy_props(replacement.pointer, packet.pointer)
    replacement.pointer.pointee.data.update(from: &utf8, count: utf8.count)
    return decode(replacement)
  }

  private func decode(_ packet: Packet) -> [SubtitleText]? {
    var subtitle = AVSubtitle()
    var isComplete: Int32 = 0
    guard avcodec_decode_subtitle2(decoder, &subtitle, &isComplete, packet.pointer) >= 0 else {
      return nil
    }
    defer { avsubtitle_free(&subtitle) }
    guard isComplete != 0 else { return [] }
    var texts: [SubtitleText] = []
    for index in 0..<Int(subtitle.num_rects) {
      guard let rect = subtitle.rects?[index] else { continue }
      guard let ass = rect.pointee.ass, let dialogue = ASSDialogue(String(cString: ass)) else {
        return nil
      }
      let text = ASSText(dialogue.text, styles: styles, unescapes: unescapes)
      if text.isEmpty {
        if text.hasDrawing { drawings += 1 }
        continue
      }
      texts.append(
        SubtitleText(
          styled: ASSDialogue.line(
            style: styles.encoderName(of: dialogue.style), text: text.styled),
          plain: text.plain))
    }
    return texts
  }

  // MARK: Out

  func next(into packet: Packet) throws(FetchError) -> Bool {
    guard let sample = timeline.next() else { return false }
    var size = 2
    buffer[0] = 0
    buffer[1] = 0
    if !sample.texts.isEmpty {
      let encoded = encode(sample.texts)
      if encoded >= 2 {
        size = encoded
      } else {
        unencodable += Int64(sample.texts.count)
      }
    }
    guard av_new_packet(packet.pointer, Int32(size)) >= 0 else {
      throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
    }
    packet.pointer.pointee.data.update(from: buffer, count: size)
    packet.pointer.pointee.pts = sample.begin
    packet.pointer.pointee.dts = sample.begin
    packet.pointer.pointee.duration = sample.end - sample.begin
    packet.pointer.pointee.flags = AV_PKT_FLAG_KEY
    return true
  }

  /// Encodes texts that are shown together, each from a line of its own on.
  ///
  /// - Returns: bytes in `buffer`, or an error of libavcodec's.
  private func encode(_ texts: [SubtitleText]) -> Int {
    var subtitle = AVSubtitle()
    defer { avsubtitle_free(&subtitle) }
    guard
      let list = av_calloc(texts.count, MemoryLayout<UnsafeMutablePointer<AVSubtitleRect>?>.stride)
    else { return Int(cff_error_no_memory) }
    subtitle.rects = list.assumingMemoryBound(to: UnsafeMutablePointer<AVSubtitleRect>?.self)
    for (index, text) in texts.enumerated() {
      guard let memory = av_mallocz(MemoryLayout<AVSubtitleRect>.stride) else {
        return Int(cff_error_no_memory)
      }
      let rect = memory.assumingMemoryBound(to: AVSubtitleRect.self)
      subtitle.rects[index] = rect
      subtitle.num_rects += 1
      rect.pointee.type = SUBTITLE_ASS
      rect.pointee.ass = av_strdup(index == 0 ? text.styled : ASSDialogue.onNewLine(text.styled))
      guard rect.pointee.ass != nil else { return Int(cff_error_no_memory) }
    }
    return Int(avcodec_encode_subtitle(encoder, buffer, Int32(Self.largestSample), &subtitle))
  }

  func warnings(stream: Int) -> [FetchWarning] {
    var warnings: [FetchWarning] = []
    func add(_ count: Int64, _ name: FetchWarning.Name, _ text: String) {
      guard count > 0 else { return }
      warnings.append(
        FetchWarning(name, stream: stream, "\(count) subtitles of stream \(stream) \(text)"))
    }
    add(unreadable + unencodable, .propertyLost, "are damaged and lost")
    add(timeline.misplaced, .propertyLost, "are out of order or too many at once, and are lost")
    add(
      timeline.late, .propertyLost,
      "come too late in the source, and are shown later than they should")
    add(timeline.early, .propertyLost, "end before the film begins and are left out")
    add(drawings, .propertyLost, "are drawings without text and are left out")
    add(repaired, .unusual, "are not UTF-8: what cannot be read in them became U+FFFD")
    return warnings
  }
}
