// What is known when the last packet has passed: the ledger, what the finished index must be told,
// and what the output must be found to hold. Runs on the remux thread.

import CFFmpeg
import FetchCore

extension PacketPipeline {
  /// What the finished index must be told, in the order of its tracks.
  func amendment() throws(FetchError) -> IndexAmendment {
    IndexAmendment(
      tracks: try trackAmendments(), movie: metadata.movie, copiesMetadata: metadata.copiesSource,
      shownKinds: shownKinds, format: format)
  }

  /// In the order of the output's tracks.
  private func trackAmendments() throws(FetchError) -> [TrackAmendment] {
    // Leading pictures may be shown before the first packet's time.
    var origin: (value: Int64, base: AVRational) = (0, AVRational(num: 1, den: 1))
    var isFirst = true
    for track in tracks
    where track.entry.description.kind.isMedia && !track.entry.description.isAttachedPicture {
      guard let begin = track.line.firstPresentation else { continue }
      if isFirst || av_compare_ts(begin, track.to, origin.value, origin.base) < 0 {
        origin = (begin, track.to)
        isFirst = false
      }
    }
    var amendments: [TrackAmendment] = []
    for track in tracks
    where track.line.packets > 0 && !track.entry.description.isAttachedPicture {
      var amendment = TrackAmendment()
      let kind = track.entry.description.kind
      if kind.isMedia || kind == .subtitle || track.entry.isOpaque {
        amendment.presentation = try presentation(of: track, origin: origin)
      }
      if track.entry.sampleEntry == "dvh1" { amendment.sampleEntry = "dvh1" }
      // The sample entries that allow parameter sets among the pictures (ISO 14496-15 5.4.2.1,
      // 8.4.1.1).
      if track.setsChange {
        let isDolbyVision = track.entry.sampleEntry == "dvh1"
        amendment.sampleEntry =
          track.entry.description.codec == "hevc" ? (isDolbyVision ? "dvhe" : "hev1") : "avc3"
      } else if let configuration = filledConfiguration(of: track) {
        amendment.sampleEntry = "hvc1"
        amendment.replacedBoxes = [configuration]
      }
      let language = track.entry.description.language ?? ""
      if !LanguageCode(language).isUnknown {
        amendment.language =
          language.utf8.count == 3 ? language.lowercased() : LanguageCode(language).code
      }
      carry(track, into: &amendment)
      amendments.append(amendment)
    }
    return amendments
  }

  /// The HEVC configuration with the parameter sets that only the stream had.
  func filledConfiguration(of track: Track) -> [UInt8]? {
    let parameters = track.parameters.pointee
    guard track.entry.description.lacksParameterSets, let extradata = parameters.extradata else {
      return nil
    }
    let payload = Array(
      UnsafeBufferPointer(start: extradata, count: Int(parameters.extradata_size)))
    return HEVCParameterSets.configuration(from: payload, units: track.parameterSets)
  }

  /// - Parameter origin: the earliest presentation of all; it becomes zero.
  private func presentation(
    of track: Track, origin: (value: Int64, base: AVRational)
  ) throws(FetchError) -> TrackAmendment.Presentation? {
    guard let begin = track.line.firstPresentation, var end = track.line.lastPresentationEnd,
      let first = track.line.firstDTS
    else { return nil }
    if let source = track.sourceTrack, let shown = source.presentedEnd,
      let presented = MediaTime.ticks(shown, perSecond: source.movieTimescale, in: track.to),
      let tick = MediaTime.ticks(1, perSecond: source.movieTimescale, in: track.to)
    {
      // The source's edit list may end inside its last packet.
      let sourceEnd = presented - (try MediaTime.rescale(track.shift, track.from, track.to))
      if sourceEnd < end - tick - 1, sourceEnd > begin { end = sourceEnd }
    }
    let delay = begin - (try MediaTime.rescale(origin.value, origin.base, track.to))
    // Texts and data may begin before the first picture; what comes earlier is not shown.
    let early = max(-delay, 0)
    return TrackAmendment.Presentation(
      delay: max(delay, 0), mediaStart: begin - first + early,
      duration: max(end - begin - early, 0))
  }

  /// What the output must be found to hold, in the output's order.
  var expectations: [OutputExpectation] {
    tracks.filter { $0.line.packets > 0 && !$0.entry.description.isAttachedPicture }.map {
      OutputExpectation(
        description: $0.entry.description, line: $0.line, timeBase: $0.to,
        form: PayloadForm($0.parameters.pointee), hash: $0.hash)
    }
  }

  func ledger() throws(FetchError) -> [StreamLedger] {
    var ledger: [StreamLedger] = []
    for track in tracks where track.line.packets > 0 {
      let tick = Double(track.to.num) / Double(track.to.den)
      var line = StreamLedger(
        index: track.source, packets: track.line.packets, bytes: track.line.bytes,
        duration: Double(track.line.span) * tick)
      line.first = track.line.firstPresentation.map { Double($0) * tick }
      line.last = track.line.lastPresentation.map { Double($0) * tick }
      line.sha256 = try track.hash?.hexadecimal()
      ledger.append(line)
    }
    return ledger
  }

  /// Seconds from zero to the end of the last presentation.
  var duration: Double {
    tracks.filter { !$0.entry.description.isAttachedPicture }.reduce(0) {
      max($0, Double($1.line.lastPresentationEnd ?? 0) * Double($1.to.num) / Double($1.to.den))
    }
  }
}
