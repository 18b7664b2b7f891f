// What each track of the output is told beside its packets: the source's own boxes, and those that
// the muxer of libavformat 59 doesn't write. Runs on the remux thread.

import CFFmpeg
import FetchCore

extension PacketPipeline {
  /// Adds what the source's track says of itself.
  func carry(_ track: Track, into amendment: inout TrackAmendment) {
    let kind = track.entry.description.kind
    if format == .mov {
      // movenc writes them to mp4 only.
      let disposition = demuxer.streams[track.source].pointee.disposition
      amendment.userData = TrackRole.boxes(of: disposition)
    }
    if kind == .video {
      let parameters = track.parameters.pointee
      amendment.colours = ColourBoxes.added(
        to: format, source: track.sourceTrack?.colours ?? [],
        primaries: parameters.color_primaries.rawValue, transfer: parameters.color_trc.rawValue,
        matrix: parameters.color_space.rawValue,
        isFullRange: parameters.color_range == AVCOL_RANGE_JPEG)
    }
    guard let source = track.sourceTrack else {
      let stream = demuxer.streams[track.source]
      if kind == .video { amendment.entryBoxes = SideDataBoxes.boxes(of: stream) }
      if metadata.copiesSource {
        amendment.tags = StreamTags.box(of: Metadata(stream.pointee.metadata).tags)
      }
      return
    }
    amendment.carriage = source.carriage
    amendment.isOpaque = track.entry.isOpaque
    amendment.sampleCount = sampleCount(of: track)
    guard kind.isMedia else { return }
    amendment.entryBoxes = TrackAmendment.carriedBoxes.compactMap { source.entryBoxes[$0] }
    if format == .mov, let gamma = source.entryBoxes["gama"] { amendment.entryBoxes.append(gamma) }
    amendment.replacedBoxes += TrackAmendment.sourceWins.compactMap { source.entryBoxes[$0] }
    if let first = source.colours.first(where: { ColourBoxes.isNative($0, in: format) }) {
      amendment.replacedBoxes.append(first)
    }
  }

  /// How many samples a track has, where they are the source's one by one.
  private func sampleCount(of track: Track) -> Int64? {
    guard let source = track.sourceTrack, !source.isReadByChunk,
      source.samples == track.line.packets
    else { return nil }
    return track.line.packets
  }

  /// Names what tracks of data lose on the way, and tables that no longer fit.
  mutating func nameWhatTracksLose() {
    for track in tracks where track.line.packets > 0 {
      let index = track.source
      if track.entry.isOpaque, let declared = track.declared, track.line.packets < declared {
        warnings.append(
          FetchWarning(
            .propertyLost, stream: index,
            "\(declared - track.line.packets) samples of stream \(index) are empty or missing"))
      }
      // The muxer makes its own groups of samples to roll in with.
      let tables = track.sourceTrack?.carriage.sampleTables ?? []
      let lost = tables.filter {
        $0.fourCharacters(4) == "subs"
          || $0.fourCharacters(4) == "sgpd" && $0.fourCharacters(12) != "roll"
      }
      if !lost.isEmpty, sampleCount(of: track) == nil {
        warnings.append(
          FetchWarning(
            .propertyLost, stream: index,
            "sample groups of stream \(index) are lost, as not all of its samples are carried"))
      }
    }
    for track in tracks where track.entry.isOpaque && track.line.packets == 0 {
      emptyStreams.append((track.source, "it is announced but empty"))
      warnings.append(
        FetchWarning(
          .streamDropped, stream: track.source,
          "empty data stream \(track.source) (\(track.entry.description.codecName)) dropped:"
            + " it holds no packets"))
    }
  }
}

extension SourceIndex {
  /// What was too large to be copied.
  var warnings: [FetchWarning] {
    guard !budget.refused.isEmpty else { return [] }
    let names = budget.refused.sorted().joined(separator: ", ")
    return [
      FetchWarning(.propertyLost, "boxes of the source's index cannot be copied: \(names)")
    ]
  }
}

extension MetadataCarriage {
  /// Decides for an opened source.
  init(
    _ demuxer: Demuxer, _ plan: StreamPlan, _ index: SourceIndex, to format: ContainerFormat,
    edits: MetadataEdits = MetadataEdits()
  ) {
    var covers: [CoverPicture] = []
    if format == .mov {
      for entry in plan.kept where entry.description.isAttachedPicture {
        let picture = demuxer.streams[entry.description.index].pointee.attached_pic
        guard let data = picture.data, picture.size > 0,
          let kind = CoverPicture.Kind(codec: entry.description.codec)
        else { continue }
        let bytes = Array(UnsafeBufferPointer(start: data, count: Int(picture.size)))
        covers.append(CoverPicture(kind: kind, bytes: bytes))
      }
    }
    self.init(
      tags: Metadata(demuxer.formatContext?.pointee.metadata).tags, source: index.movie,
      covers: covers, format: format, edits: edits)
  }
}

extension CoverPicture.Kind {
  init?(codec: String) {
    switch codec {
    case "mjpeg": self = .jpeg
    case "png": self = .png
    case "bmp": self = .bmp
    default: return nil
    }
  }
}

/// The roles of a track, as `kind` boxes say them (ISO 14496-12 8.10.4).
enum TrackRole {
  private static let scheme = "urn:mpeg:dash:role:2011"
  static let roles: [(disposition: Int32, role: String)] = [
    (AV_DISPOSITION_HEARING_IMPAIRED, "caption"), (AV_DISPOSITION_COMMENT, "commentary"),
    (AV_DISPOSITION_VISUAL_IMPAIRED, "description"), (AV_DISPOSITION_DUB, "dub"),
    (AV_DISPOSITION_FORCED, "forced-subtitle"),
  ]

  /// One whole `kind` a role.
  static func boxes(of disposition: Int32) -> [[UInt8]] {
    roles.filter { disposition & $0.disposition != 0 }.map {
      .box("kind", [0, 0, 0, 0] + Array(scheme.utf8) + [0] + Array($0.role.utf8) + [0])
    }
  }
}
