// The pictures of an AVI stream on their way to presentation times: libavcodec's parser says what each
// one is, `PresentationOrder` when it is shown, and MPEG-4 pictures that share a packet are taken
// apart first. Lives on the remux thread.

import CFFmpeg
import FetchCore

/// The ordering of one stream.
final class PictureOrdering: PacketStage {
  let timeBase: AVRational
  private let index: Int
  private let codec: AVCodecID
  private let depth: Int
  private var filter: UnsafeMutablePointer<AVBSFContext>?
  private var parser: UnsafeMutablePointer<AVCodecParserContext>?
  private var context: UnsafeMutablePointer<AVCodecContext>?
  /// Bytes of a NAL unit's length; 0 where start codes stand between them (ITU-T H.264 Annex B).
  private let lengthSize: Int
  private var order: PresentationOrder?
  private var waiting: [Packet] = []
  private var spare: [Packet] = []
  private var shift: Int64 = 0
  /// Whether a picture that shared its packet waits for the packet without one.
  private var holdsPacked = false

  init(of stream: UnsafeMutablePointer<AVStream>) throws(FetchError) {
    let parameters = stream.pointee.codecpar.pointee
    index = Int(stream.pointee.index)
    timeBase = stream.pointee.time_base
    codec = parameters.codec_id
    depth = Int(parameters.video_delay)
    var lengthSize = 0
    if codec == AV_CODEC_ID_H264, let extradata = parameters.extradata,
      parameters.extradata_size > 6, extradata[0] == 1
    {
      lengthSize = Int(extradata[4] & 3) + 1
    }
    self.lengthSize = lengthSize
    guard let parser = av_parser_init(Int32(codec.rawValue)),
      let context = avcodec_alloc_context3(nil)
    else { throw Self.noMemory }
    // The packets are whole pictures already.
    parser.pointee.flags |= PARSER_FLAG_COMPLETE_FRAMES
    self.parser = parser
    self.context = context
    var result = avcodec_parameters_to_context(context, stream.pointee.codecpar)
    if result >= 0, codec == AV_CODEC_ID_MPEG4 {
      result = av_bsf_alloc(av_bsf_get_by_name("mpeg4_unpack_bframes"), &filter)
      if result >= 0, let filter {
        result = avcodec_parameters_copy(filter.pointee.par_in, stream.pointee.codecpar)
        filter.pointee.time_base_in = timeBase
        if result >= 0 { result = av_bsf_init(filter) }
      }
    }
    guard result >= 0 else { throw AVError(code: result).fetchError(.opening, evidence: nil) }
  }

  deinit {
    av_bsf_free(&filter)
    av_parser_close(parser)
    avcodec_free_context(&context)
  }

  func describe(in parameters: UnsafeMutablePointer<AVCodecParameters>) throws(FetchError) {
    guard let filter else { return }
    // It takes the mark of packed pictures out of the configuration.
    let result = avcodec_parameters_copy(parameters, filter.pointee.par_out)
    if result < 0 { throw AVError(code: result).fetchError(.writing, evidence: nil) }
  }

  // MARK: In

  func take(_ packet: Packet, shift: Int64) throws(FetchError) {
    self.shift = shift
    // A chunk without bytes shows nothing new, and would end the filter's stream.
    if packet.size == 0 { return }
    if filter != nil { try countPacked(packet.payload) }
    guard let filter else {
      let copy = try clearPacket()
      av_packet_move_ref(copy.pointer, packet.pointer)
      try place(copy)
      return
    }
    let result = av_bsf_send_packet(filter, packet.pointer)
    if result < 0 { throw AVError(code: result).fetchError(.reading, evidence: nil) }
    try drain()
  }

  /// Follows what the filter holds back.
  ///
  /// That is the second picture of a packet with two, until the packet without a picture comes that
  /// was put there for it. Where that one is missing, the filter forgets a picture at the next pair.
  private func countPacked(_ payload: UnsafeRawBufferPointer) throws(FetchError) {
    var pictures = 0
    var at = 0
    // Start codes of video object planes (ISO 14496-2 6.2.1).
    while at + 3 < payload.count, pictures < 3 {
      if payload[at + 2] > 1 {
        at += 3
      } else if payload[at] == 0, payload[at + 1] == 0, payload[at + 2] == 1 {
        if payload[at + 3] == 0xB6 { pictures += 1 }
        at += 4
      } else {
        at += 1
      }
    }
    if pictures > 1 {
      guard pictures == 2, !holdsPacked else {
        throw Self.unpaired(self)
      }
      holdsPacked = true
    } else if payload.count <= Self.largestPlaceholder {
      holdsPacked = false
    }
  }

