// The story of one probe: sniff, open, look at the streams, plan for each container that could be
// written. It reads what a remux reads before its first packet, and writes nothing. Runs on the
// remux thread from beginning to end.

import CFFmpeg
import FetchCore

/// One probe, run once.
struct RemuxProbe {
  private let settings: ExportSettings
  private let availability: SourceAvailability
  private let bytes: SourceBytes
  private let log = AVLog()

  init(
    _ settings: ExportSettings, source: Int32, availability: SourceAvailability,
    onMessage: @escaping @Sendable (RemuxMessage) -> Void
  ) {
    self.settings = settings
    self.availability = availability
    bytes = SourceBytes(
      descriptor: source, availability: availability, onWait: { onMessage(.want($0)) })
  }

  /// Does all of it; returns the last message.
  func run() -> RemuxMessage {
    do throws(FetchError) {
      let probe = try AVLog.collecting(into: log) { () throws(FetchError) -> SourceProbe in
        try look()
      }
      return .probed(probe)
    } catch {
      return .failed(availability.isCancelled ? .cancelled : error)
    }
  }

  private func look() throws(FetchError) -> SourceProbe {
    let kind = try bytes.sniff()
    let protection = try protection(kind)
    let demuxer: Demuxer
    do throws(FetchError) {
      demuxer = try Demuxer(SourceIO(bytes), isSeekable: kind.isSeekable, log: log)
      try demuxer.probe(log: log)
    } catch {
      // libavformat's word about ciphertext explains nothing.
      guard let protection, error.code == .damaged || error.code == .notMedia else {
        throw try bytes.truth(behind: error, kind: kind)
      }
      throw protection
    }
    defer { demuxer.close() }

    let index = kind == .mp4 ? try SourceIndex(bytes.reader) : SourceIndex()
    var probe = SourceProbe(container: try containerName(demuxer))
    let glance = kind == .mp4 ? try IndexGlance(bytes.reader) : nil
    probe.index = glance?.place
    // What libavformat reckons of fragments is about those that it has seen.
    probe.duration =
      glance?.place == .fragmented
      ? glance?.fragmentedDuration : try duration(kind, demuxer)
    probe.chapters = Int(demuxer.formatContext?.pointee.nb_chapters ?? 0)
    probe.streams = demuxer.streams.map { ProbedStream($0) }
    if glance?.place == .fragmented {
      for at in probe.streams.indices { probe.streams[at].bitRate = nil }
    }
    let obstacle = protection == nil ? try damage(kind, probe.index) : protection
    for format in ContainerFormat.allCases {
      probe.verdicts.append(try verdict(format, kind, demuxer, index, obstacle: obstacle))
    }
    return probe
  }

  /// What a container could hold of the source: the same plan that a remux would follow.
  ///
  /// - Parameter obstacle: what is in the way of any output.
  private func verdict(
    _ format: ContainerFormat, _ kind: ContainerKind, _ demuxer: Demuxer, _ index: SourceIndex,
    obstacle: FetchError?
  ) throws(FetchError) -> PassthroughVerdict {
    var verdict = PassthroughVerdict(format: format)
    verdict.refusal = obstacle
    guard obstacle == nil else { return verdict }
    do throws(FetchError) {
      let plan = try StreamPlan(
        SourceDescription(demuxer, index), to: format, selection: settings.selection,
        stripsMetadata: settings.metadata.strips)
      if settings.isStrict, let refusal = plan.refusalOfLoss { throw refusal }
      let edits = try EditedSamples(plan, demuxer, index) { () throws(FetchError) -> Demuxer in
        try Demuxer(SourceIO(bytes), isSeekable: true, ignoresEdits: true, log: AVLog())
      }
      verdict.streams = plan.reports
      verdict.warnings = plan.warnings + edits.warnings
      if settings.isStrict {
        let losses = LossRecord()
        verdict.warnings.forEach(losses.note)
        try losses.refuse()
      }
    } catch {
      guard Self.isAboutTheSource(error.code) else { throw error }
      verdict = PassthroughVerdict(format: format)
      verdict.refusal = try bytes.truth(behind: error, kind: kind)
    }
    return verdict
  }

  /// Whether a failure is an answer to what was asked, rather than trouble in asking.
  private static func isAboutTheSource(_ code: OutcomeCode) -> Bool {
    [.damaged, .cannotPassthrough, .encrypted].contains(code)
  }

  /// Seconds; those of a transport or program stream, which says nowhere how long it is, by the last
  /// timestamps in it.
  private func duration(_ kind: ContainerKind, _ demuxer: Demuxer) throws(FetchError) -> Double? {
    if let stated = demuxer.statedDuration { return stated }
    guard kind == .mpegTS || kind == .mpegPS, availability.total != nil,
      !availability.comesOnlyForwards
    else { return nil }
    let log = AVLog()
    do throws(FetchError) {
      return try AVLog.collecting(into: log) { () throws(FetchError) -> Double? in
        let seeking = try Demuxer(SourceIO(bytes), isSeekable: true, log: log)
        defer { seeking.close() }
        try seeking.probe(log: log)
        return seeking.statedDuration
      }
    } catch {
      guard Self.isAboutTheSource(error.code) else { throw error }
      return nil
    }
  }

  private func protection(_ kind: ContainerKind) throws(FetchError) -> FetchError? {
    do throws(FetchError) {
      try ProtectionScan.check(bytes.reader, kind: kind)
      return nil
    } catch {
      guard error.code == .encrypted else { throw error }
      return error
    }
  }

  /// Damage that shows without reading the media: what the head and the index say against each
  /// other, and against the size.
  private func damage(
    _ kind: ContainerKind, _ place: SourceProbe.IndexPlace?
  ) throws(FetchError) -> FetchError? {
    if let line = log.demuxerErrors.first {
      return FetchError(
        .damaged, "the media is damaged or cut", reason: line,
        recovery: "fetch the file again, or from another source")
    }
    // The walk along fragments would ask for each of them.
    guard kind == .mp4, place == .first || place == .last, availability.total != nil,
      case .damaged(let error) = try ContainerStructure.examine(bytes.reader, kind: kind)
    else { return nil }
    return error
  }

  /// One name for a container where libavformat has several.
  private func containerName(_ demuxer: Demuxer) throws(FetchError) -> String {
    switch demuxer.formatName {
    case let name where name.contains("mp4"):
      let brand = Metadata(demuxer.formatContext?.pointee.metadata)["major_brand"]
      return brand == nil || brand == "qt  " ? "mov" : "mp4"
    case let name where name.contains("webm"):
      // DocType is one of the first elements of the EBML header (RFC 8794 11.2.6).
      let head = try bytes.read(at: 0, count: 64)
      return head.firstRange(of: Array("webm".utf8)) == nil ? "matroska" : "webm"
    case let name:
      return name.split(separator: ",").first.map(String.init) ?? name
    }
  }
}
