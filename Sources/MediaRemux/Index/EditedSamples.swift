// What the edit lists of an ISO source hide: libavformat takes hidden samples out of its index before
// anybody can count them. Here the index is compared with the sample tables, and what is missing must
// lie outside a sane edit list. Runs on the remux thread, before the output exists.

import CFFmpeg
import FetchCore

/// The samples that a source's edit lists leave out, judged.
struct EditedSamples {
  private(set) var warnings: [FetchWarning] = []

  /// Compares each kept stream's index with its tables.
  ///
  /// - Parameter openUnedited: opens the source once more, without its edit lists; called only where
  ///   something is missing, or where it can't be told otherwise.
  /// - Throws: `.damaged` where an edit list doesn't explain what is missing, or is no list of times;
  ///   `.cannotPassthrough` where it shows media twice.
  init(
    _ plan: StreamPlan, _ demuxer: Demuxer, _ index: SourceIndex,
    openUnedited: () throws(FetchError) -> Demuxer
  ) throws(FetchError) {
    var unedited: Demuxer?
    defer { unedited?.close() }
    let streams = demuxer.streams
    for entry in plan.entries
    where entry.isSelected && (entry.action != .dropped || entry.description.kind.isMedia)
      && !entry.description.isAttachedPicture
    {
      let stream = streams[entry.description.index]
      let listed = SampleList(stream)
      if entry.description.kind == .video, listed.distinct < listed.count {
        // An edit list that shows media twice makes libavformat give packets twice.
        throw FetchError(
          .cannotPassthrough,
          "the edit list of stream \(entry.description.index) needs parts of the media twice,"
            + " which cannot be carried unchanged",
          recovery: "keep the source")
      }
      guard !index.isFragmented,
        let track = index.tracks.first(where: { $0.id == Int(stream.pointee.id) })
      else { continue }
      if entry.description.kind.isMedia,
        let wild = track.edits.first(where: { !Self.isSane($0, of: track, stream) })
      {
        throw Self.damaged(
          entry.description, "an edit of \(wild.duration) ticks at \(wild.mediaTime) is no time")
      }
      if entry.description.kind.isMedia, entry.action != .dropped,
        let odd = track.edits.first(where: { $0.mediaTime >= 0 && $0.rate != 0x0001_0000 })
      {
        throw FetchError(
          .cannotPassthrough,
          "the edit list of stream \(entry.description.index) plays the media at another speed"
            + " (\(Double(odd.rate) / 65536)), which cannot be carried unchanged",
          recovery: "keep the source")
      }
      // A stream may be taken for empty only where its tables are.
      let announced = max(track.samples ?? 0, stream.pointee.nb_frames)
      if entry.description.kind.isMedia, announced > 0, listed.count == 0 {
        throw Self.damaged(
          entry.description, "the index lists \(announced) samples, and shows none of them")
      }
      if entry.action == .dropped { continue }
      if !track.isReadByChunk, let samples = track.samples, listed.distinct >= samples { continue }
      if track.isReadByChunk, track.edits.isEmpty { continue }
      if unedited == nil {
        // Its log lines say nothing new.
        unedited = try AVLog.collecting(into: AVLog()) { () throws(FetchError) -> Demuxer in
          try openUnedited()
        }
      }
      guard let all = unedited?.streams, all.count == streams.count else {
        throw Self.damaged(entry.description, "its index is read differently a second time")
      }
      let whole = SampleList(all[entry.description.index])
      guard entry.description.kind.isMedia else {
        // Nobody's film depends on it, so it is named and not refused. What lasts no time is outside by
        // rounding; of subtitles, it is the end of the last one.
        let isEndMark = entry.description.kind == .subtitle && whole.filled == listed.filled
        if whole.distinct > listed.distinct, !isEndMark {
          warn(of: whole.distinct - listed.distinct, "samples", entry.description)
        }
        continue
      }
      try judge(track, listed, whole, entry.description)
    }
  }

  private mutating func judge(
    _ track: SourceTrack, _ listed: SampleList, _ all: SampleList, _ stream: StreamDescription
  ) throws(FetchError) {
    if !track.isReadByChunk, let samples = track.samples, all.count < samples {
      throw Self.damaged(
        stream, "the index lists \(samples) samples, and only \(all.count) of them can be found")
    }
    let missing = all.distinct - listed.distinct
    guard missing > 0 else { return }
    let outside = EditList(track).samplesOutside(all)
    guard missing <= outside else {
      throw Self.damaged(
        stream,
        "\(missing) of \(all.distinct) samples are missing, and its edit list explains \(outside)")
    }
    let unit = track.isReadByChunk ? "chunks of samples" : "samples"
    warn(of: missing, unit, stream)
  }

