// What becomes of each stream, decided before any output exists. Pure: values in, values out, or a
// refusal that names the codec, the container and what would work.

import FetchCore

/// The fate of each stream.
struct StreamPlan: Hashable {
  struct Entry: Hashable {
    var description: StreamDescription
    var action: StreamReport.Action
    var reason: String?
    /// The sample entry to write; nil leaves the choice to the source's tag or to the muxer.
    var sampleEntry: String?
    /// Whether presentation times are rebuilt from the order of the pictures.
    var ordersPictures = false
    /// Whether each packet of sound begins where the one before ends: the source's stamps count
    /// chunks, not time.
    var soundRunsOn = false
    /// Whether the person wants it; what isn't wanted is dropped, and no loss.
    var isSelected = true

    /// Whether its samples are copied under the source's own description, whatever they are.
    var isOpaque: Bool {
      action != .dropped && description.kind.isOpaque && description.opaqueHandler != nil
    }

    /// Whether it becomes a track whose packets are copied: covers are metadata in mov, and a
    /// timecode that can't be copied is made anew by the muxer.
    func isTrack(in format: ContainerFormat) -> Bool {
      if action == .dropped || description.isAttachedPicture && format == .mov { return false }
      return !description.kind.isOpaque || isOpaque
    }
  }

  var entries: [Entry]
  var warnings: [FetchWarning]

  var kept: [Entry] { entries.filter { $0.action != .dropped } }

  var reports: [StreamReport] {
    entries.map { entry in
      let stream = entry.description
      var report = StreamReport(
        index: stream.index, type: stream.kind, codec: stream.codecName, action: entry.action,
        reason: entry.reason)
      report.language = stream.language
      report.width = stream.width
      report.height = stream.height
      report.sampleRate = stream.sampleRate
      report.channels = stream.channels
      report.attachedPicture = stream.isAttachedPicture ? true : nil
      return report
    }
  }

  /// Decides for every stream.
  ///
  /// - Throws: `.cannotPassthrough` where a sound or picture can't be held or the selection matches
  ///   nothing, `.encrypted`, or `.damaged` where there is neither sound nor picture.
  init(
    _ source: SourceDescription, to format: ContainerFormat,
    selection: StreamSelection = StreamSelection(), stripsMetadata: Bool = false
  ) throws(FetchError) {
    entries = []
    warnings = []
    if source.streams.contains(where: \.isEncrypted) { throw .encryptedMedia }
    let selected = try SelectedStreams(selection, from: source.streams)
    let media = source.streams.filter {
      $0.kind.isMedia && !$0.isAttachedPicture && selected.contains($0)
    }
    guard !media.isEmpty else {
      throw FetchError(
        .cannotPassthrough, "the source holds neither video nor audio",
        recovery: "check that the address leads to the film itself")
    }
    guard media.contains(where: \.hasMedia) else {
      throw FetchError(
        .damaged, "no samples: the source announces streams but holds no media",
        recovery: "fetch the file again, or from another source")
    }
    if !source.hasTimestamps, media.contains(where: { $0.kind == .video }) {
      throw FetchError(
        .cannotPassthrough,
        "a raw \(media[0].codecName) stream has no timestamps, which \(format.rawValue) needs",
        recovery: "keep the source, or wrap it with a tool that is told the frame rate")
    }
    for stream in source.streams {
      guard selected.contains(stream) else {
        entries.append(
          Entry(
            description: stream, action: .dropped, reason: "it is not selected", isSelected: false))
        continue
      }
      if stripsMetadata, stream.isTimedMetadata {
        entries.append(
          Entry(
            description: stream, action: .dropped, reason: "metadata is left out",
            isSelected: false))
        continue
      }
      let entry = try Self.decide(stream, source: source, format: format, warnings: &warnings)
      entries.append(entry)
    }
  }

  /// The refusal of a plan that loses a stream, where nothing may be lost; nil where it loses none.
  var refusalOfLoss: FetchError? {
    let lost = entries.first { entry in
      switch entry.action {
      case .kept: false
      case .converted: SubtitleSupport.isReduced(entry.description.codec)
      case .dropped: entry.isSelected && !entry.description.isChapterTrack
      }
    }
    guard let lost else { return nil }
    let stream = lost.description
    let fate = lost.action == .dropped ? "dropped" : "reduced to plain text"
    return FetchError(
      .cannotPassthrough,
      "\(stream.kind.rawValue) stream \(stream.index) (\(stream.codecName)) would be \(fate)",
      reason: lost.reason, recovery: "leave out --strict-lossless, or select streams without it")
  }

  /// Sounds whose packets say themselves how long they are.
  private static let steadySounds: Set<String> = ["mp1", "mp2", "mp3", "ac3", "eac3", "dts", "aac"]

