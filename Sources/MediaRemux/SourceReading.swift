// From libavformat's streams to plain values: the one place that looks into an AVStream for the
// plan. Runs on the remux thread.

import CFFmpeg
import FetchCore

extension SourceDescription {
  init(_ demuxer: Demuxer, _ index: SourceIndex = SourceIndex()) {
    let chapterCount = demuxer.formatContext?.pointee.nb_chapters ?? 0
    self.init(
      format: demuxer.formatName,
      streams: demuxer.streams.map {
        StreamDescription($0, sourceFormat: demuxer.formatName, hasChapters: chapterCount > 0)
      })
    let untimed = (demuxer.formatContext?.pointee.iformat?.pointee.flags ?? 0) & AVFMT_NOTIMESTAMPS
    let raw: Set<String> = ["h264", "hevc", "m4v", "mpegvideo", "obu", "vc1", "mjpeg"]
    isQuickTime = index.isQuickTime
    for (at, stream) in demuxer.streams.enumerated() where streams[at].kind.isOpaque {
      guard let track = index.tracks.first(where: { $0.id == Int(stream.pointee.id) }),
        track.carriage.isSelfContained
      else { continue }
      streams[at].opaqueHandler = track.carriage.handlerType
      // libavformat gives no tag where it doesn't know the handler.
      let tag = track.sampleEntry
      if streams[at].tag == nil, tag.utf8.count == 4 { streams[at].tag = tag }
    }
    hasTimestamps = untimed == 0 && !raw.contains(demuxer.formatName)
  }
}

extension StreamDescription {
  init(_ stream: UnsafeMutablePointer<AVStream>, sourceFormat: String, hasChapters: Bool) {
    let parameters = stream.pointee.codecpar.pointee
    let kind: StreamReport.Kind =
      switch parameters.codec_type {
      case AVMEDIA_TYPE_VIDEO: .video
      case AVMEDIA_TYPE_AUDIO: .audio
      case AVMEDIA_TYPE_SUBTITLE: .subtitle
      case AVMEDIA_TYPE_DATA: .data
      case AVMEDIA_TYPE_ATTACHMENT: .attachment
      default: .unknown
      }
    self.init(
      index: Int(stream.pointee.index), kind: kind,
      codec: String(cString: avcodec_get_name(parameters.codec_id)))
    tag = Self.fourCharacters(parameters.codec_tag)
    if parameters.width > 0 { width = Int(parameters.width) }
    if parameters.height > 0 { height = Int(parameters.height) }
    if parameters.sample_rate > 0 { sampleRate = Int(parameters.sample_rate) }
    if parameters.ch_layout.nb_channels > 0 { channels = Int(parameters.ch_layout.nb_channels) }
    let metadata = Metadata(stream.pointee.metadata)
    language = metadata["language"]
    title = metadata["title"]
    timecode = metadata["timecode"]
    isTimedThumbnail = stream.pointee.disposition & AV_DISPOSITION_TIMED_THUMBNAILS != 0
    isAttachedPicture = stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    isDefault = stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0
    let isISO = sourceFormat.contains("mp4")
    isChapterTrack = hasChapters && isISO && kind == .data && tag == "text"
    switch kind {
    case .video: hasMedia = isAttachedPicture || (width != nil && height != nil)
    case .audio: hasMedia = sampleRate != nil
    case .subtitle: isDecodable = SubtitleConversion.isPossible(parameters.codec_id)
    default: break
    }
    if codec == "hevc" {
      lacksParameterSets = !Self.hasParameterSets(parameters)
    }
    lacksPresentationTimes =
      sourceFormat == "avi" && kind == .video && parameters.video_delay > 0
    readSideData(stream)
    if tag == "encv" || tag == "enca" { isEncrypted = true }
  }

  private mutating func readSideData(_ stream: UnsafeMutablePointer<AVStream>) {
    for index in 0..<Int(stream.pointee.nb_side_data) {
      let entry = stream.pointee.side_data[index]
      switch entry.type {
      case AV_PKT_DATA_ENCRYPTION_INIT_INFO, AV_PKT_DATA_ENCRYPTION_INFO:
        isEncrypted = true
      case AV_PKT_DATA_DOVI_CONF:
        guard let data = entry.data else { continue }
        dolbyVisionProfile = data.withMemoryRebound(
          to: AVDOVIDecoderConfigurationRecord.self, capacity: 1
        ) { Int($0.pointee.dv_profile) }
      case AV_PKT_DATA_STEREO3D: hasStereo3D = true
      case AV_PKT_DATA_SPHERICAL: hasSpherical = true
      default: break
      }
    }
  }

  /// Four printable ASCII characters; nil for the numbers that other containers use.
  private static func fourCharacters(_ tag: UInt32) -> String? {
    guard tag != 0 else { return nil }
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: tag >> (8 * UInt32($0))) }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return nil }
    var text = String(decoding: bytes, as: UTF8.self)
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Whether VPS, SPS and PPS stand in the configuration (ISO 14496-15 8.3.3), or in the Annex B
  /// header that the muxer makes one from.
  private static func hasParameterSets(_ parameters: AVCodecParameters) -> Bool {
    guard let extradata = parameters.extradata, parameters.extradata_size > 6 else { return false }
    let bytes = UnsafeBufferPointer(start: extradata, count: Int(parameters.extradata_size))
    var kinds: Set<UInt8> = []
    if bytes[0] != 0 {
      guard bytes.count > 22 else { return false }
      var at = 23
      for _ in 0..<bytes[22] {
        guard at + 3 <= bytes.count else { return false }
        let kind = bytes[at] & 0x3F
        let count = Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
        at += 3
        if count > 0 { kinds.insert(kind) }
        for _ in 0..<count {
          guard at + 2 <= bytes.count else { return false }
          at += 2 + (Int(bytes[at]) << 8 | Int(bytes[at + 1]))
        }
      }
    } else {
      for at in 0..<(bytes.count - 3)
      where bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1 {
        kinds.insert(bytes[at + 3] >> 1 & 0x3F)
      }
    }
    return kinds.isSuperset(of: [32, 33, 34])
  }
}

extension StreamReport.Kind {
  /// Whether nothing is understood of its samples.
  var isOpaque: Bool { self == .data || self == .unknown }
}

/// An AVDictionary, read.
struct Metadata {
  private let dictionary: OpaquePointer?

  init(_ dictionary: OpaquePointer?) { self.dictionary = dictionary }

  /// The value of a key, compared without regard to case.
  ///
  /// Wraps `av_dict_get`.
  subscript(key: String) -> String? {
    guard let entry = av_dict_get(dictionary, key, nil, 0), let value = entry.pointee.value else {
      return nil
    }
    return String(cString: value)
  }

  /// All of it, in its order.
  var tags: [MetadataTag] {
    keys.compactMap { key in self[key].map { MetadataTag(key: key, value: $0) } }
  }

  var keys: [String] {
    var keys: [String] = []
    var entry: UnsafeMutablePointer<AVDictionaryEntry>?
    while let next = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
      if let key = next.pointee.key { keys.append(String(cString: key)) }
      entry = next
    }
    return keys
  }
}
