// Which subtitles a container holds as they are, which become its own text form, and why the rest
// cannot. A table; pure.

import FetchCore

/// What a container can do with a subtitle codec.
enum SubtitleSupport: Hashable {
  case held
  /// It becomes `mov_text` (3GPP TS 26.245); the text says what is lost.
  case text(loss: String)
  case refused(reason: String)

  static func of(_ stream: StreamDescription, in format: ContainerFormat) -> SubtitleSupport {
    let codec = stream.codec
    if CodecSupport.of(codec, in: format) != .refused { return .held }
    if let loss = losses[codec] {
      guard stream.isDecodable else {
        return .refused(reason: "this libavcodec cannot turn \(codec) into mov_text")
      }
      return .text(loss: loss)
    }
    if pictures.contains(codec) {
      return .refused(
        reason:
          "\(codec) is made of pictures, which cannot become text and which \(format.rawValue)"
          + " cannot hold")
    }
    if let reason = reasons[codec] { return .refused(reason: reason) }
    return .refused(reason: "\(format.rawValue) cannot hold \(stream.codecName) unchanged")
  }

  private static let losses = [
    "subrip": "its text and plain styles stay, its positions are lost",
    "ass": "its text and plain styles stay; positions, effects, drawings and fonts are lost",
    "ssa": "its text and plain styles stay; positions, effects, drawings and fonts are lost",
    "webvtt": "its text and plain styles stay; positions, regions and style sheets are lost",
    "text": "its text stays as it is",
  ]

  private static let pictures: Set<String> = [
    "dvb_subtitle", "dvd_subtitle", "hdmv_pgs_subtitle", "xsub",
  ]

  private static let reasons = [
    "dvb_teletext": "teletext pages (dvb_teletext) are not carried",
    "arib_caption": "ARIB captions (arib_caption) have no decoder in libavcodec",
    "hdmv_text_subtitle": "hdmv_text_subtitle has no decoder in libavcodec",
    "eia_608":
      "eia_608 captions are bytes of a caption decoder, not text; mov holds them as they are",
    "ttml": "ttml is laid out by its own style sheet, which mov_text cannot hold",
  ]

  /// Whether a conversion leaves out what the format is used for: places, effects, drawings, fonts.
  static func isReduced(_ codec: String) -> Bool { codec == "ass" || codec == "ssa" }
}
