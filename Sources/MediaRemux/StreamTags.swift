// The tags of a single stream, as named keys of its track: the muxer writes none but title, handler and
// language. Pure.

import FetchCore

enum StreamTags {
  /// What is said elsewhere in the output, or is about the old file.
  private static let technical: Set<String> = [
    "title", "language", "handler_name", "vendor_id", "encoder", "creation_time", "timecode",
    "duration", "rotate", "filename", "mimetype", "stereo_mode", "alpha_mode", "major_brand",
    "minor_version", "compatible_brands", "bps", "number_of_frames", "number_of_bytes",
    "id3v2_priv", "variant_bitrate", "encoder_options", "reel_name",
  ]

  /// A `meta` for a track; nil where there is nothing to say.
  static func box(of tags: [MetadataTag]) -> MetadataBox? {
    var box = MetadataBox(handler: "mdta")
    for tag in tags where !isTechnical(tag.key.lowercased()) { box.set(tag.key, to: tag.value) }
    return box.isEmpty ? nil : box
  }

  private static func isTechnical(_ key: String) -> Bool {
    // Matroska's statistics carry a language behind a hyphen.
    let name = key.split(separator: "-").first.map(String.init) ?? key
    return technical.contains(name) || name.hasPrefix("_statistics")
      || name.hasPrefix("source_id") || name.hasPrefix("id3v2_priv")
  }
}