  private mutating func warn(of missing: Int64, _ unit: String, _ stream: StreamDescription) {
    warnings.append(
      FetchWarning(
        .propertyLost, stream: stream.index,
        "\(missing) \(unit) outside the edit list of stream \(stream.index) are left out"))
  }

  /// Whether an edit's numbers can be reckoned with, in the track's ticks too.
  private static func isSane(
    _ edit: SourceTrack.Edit, of track: SourceTrack, _ stream: UnsafeMutablePointer<AVStream>
  ) -> Bool {
    guard edit.mediaTime >= -1, edit.mediaTime <= MediaTime.limit else { return false }
    if edit.isOpen || track.movieTimescale == 0 { return true }
    return MediaTime.ticks(
      edit.duration, perSecond: track.movieTimescale, in: stream.pointee.time_base) != nil
  }

  private static func damaged(_ stream: StreamDescription, _ reason: String) -> FetchError {
    FetchError(
      .damaged, "the edit list or index of stream \(stream.index) is damaged", reason: reason,
      recovery: "fetch the file again, or from another source")
  }
}

/// A stream's index entries, as libavformat has them.
struct SampleList {
  /// Decoding times in ticks of `timescale`, rising.
  var times: [Int64] = []
  /// Ticks a second.
  var timescale: UInt64 = 1
  var count: Int64 = 0
  /// How many of them are different samples.
  var distinct: Int64 = 0
  /// How many are more than the two bytes of an empty text (3GPP TS 26.245 5.17).
  var filled: Int64 = 0

  init(times: [Int64], timescale: UInt64) {
    self.times = times
    self.timescale = timescale
    count = Int64(times.count)
    distinct = count
  }

  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let entries = avformat_index_get_entries_count(stream)
    let base = stream.pointee.time_base
    self.init(times: [], timescale: base.num == 1 && base.den > 0 ? UInt64(base.den) : 1)
    count = Int64(entries)
    times.reserveCapacity(Int(entries))
    var last: Int64 = -1
    var isRising = true
    for index in 0..<entries {
      guard let sample = avformat_index_get_entry(stream, index) else { continue }
      times.append(sample.pointee.timestamp)
      if cff_index_size(sample) > 2 { filled += 1 }
      if sample.pointee.pos <= last, cff_index_size(sample) > 0 { isRising = false }
      last = sample.pointee.pos
    }
    distinct = count
    if isRising { return }
    var seen = Set<Int64>()
    for index in 0..<entries {
      guard let sample = avformat_index_get_entry(stream, index), cff_index_size(sample) > 0
      else { continue }
      if !seen.insert(sample.pointee.pos).inserted { distinct -= 1 }
    }
  }
}

/// The stretches of a track's media that its edits show.
///
/// Pure.
struct EditList {
  /// Where each begins, in ticks of the track, and how many seconds it lasts.
  private let stretches: [(start: Double, seconds: Double)]

  /// How many samples before an edit's end may be hidden by being shown later than they are decoded.
  private static let deepestReordering = 64.0

  init(_ track: SourceTrack) {
    let timescale = Double(max(track.movieTimescale, 1))
    stretches = track.edits.filter { $0.mediaTime >= 0 }.map {
      (Double($0.mediaTime), $0.isOpen ? .infinity : Double($0.duration) / timescale)
    }
  }

  /// How many samples at most lie outside of what is shown.
  func samplesOutside(_ list: SampleList) -> Int64 {
    guard let first = list.times.first, let last = list.times.last, !stretches.isEmpty else {
      return 0
    }
    let usual = max((Double(last) - Double(first)) / Double(max(list.times.count - 1, 1)), 1)
    let shown = stretches.map { stretch in
      // Pictures are decoded before they are shown, which is what the times here say.
      (
        start: stretch.start,
        end: stretch.start + stretch.seconds * Double(list.timescale)
          - usual * Self.deepestReordering
      )
    }
    var outside: Int64 = 0
    for (index, time) in list.times.enumerated() {
      let begin = Double(time)
      let end = index + 1 < list.times.count ? Double(list.times[index + 1]) : begin + usual
      if !shown.contains(where: { end > $0.start && begin < $0.end }) { outside += 1 }
    }
    return outside
  }
}