  private static func decide(
    _ stream: StreamDescription, source: SourceDescription, format: ContainerFormat,
    warnings: inout [FetchWarning]
  ) throws(FetchError) -> Entry {
    var entry = Entry(description: stream, action: .kept)
    func drop(_ reason: String, saying message: String? = nil) {
      entry.action = .dropped
      entry.reason = reason
      if let message {
        warnings.append(FetchWarning(.streamDropped, stream: stream.index, message))
      }
    }
    let name = "\(stream.kind.rawValue) stream \(stream.index) (\(stream.codecName))"

    if stream.isAttachedPicture {
      if stream.isTimedThumbnail {
        drop(
          "pictures of chapters are not carried",
          saying: "\(name) dropped: pictures of chapters are not carried")
        return entry
      }
      if ["mjpeg", "png", "bmp"].contains(stream.codec) {
        if format == .mov { entry.reason = "kept among the metadata" }
        return entry
      }
      let reason = "\(format.rawValue) has no place for this cover picture"
      drop(reason, saying: "cover picture, \(name), dropped: \(reason)")
      return entry
    }

    switch stream.kind {
    case .video, .audio:
      guard stream.hasMedia else {
        drop("it is announced but empty", saying: "empty \(name) dropped: it holds no packets")
        return entry
      }
      try checkTag(stream, format: format)
      switch CodecSupport.of(stream.codec, in: format) {
      case .refused:
        throw .cannotHold(stream, in: format)
      case .heldWithWarning(let note):
        warnings.append(FetchWarning(.compatibility, stream: stream.index, note))
      case .held:
        break
      }
      if source.format == "avi" {
        // AVI has decoding times, and a sound's own rate is the only clock it has.
        entry.ordersPictures =
          stream.kind == .video && PresentationOrder.codecs.contains(stream.codec)
        entry.soundRunsOn = stream.kind == .audio && steadySounds.contains(stream.codec)
      }
      if stream.lacksPresentationTimes, entry.ordersPictures {
        entry.reason = "its presentation times are rebuilt from the order of its pictures"
        warnings.append(
          FetchWarning(
            .timestampsRepaired, stream: stream.index,
            "AVI has no presentation times for \(name): they are rebuilt from the order of its"
              + " pictures"))
      } else if stream.lacksPresentationTimes {
        throw FetchError(
          .cannotPassthrough,
          "\(stream.codecName) video with B-frames in AVI has no presentation times (stream"
            + " \(stream.index)), which \(format.rawValue) needs",
          recovery: "keep the source")
      }
      entry.sampleEntry = try sampleEntry(stream, format: format, warnings: &warnings)
    case .subtitle:
      switch SubtitleSupport.of(stream, in: format) {
      case .held:
        break
      case .text(let loss):
        entry.action = .converted
        entry.reason = "it becomes mov_text: \(loss)"
        entry.sampleEntry = "tx3g"
        warnings.append(
          FetchWarning(
            .streamConverted, stream: stream.index, "\(name) becomes mov_text: \(loss)"))
      case .refused(let reason):
        drop(reason, saying: "\(name) dropped: \(reason)")
      }
    case .data, .attachment, .unknown:
      if stream.isChapterTrack {
        drop("its chapters are kept")
      } else if let reason = DataTrackSupport.refusal(
        of: stream, in: format, isQuickTime: source.isQuickTime)
      {
        if stream.timecode != nil, stream.tag == "tmcd" {
          entry.reason = "written anew as a timecode track"
        } else {
          drop(reason, saying: "\(name) dropped: \(reason)")
        }
      }
    }
    return entry
  }

  /// Sample entries whose meaning libavformat 59 does not read, so that a copy would be wrong.
  private static func checkTag(
    _ stream: StreamDescription, format: ContainerFormat
  ) throws(FetchError) {
    guard stream.kind == .audio, let tag = stream.tag, tag == "ipcm" || tag == "fpcm" else {
      return
    }
    throw FetchError(
      .cannotPassthrough,
      "\(tag) audio (ISO 23003-5 PCM) cannot be carried to \(format.rawValue) unchanged",
      reason: "its sample size stands in a box that libavformat does not read",
      recovery: "keep the source")
  }

  private static func sampleEntry(
    _ stream: StreamDescription, format: ContainerFormat, warnings: inout [FetchWarning]
  ) throws(FetchError) -> String? {
    guard stream.codec == "hevc" else { return nil }
    let profile = stream.dolbyVisionProfile
    if profile == 5, format == .mov {
      throw FetchError(
        .cannotPassthrough, "Dolby Vision profile 5 (hevc) cannot be kept in mov",
        reason: "without its configuration (dvcC) the colours are wrong", recovery: "mp4 works")
    }
    if stream.lacksParameterSets { return "hev1" }
    if profile == 5 || stream.tag == "dvh1" || stream.tag == "dvhe", format == .mp4, profile != nil
    {
      return "dvh1"
    }
    return "hvc1"
  }
}

extension FetchError {
  static let encryptedMedia = FetchError(
    .encrypted, "the media is encrypted (DRM)", recovery: "only its own player can decrypt it")

  static func cannotHold(_ stream: StreamDescription, in format: ContainerFormat) -> FetchError {
    let others = ContainerFormat.allCases.filter { other in
      guard other != format else { return false }
      if case .refused = CodecSupport.of(stream.codec, in: other) { return false }
      return true
    }
    return FetchError(
      .cannotPassthrough,
      "\(format.rawValue) cannot hold \(stream.codecName) \(stream.kind.rawValue)"
        + " (stream \(stream.index)) unchanged",
      recovery: others.first.map { "\($0.rawValue) works: use -f \($0.rawValue)" }
        ?? "keep the source")
  }
}