  private static func unpaired(_ ordering: PictureOrdering) -> FetchError {
    ordering.refusal("some are packed together without the empty ones that belong to them")
  }

  /// What mpeg4_unpack_bframes takes for a packet without a picture.
  private static let largestPlaceholder = 19

  func finish() throws(FetchError) {
    if filter != nil {
      if holdsPacked { throw Self.unpaired(self) }
      _ = av_bsf_send_packet(filter, nil)
      try drain()
    }
    do throws(PresentationOrder.Contradiction) {
      try order?.finish()
    } catch {
      throw refusal(error)
    }
  }

  private func drain() throws(FetchError) {
    while true {
      let packet = try clearPacket()
      let result = av_bsf_receive_packet(filter, packet.pointer)
      if result == cff_error_again || result == cff_error_eof {
        spare.append(packet)
        return
      }
      if result < 0 { throw AVError(code: result).fetchError(.reading, evidence: nil) }
      try place(packet)
    }
  }

  private func clearPacket() throws(FetchError) -> Packet {
    if let packet = spare.popLast() { return packet }
    return try Packet()
  }

  private func place(_ packet: Packet) throws(FetchError) {
    guard let time = packet.dts ?? packet.pts else {
      throw refusal("one of them has no decoding time")
    }
    if order == nil {
      // Types tell at once where a picture belongs, counts only when the ones before it are there.
      let lookahead = codec == AV_CODEC_ID_H264 && depth > 0 ? PresentationOrder.deepest : depth
      order = PresentationOrder(depth: depth, step: packet.duration, lookahead: lookahead)
    }
    let picture = try look(at: packet)
    do throws(PresentationOrder.Contradiction) {
      try order?.add(picture, decodedAt: time)
    } catch {
      throw refusal(error)
    }
    waiting.append(packet)
  }

  /// What kind of picture a packet holds.
  ///
  /// Wraps `av_parser_parse2`.
  private func look(at packet: Packet) throws(FetchError) -> PresentationOrder.Picture {
    guard let parser, let context else { throw Self.noMemory }
    parser.pointee.pict_type = Int32(AV_PICTURE_TYPE_NONE.rawValue)
    parser.pointee.output_picture_number = 0
    var data: UnsafeMutablePointer<UInt8>?
    var size: Int32 = 0
    _ = av_parser_parse2(
      parser, context, &data, &size, packet.pointer.pointee.data, packet.size, cff_no_timestamp,
      cff_no_timestamp, -1)
    let type = parser.pointee.pict_type
    guard type != Int32(AV_PICTURE_TYPE_NONE.rawValue) else {
      // Without reordering every picture has its place.
      if depth == 0, codec != AV_CODEC_ID_H264 { return .reference }
      throw refusal("one of them cannot be read")
    }
    if codec == AV_CODEC_ID_H264 {
      return .count(Int64(parser.pointee.output_picture_number), restarts: isIDR(packet))
    }
    return type == Int32(AV_PICTURE_TYPE_B.rawValue) ? .bidirectional : .reference
  }

  /// Whether the first slice is one of an IDR picture (ITU-T H.264 7.4.1.2.4).
  private func isIDR(_ packet: Packet) -> Bool {
    guard let data = packet.pointer.pointee.data else { return false }
    return AccessUnit(
      UnsafeRawBufferPointer(start: data, count: Int(packet.size)), lengthSize: lengthSize
    ).isIDR
  }

  // MARK: Out

  func next(into packet: Packet) throws(FetchError) -> Bool {
    guard let times = order?.next() else { return false }
    let first = waiting.removeFirst()
    av_packet_move_ref(packet.pointer, first.pointer)
    spare.append(first)
    packet.pointer.pointee.dts = times.decoding - shift
    packet.pointer.pointee.pts = times.presentation - shift
    return true
  }

  func warnings(stream: Int) -> [FetchWarning] { [] }

  private func refusal(_ contradiction: PresentationOrder.Contradiction) -> FetchError {
    switch contradiction {
    case .late: refusal("one of them comes after the place where it belongs")
    case .deeper: refusal("more of them are reordered than the stream announces")
    case .notRising: refusal("their decoding times do not rise")
    }
  }

  private func refusal(_ reason: String) -> FetchError {
    FetchError(
      .cannotPassthrough,
      "the pictures of stream \(index) have no presentation times in AVI, and their order is"
        + " contradictory",
      reason: reason, recovery: "keep the source")
  }

  private static let noMemory = AVError(code: cff_error_no_memory).fetchError(
    .opening, evidence: nil)
}
