// From an AVStream to what people want to know of it. Thin; runs on the remux thread.

import CFFmpeg
import FetchCore

extension ProbedStream {
  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = stream.pointee.codecpar.pointee
    // What the plan decides from and what is shown are one and the same.
    let known = StreamDescription(stream, sourceFormat: "", hasChapters: false)
    self.init(index: known.index, type: known.kind, codec: known.codecName)
    profile = avcodec_profile_name(parameters.codec_id, parameters.profile)
      .map { String(cString: $0) }
    language = known.language
    title = known.title
    isAttachedPicture = known.isAttachedPicture
    dispositions = Self.dispositions(stream.pointee.disposition)
    if parameters.bit_rate > 0 { bitRate = parameters.bit_rate }
    switch known.kind {
    case .video: readVideo(stream, parameters, known)
    case .audio:
      sampleRate = known.sampleRate
      channels = known.channels
      channelLayout = Self.layout(parameters)
    default: break
    }
  }

  private mutating func readVideo(
    _ stream: UnsafeMutablePointer<AVStream>, _ parameters: AVCodecParameters,
    _ known: StreamDescription
  ) {
    width = known.width
    height = known.height
    let turn = Self.turn(stream)
    rotation = turn.degrees == 0 ? nil : turn.degrees
    isMirrored = turn.isMirrored
    let aspect =
      stream.pointee.sample_aspect_ratio.isPositive
      ? stream.pointee.sample_aspect_ratio : parameters.sample_aspect_ratio
    if let width, let height {
      let shown = aspect.isPositive ? Self.scaled(width, by: aspect) ?? width : width
      (displayWidth, displayHeight) = turn.swapsSides ? (height, shown) : (shown, height)
    }
    guard !isAttachedPicture else { return }
    // Where times jitter, one is often the container's clock; the other is smaller then.
    frameRate = [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate]
      .filter(\.isPositive).map { Double($0.num) / Double($0.den) }.min()
    colour = Self.colour(parameters)
    dynamicRange = Self.dynamicRange(stream, parameters, known)
  }

  // MARK: Pictures

  private struct Turn {
    var degrees = 0
    var isMirrored = false
    var swapsSides = false
  }

  /// What the display matrix does, as a flip and a clockwise turn.
  private static func turn(_ stream: UnsafeMutablePointer<AVStream>) -> Turn {
    guard let data = sideData(stream, AV_PKT_DATA_DISPLAYMATRIX), data.count >= 36 else {
      return Turn()
    }
    var matrix = [Int32](repeating: 0, count: 9)
    matrix.withUnsafeMutableBytes {
      $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: data[..<36]))
    }
    var turn = Turn()
    let (a, b, c, d) = (Double(matrix[0]), Double(matrix[1]), Double(matrix[3]), Double(matrix[4]))
    turn.isMirrored = a * d - b * c < 0
    turn.swapsSides = abs(b) > abs(a)
    if turn.isMirrored { av_display_matrix_flip(&matrix, 1, 0) }
    // libavutil counts counter-clockwise.
    let angle = -av_display_rotation_get(matrix)
    guard angle.isFinite else { return turn }
    turn.degrees = ((Int(angle.rounded()) % 360) + 360) % 360
    return turn
  }

  private static func scaled(_ width: Int, by aspect: AVRational) -> Int? {
    let (wide, overflow) = width.multipliedReportingOverflow(by: Int(aspect.num))
    guard !overflow else { return nil }
    let result = (wide + Int(aspect.den) / 2) / Int(aspect.den)
    return result > 0 ? result : nil
  }

  private static func colour(_ parameters: AVCodecParameters) -> Colour {
    var colour = Colour()
    if parameters.color_primaries != AVCOL_PRI_UNSPECIFIED {
      colour.primaries = name(av_color_primaries_name(parameters.color_primaries))
    }
    if parameters.color_trc != AVCOL_TRC_UNSPECIFIED {
      colour.transfer = name(av_color_transfer_name(parameters.color_trc))
    }
    if parameters.color_space != AVCOL_SPC_UNSPECIFIED {
      colour.matrix = name(av_color_space_name(parameters.color_space))
    }
    if parameters.color_range != AVCOL_RANGE_UNSPECIFIED {
      colour.range = name(av_color_range_name(parameters.color_range))
    }
    return colour
  }

  private static func dynamicRange(
    _ stream: UnsafeMutablePointer<AVStream>, _ parameters: AVCodecParameters,
    _ known: StreamDescription
  ) -> DynamicRange {
    if let profile = known.dolbyVisionProfile { return .dolbyVision(profile: profile) }
    switch parameters.color_trc {
    case AVCOL_TRC_ARIB_STD_B67: return .hlg
    case AVCOL_TRC_SMPTE2084:
      return sideData(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA) == nil ? .pq : .hdr10
    default: return .sdr
    }
  }

  // MARK: Others

  private static func layout(_ parameters: AVCodecParameters) -> String? {
    var layout = parameters.ch_layout
    guard layout.nb_channels > 0 else { return nil }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress,
        av_channel_layout_describe(&layout, base, buffer.count) > 0
      else { return nil }
      return String(cString: base)
    }
  }

  private static func dispositions(_ flags: Int32) -> [String] {
    (0..<31).compactMap { bit in
      let flag = Int32(1) << Int32(bit)
      return flags & flag == 0 ? nil : name(av_disposition_to_string(flag))
    }
  }

  private static func name(_ text: UnsafePointer<CChar>?) -> String? {
    text.map { String(cString: $0) }
  }

  private static func sideData(
    _ stream: UnsafeMutablePointer<AVStream>, _ type: AVPacketSideDataType
  ) -> UnsafeRawBufferPointer? {
    var size = 0
    guard let data = av_stream_get_side_data(stream, type, &size) else { return nil }
    return UnsafeRawBufferPointer(start: data, count: size)
  }
}

extension AVRational {
  fileprivate var isPositive: Bool { num > 0 && den > 0 }
}
