// The judgement over what was read, once the demuxer has come to its plain end: libavformat reports
// most damage as an end like any other. Runs on the remux thread.

import CFFmpeg
import FetchCore

extension PacketPipeline {
  /// How many names a warning lists.
  private static let mostNames = 12

  /// Judges what was read, after the demuxer's plain end.
  mutating func checkSource() throws(FetchError) {
    let media = tracks.filter {
      $0.entry.description.kind.isMedia && !$0.entry.description.isAttachedPicture
    }
    if media.allSatisfy({ $0.line.packets == 0 }) {
      throw FetchError(
        .damaged, "no samples: the source announces streams but holds no media",
        recovery: "fetch the file again, or from another source")
    }
    if let line = log.demuxerErrors.first {
      throw FetchError(
        .damaged, "the media is damaged or cut", reason: line,
        recovery: "fetch the file again, or from another source")
    }
    try refuseUnknownParameters()
    try refuseUndecodable(media)
    try refuseUnknownFraming(media)
    if let jumps, jumps.jumps > 0 {
      warnings.append(
        FetchWarning(
          .timestampsRepaired,
          "the source's clock jumps \(jumps.jumps) times; the jumps were closed"))
    }
    for track in tracks {
      if let stage = track.stage { warnings += stage.warnings(stream: track.source) }
      if track.entry.description.kind == .subtitle, track.line.packets == 0 {
        emptyStreams.append((track.source, "it is announced but empty"))
      }
    }
    for track in media {
      let index = track.source
      try judgeCorruption(of: track)
      if let declared = track.declared, track.line.packets + track.emptyPackets < declared,
        track.line.packets > 0
      {
        throw FetchError(
          .damaged,
          "stream \(index) holds \(track.line.packets) of \(declared) packets: the media is cut",
          recovery: "fetch the file again, or from another source")
      }
      if let source = track.sourceTrack, !source.edits.isEmpty, track.line.packets > 0,
        track.line.firstPresentation == nil || track.line.packets > 1 && track.line.span <= 0
      {
        throw FetchError(
          .damaged, "the edit list of stream \(index) shows none of its media",
          recovery: "fetch the file again, or from another source")
      }
      if let source = track.sourceTrack, source.edits.count(where: { $0.mediaTime >= 0 }) > 1,
        track.line.hidesInside
      {
        throw FetchError(
          .cannotPassthrough,
          "the edit list of stream \(index) hides media between what it shows, which cannot be"
            + " carried unchanged",
          recovery: "keep the source")
      }
      try refuseWrongClock(of: track)
      if track.line.packets == 0 {
        emptyStreams.append((index, "it is announced but empty"))
        let name = "\(track.entry.description.kind.rawValue) stream \(index)"
        warnings.append(
          FetchWarning(
            .streamDropped, stream: index,
            "empty \(name) (\(track.entry.description.codecName)) dropped: it holds no packets"))
      }
      if track.emptyPackets > 0, track.sourceTrack != nil, track.entry.description.kind == .audio {
        // Of pictures it means that nothing new is to be seen; a sound without bytes is none.
        throw FetchError(
          .damaged, "\(track.emptyPackets) samples of stream \(index) have no bytes",
          recovery: "fetch the file again, or from another source")
      }
      if track.emptyPackets > 0 {
        warnings.append(
          FetchWarning(
            .unusual, stream: index,
            "\(track.emptyPackets) samples of stream \(index) are empty and are left out"))
      }
      if track.setsChange {
        warnings.append(
          FetchWarning(
            .compatibility, stream: index,
            "the parameter sets of stream \(index) change in the middle: Apple players may refuse"
              + " what comes after"))
      }
      if track.entry.sampleEntry == "hev1", filledConfiguration(of: track) == nil {
        warnings.append(
          FetchWarning(
            .compatibility, stream: index,
            "stream \(index) stays hev1, which Apple players may refuse:"
              + " its parameter sets stand in the stream only"))
      }
      if track.repair.movedPresentations + track.repair.inventedTimestamps > 0 {
        warnings.append(
          FetchWarning(
            .timestampsRepaired, stream: index,
            "\(track.repair.movedPresentations + track.repair.inventedTimestamps) timestamps of"
              + " stream \(index) were missing or not rising and had to be set"))
      }
    }
  }

