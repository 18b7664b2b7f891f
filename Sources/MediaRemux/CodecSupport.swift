// Which codec which container can hold unchanged, as this version of libavformat writes it and as
// players read it. A table; pure.

import FetchCore

/// What a container can do with a codec.
enum CodecSupport: Hashable {
  case held
  /// Held, but few players will play it; the text says why.
  case heldWithWarning(String)
  case refused

  static func of(_ codec: String, in format: ContainerFormat) -> CodecSupport {
    if let note = warnings[format]?[codec] { return .heldWithWarning(note) }
    switch format {
    case .mp4: return mp4.contains(codec) ? .held : .refused
    case .mov: return mov.contains(codec) || isPCM(codec) ? .held : .refused
    }
  }

  private static let mp4: Set<String> = [
    "h264", "hevc", "mpeg4", "mpeg1video", "mpeg2video", "vp9", "av1", "vc1",
    "aac", "mp3", "mp2", "mp1", "ac3", "eac3", "dts", "alac", "flac", "opus", "truehd",
    "mov_text", "dvd_subtitle",
  ]

  private static let mov: Set<String> = [
    "h264", "hevc", "mpeg4", "mpeg1video", "mpeg2video", "h263", "mjpeg", "prores", "dvvideo",
    "dnxhd", "png", "svq1", "svq3", "cinepak", "qtrle", "rpza", "smc", "8bps", "hap", "cfhd",
    "rawvideo", "v210", "r210", "jpeg2000", "tiff", "gif", "aic",
    "aac", "mp3", "mp2", "ac3", "eac3", "alac", "amr_nb", "amr_wb", "qdm2", "qdmc", "mace3",
    "mace6", "adpcm_ima_qt", "gsm", "ilbc", "qcelp",
    "mov_text", "eia_608",
  ]

  private static let warnings: [ContainerFormat: [String: String]] = [
    .mp4: [
      "mjpeg": "MJPEG in mp4 is played by few players; mov suits it better",
      "vorbis": "Vorbis in mp4 is played by few players",
      "png": "PNG pictures as video in mp4 are played by few players; mov suits them better",
    ],
    .mov: [
      "dts": "QuickTime does not play DTS in mov; mp4 suits it better"
    ],
  ]

  private static func isPCM(_ codec: String) -> Bool {
    let linear: Set<String> = [
      "pcm_u8", "pcm_s8", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le",
      "pcm_s32be", "pcm_f32le", "pcm_f32be", "pcm_f64le", "pcm_f64be", "pcm_alaw", "pcm_mulaw",
    ]
    return linear.contains(codec)
  }
}
