// What the output doesn't give back of what the source said, found by reading both with the same
// demuxer. Runs on the remux thread.

import CFFmpeg
import FetchCore

extension OutputCheck {
  /// What says something of the container or of the tool, not of the film.
  private static let technicalKeys: Set<String> = [
    "major_brand", "minor_version", "compatible_brands", "encoder", "duration", "handler_name",
    "vendor_id", "language", "timecode", "creation_time", "filename", "mimetype",
    // What FLV writers put beside the film.
    "bytelength", "canseekontime", "httphostheader", "pmsg", "purl", "sourcedata", "starttime",
    "totaldatarate", "totalduration", "metadatacreator", "hasmetadata", "haskeyframes",
  ]

  /// The keys of the whole file's metadata that the output doesn't give back.
  static func lostMetadata(
    _ source: Demuxer, _ output: Demuxer, _ edits: MetadataEdits
  ) -> [FetchWarning] {
    let kept = Set(Metadata(output.formatContext?.pointee.metadata).keys.map { $0.lowercased() })
    let source = Metadata(source.formatContext?.pointee.metadata).keys.filter {
      !technicalKeys.contains($0.lowercased()) && !$0.lowercased().hasPrefix("_statistics")
    }
    let lost = edits.keys(after: source).filter { !kept.contains($0.lowercased()) }
    guard !lost.isEmpty else { return [] }
    let names = lost.sorted().prefix(12).map { String($0.prefix(64)) }.joined(separator: ", ")
    return [FetchWarning(.propertyLost, "metadata lost: \(names)")]
  }

  /// What hung on the source's stream and is not found on the output's.
  static func losses(
    _ source: UnsafeMutablePointer<AVStream>, _ output: UnsafeMutablePointer<AVStream>,
    _ description: StreamDescription
  ) -> [FetchWarning] {
    func kinds(_ stream: UnsafeMutablePointer<AVStream>) -> Set<UInt32> {
      var kinds: Set<UInt32> = []
      for index in 0..<Int(stream.pointee.nb_side_data) {
        let entry = stream.pointee.side_data[index]
        // Stretching is carried by the pixel aspect.
        if entry.type == AV_PKT_DATA_DISPLAYMATRIX,
          isPureScale(UnsafeRawBufferPointer(start: entry.data, count: entry.size))
        {
          continue
        }
        kinds.insert(entry.type.rawValue)
      }
      return kinds
    }
    let lost = kinds(source).subtracting(kinds(output))
    let names: [(AVPacketSideDataType, String)] = [
      (AV_PKT_DATA_DISPLAYMATRIX, "rotation (display matrix)"),
      (AV_PKT_DATA_STEREO3D, "stereo 3D description (st3d)"),
      (AV_PKT_DATA_SPHERICAL, "spherical description (sv3d)"),
      (AV_PKT_DATA_MASTERING_DISPLAY_METADATA, "mastering display metadata (mdcv)"),
      (AV_PKT_DATA_CONTENT_LIGHT_LEVEL, "content light level (clli)"),
      (AV_PKT_DATA_ICC_PROFILE, "ICC colour profile"),
      (AV_PKT_DATA_DOVI_CONF, "Dolby Vision configuration (dvcC, dvvC)"),
      (AV_PKT_DATA_AUDIO_SERVICE_TYPE, "audio service type"),
    ]
    let properties = lostProperties(source, output)
    return (names.filter { lost.contains($0.0.rawValue) }.map(\.1) + properties).map {
      FetchWarning(
        .propertyLost, stream: description.index,
        "\($0) of stream \(description.index) lost: the container cannot hold it")
    }
  }

  /// Roles that a container has no word for.
  private static let roles: [(Int32, String)] =
    [
      (AV_DISPOSITION_ORIGINAL, "original"), (AV_DISPOSITION_LYRICS, "lyrics"),
      (AV_DISPOSITION_KARAOKE, "karaoke"), (AV_DISPOSITION_CLEAN_EFFECTS, "clean effects"),
      (AV_DISPOSITION_CAPTIONS, "captions"), (AV_DISPOSITION_DESCRIPTIONS, "descriptions"),
    ] + TrackRole.roles.map { ($0.disposition, $0.role) }

  /// Flags, names and colour of a stream that are not found again.
  private static func lostProperties(
    _ source: UnsafeMutablePointer<AVStream>, _ output: UnsafeMutablePointer<AVStream>
  ) -> [String] {
    let lost = source.pointee.disposition & ~output.pointee.disposition
    var names = roles.filter { lost & $0.0 != 0 }.map { "role \"\($0.1)\"" }
    let (before, after) = (Metadata(source.pointee.metadata), Metadata(output.pointee.metadata))
    if let language = before["language"], language != "und", language != after["language"] {
      names.append("language \(language.prefix(16))")
    }
    let (from, to) = (source.pointee.codecpar.pointee, output.pointee.codecpar.pointee)
    // Of MJPEG the codec itself says it.
    if from.codec_id != AV_CODEC_ID_MJPEG, from.color_range == AVCOL_RANGE_JPEG,
      to.color_range != AVCOL_RANGE_JPEG
    {
      names.append("full colour range")
    }
    return names
  }

  /// Cover pictures that were to be kept, and are not found again.
  static func lostCovers(_ pipeline: PacketPipeline, _ output: Demuxer) -> [FetchWarning] {
    let found = output.streams.count {
      $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    }
    guard found < pipeline.keptCovers else { return [] }
    return [
      FetchWarning(
        .propertyLost, "\(pipeline.keptCovers - found) cover pictures could not be carried")
    ]
  }
}