  /// A sound or picture that was taken for empty, and then had packets after all.
  private func refuseUnknownParameters() throws(FetchError) {
    let streams = demuxer.streams
    for index in strayPackets.indices where strayPackets[index] > 0 {
      let kind = streams[index].pointee.codecpar.pointee.codec_type
      guard kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO,
        streams[index].pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0,
        !unselected.contains(index)
      else { continue }
      throw FetchError(
        .cannotPassthrough,
        "stream \(index) has \(strayPackets[index]) packets, but its parameters (size, rate) are"
          + " not to be found",
        recovery: "keep the source")
    }
  }

  /// VP9 and AV1 of which no picture decodes.
  ///
  /// Their pixel format stands in a box of the output; where it is unknown, libavformat writes an
  /// empty box, which it refuses to read.
  private func refuseUndecodable(_ media: [Track]) throws(FetchError) {
    for track in media where ["vp9", "av1"].contains(track.entry.description.codec) {
      guard track.parameters.pointee.format < 0, track.line.packets > 0 else { continue }
      throw FetchError(
        .damaged,
        "no picture of stream \(track.source) (\(track.entry.description.codec)) can be decoded",
        recovery: "fetch the file again, or from another source")
    }
  }

  /// A configuration of H.264 that begins neither with 1 nor with a start code.
  ///
  /// With 1 its units stand behind lengths (ISO/IEC 14496-15, 5.3.3.1). movenc takes whatever else it
  /// meets for a stream with start codes, and writes empty samples where it finds none.
  private func refuseUnknownFraming(_ media: [Track]) throws(FetchError) {
    for track in media where track.entry.description.codec == "h264" {
      let parameters = track.parameters.pointee
      guard let bytes = parameters.extradata, parameters.extradata_size >= 4, bytes[0] != 1 else {
        continue
      }
      let isStartCode = bytes[0] == 0 && bytes[1] == 0 && (bytes[2] == 1 || bytes[3] == 1)
      guard !isStartCode else { continue }
      throw FetchError(
        .damaged, "the decoder configuration of stream \(track.source) (h264) is damaged",
        recovery: "fetch the file again, or from another source")
    }
  }

  /// A clock that most packets contradict, such as a timescale that was damaged.
  ///
  /// Where a container's clock may jump, each stamp stands for itself.
  private func refuseWrongClock(of track: Track) throws(FetchError) {
    let isSound = track.entry.description.kind == .audio
    guard isSound || !demuxer.mayJump,
      track.repair.movedPresentations > max(1, track.line.packets / 2)
    else { return }
    throw FetchError(
      .damaged, "the clock of stream \(track.source) is damaged",
      reason: "\(track.repair.movedPresentations) of \(track.line.packets) packets cannot be shown"
        + " when it says",
      recovery: "fetch the file again, or from another source")
  }

  /// Whether fewer packets came than the source's fragments announce.
  func missesSamples(of walk: FragmentWalk) -> Bool {
    tracks.contains { track in
      guard track.entry.description.kind.isMedia, let id = track.sourceTrack?.id else {
        return false
      }
      return track.line.packets + track.emptyPackets < walk.samples[id, default: 0]
    }
  }

  mutating func warn(ofForeignBoxes walk: FragmentWalk) {
    let names = walk.foreignBoxes.map(\.text).sorted()
    guard !names.isEmpty else { return }
    let listed = names.prefix(Self.mostNames).map {
      $0 == "sefd" ? "sefd (Samsung's slow-motion and other camera data)" : $0
    }
    let more = names.count > listed.count ? " and others" : ""
    warnings.append(
      FetchWarning(
        .propertyLost,
        "boxes at the source's top level are left out: \(listed.joined(separator: ", "))\(more)"))
  }

  /// Damaged packets end a remux, but for a broadcast recording's own: a receiver loses transport
  /// packets now and then, and nobody has them any more.
  private mutating func judgeCorruption(of track: Track) throws(FetchError) {
    guard track.corruptPackets > 0 else { return }
    let text = "\(track.corruptPackets) packets of stream \(track.source) are damaged"
    let isRecording = demuxer.mayJump && demuxer.formatName == "mpegts"
    let isRare = track.corruptPackets <= max(4, track.line.packets / 100)
    guard isRecording, isRare, !track.endsCorrupt else {
      throw FetchError(
        .damaged, text, recovery: "fetch the file again, or from another source")
    }
    warnings.append(
      FetchWarning(
        .unusual, stream: track.source, "\(text) in the source itself; they are kept as they are"))
  }
}
