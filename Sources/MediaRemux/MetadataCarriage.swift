// Where each piece of the film's metadata goes: into boxes copied from the source, to the muxer, or
// into named keys of our own. The one place that decides it. Pure.

import FetchCore

/// One entry of the metadata, as libavformat reads it.
struct MetadataTag: Hashable {
  var key: String
  var value: String
}

/// The fate of the metadata of a whole film.
struct MetadataCarriage: Hashable {
  /// What the muxer is given to write in its own form.
  var muxerTags: [MetadataTag] = []
  /// The boxes for the end of the index.
  var movie = MovieCarriage()
  /// Whether boxes of the source that are tags are copied, of tracks as well.
  var copiesSource: Bool

  /// - Parameters:
  ///   - tags: the source's metadata as libavformat reads it.
  ///   - source: the source's boxes; nil where it isn't an ISO file.
  ///   - covers: the cover pictures that the muxer has no place for.
  ///   - edits: what the person wants of it.
  init(
    tags: [MetadataTag], source: MovieCarriage?, covers: [CoverPicture],
    format: ContainerFormat, edits: MetadataEdits = MetadataEdits()
  ) {
    copiesSource = !edits.strips
    var tags = edits.strips ? tags.filter { $0.key.lowercased() == "timecode" } : tags
    if let source {
      movie = source
      // Covers are streams, which may be left out; those that are kept are written anew.
      movie.removeCovers()
      if edits.strips { movie.removeMetadata() }
      // All else that libavformat read stands in the boxes.
      tags.removeAll { $0.key != "creation_time" }
    }
    for change in edits.changes {
      tags.removeAll { $0.key.lowercased() == change.key.lowercased() }
      movie.remove(key: change.key.lowercased())
      if !change.value.isEmpty { tags.append(MetadataTag(key: change.key, value: change.value)) }
    }
    for tag in tags where !Self.containerKeys.contains(tag.key.lowercased()) {
      if Self.isWritten(tag.key.lowercased(), tag.value, in: format) {
        muxerTags.append(tag)
        if tag.key.lowercased() == "location", format == .mp4 {
          // The muxer's form counts in 1/65536 degrees.
          movie.keys = movie.keys ?? MetadataBox(handler: "mdta")
          movie.keys?.set("com.apple.quicktime.location.ISO6709", to: tag.value)
        }
      } else {
        movie.keys = movie.keys ?? MetadataBox(handler: "mdta")
        movie.keys?.set(tag.key, to: tag.value)
      }
    }
    if !covers.isEmpty {
      movie.items = movie.items ?? MetadataBox(handler: "mdir")
      movie.items?.add(covers: covers)
    }
  }

  /// What says something of the old container.
  private static let containerKeys: Set<String> = [
    "major_brand", "minor_version", "compatible_brands", "encoder", "duration", "filesize",
  ]

  /// Whether the muxer of libavformat 59 writes the key, and its demuxer gives it back.
  private static func isWritten(_ key: String, _ value: String, in format: ContainerFormat) -> Bool
  {
    if key == "creation_time" || key == "timecode" { return true }
    switch format {
    // QuickTime's texts have a length of 16 bits, which movenc cuts without a word.
    case .mov: return movTexts.contains(key) && value.utf8.count <= Int(UInt16.max)
    case .mp4:
      if key == "track" || key == "disc" { return isCount(value) }
      if mp4Numbers.contains(key) { return UInt8(value) != nil }
      return mp4Texts.contains(key)
    }
  }

  /// A number, or a number out of another.
  private static func isCount(_ value: String) -> Bool {
    let parts = value.split(separator: "/", omittingEmptySubsequences: false)
    return (1...2).contains(parts.count)
      && parts.allSatisfy { UInt16($0).map { $0 > 0 } == true && $0.first != "0" }
  }

  private static let mp4Texts: Set<String> = [
    "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre",
    "copyright", "grouping", "lyrics", "description", "synopsis", "show", "episode_id", "network",
    "keywords", "location",
  ]
  private static let mp4Numbers: Set<String> = [
    "episode_sort", "season_number", "media_type", "hd_video", "gapless_playback", "compilation",
    "tmpo",
  ]
  private static let movTexts: Set<String> = [
    "title", "artist", "album", "date", "comment", "genre", "copyright", "make", "model",
    "location",
  ]
}
