// The finished index, amended where libavformat's muxer cannot say what the source says: exact edit
// lists, and boxes of a sample entry that it doesn't know. Pure: bytes in, bytes out.

import FetchCore

/// What is to be changed in one track of the output.
struct TrackAmendment: Hashable {
  /// Ticks of the track's own timescale, counted from its first sample's decoding.
  struct Presentation: Hashable {
    /// How long nothing is shown at first, in the track's timescale.
    var delay: Int64
    /// Where in the media the presentation begins.
    var mediaStart: Int64
    /// How long it goes on.
    var duration: Int64
  }

  var presentation: Presentation?
  /// Replaces the type of the sample entry.
  var sampleEntry: String?
  /// Whole boxes for the sample entry, added where it has none of the type.
  var entryBoxes: [[UInt8]] = []
  /// Whole boxes for the sample entry, each in place of the one that has its type.
  var replacedBoxes: [[UInt8]] = []

  /// The boxes that libavformat 59 drops or doesn't know, and that stay true as the samples are
  /// copied unchanged.
  static let carriedBoxes = [
    "clap", "amve", "mdcv", "clli", "cclv", "dvcC", "dvvC", "dvwC", "lhvC", "vexu", "hfov", "st3d",
    "sv3d",
  ]
}

enum IndexAmendment {
  /// Amends a whole `moov` box; `tracks` are in the order of its `trak` boxes, and may be fewer.
  ///
  /// - Returns: nil where the box can't be taken apart; it is then to be left as it is.
  static func apply(_ tracks: [TrackAmendment], to moov: [UInt8]) -> [UInt8]? {
    guard let whole = moov.boxes(in: 0..<moov.count).first, whole.type == "moov",
      let header = moov.box(["mvhd"], in: whole.payload)
    else { return nil }
    let isLong = moov.integer(header.payload.lowerBound, 1) == 1
    let at = header.payload.lowerBound + (isLong ? 20 : 12)
    let movieTimescale = moov.integer(at, 4)
    guard movieTimescale > 0 else { return nil }

    var payload: [UInt8] = []
    payload.reserveCapacity(moov.count + 1024)
    var number = 0
    var headerAt = 0
    var longest: UInt64 = 0
    for box in moov.boxes(in: whole.payload) {
      var bytes = Array(moov[box.range])
      if box.type == "mvhd" { headerAt = payload.count + 8 }
      if box.type == "trak" {
        if number < tracks.count {
          guard let amended = amend(bytes, tracks[number], movieTimescale) else { return nil }
          bytes = amended
        }
        longest = max(longest, trackDuration(bytes))
        number += 1
      }
      payload += bytes
    }
    guard number >= tracks.count else { return nil }
    setDuration(longest, &payload, at: headerAt + (isLong ? 24 : 16), isLong: isLong)
    return .box("moov", payload)
  }

  private static func trackDuration(_ trak: [UInt8]) -> UInt64 {
    guard let tkhd = trak.box(["trak", "tkhd"], in: 0..<trak.count) else { return 0 }
    let at = tkhd.payload.lowerBound
    return trak.integer(at, 1) == 1 ? trak.integer(at + 28, 8) : trak.integer(at + 20, 4)
  }

  private static func setDuration(
    _ duration: UInt64, _ bytes: inout [UInt8], at: Int, isLong: Bool
  ) {
    if isLong {
      bytes.set(duration, at: at, bytes: 8)
    } else {
      // The muxer chose the short form for a longer or equal time.
      bytes.set(UInt32(clamping: duration), at: at, bytes: 4)
    }
  }

  private static func amend(
    _ trak: [UInt8], _ amendment: TrackAmendment, _ movieTimescale: UInt64
  ) -> [UInt8]? {
    guard let whole = trak.boxes(in: 0..<trak.count).first,
      let mdhd = trak.box(["mdia", "mdhd"], in: whole.payload)
    else { return nil }
    let isLong = trak.integer(mdhd.payload.lowerBound, 1) == 1
    let timescale = trak.integer(mdhd.payload.lowerBound + (isLong ? 20 : 12), 4)
    guard timescale > 0 else { return nil }

    var payload: [UInt8] = []
    for box in trak.boxes(in: whole.payload) {
      switch box.type {
      case "tkhd":
        var bytes = Array(trak[box.range])
        var edits: [UInt8] = []
        if let presentation = amendment.presentation {
          let (list, total) = editList(presentation, timescale, movieTimescale)
          edits = list
          let isLong = bytes.integer(8, 1) == 1
          setDuration(total, &bytes, at: 8 + (isLong ? 28 : 20), isLong: isLong)
        }
        payload += bytes
        payload += edits
      case "edts" where amendment.presentation != nil:
        break
      case "mdia":
        payload += rebuild(trak, box, ["minf", "stbl", "stsd"]) { amendSamples($0, amendment) }
      default:
        payload += trak[box.range]
      }
    }
    return .box("trak", payload)
  }

  /// Builds a box anew with the box at the end of `path` below it changed.
  private static func rebuild(
    _ bytes: [UInt8], _ box: Box, _ path: [String], _ change: ([UInt8]) -> [UInt8]
  ) -> [UInt8] {
    guard let next = path.first else { return change(Array(bytes[box.range])) }
    var payload: [UInt8] = []
    for child in bytes.boxes(in: box.payload) {
      if child.type == next {
        payload += rebuild(bytes, child, Array(path.dropFirst()), change)
      } else {
        payload += bytes[child.range]
      }
    }
    return .box(box.type, payload)
  }

  /// Changes the first sample entry of a whole `stsd`.
  private static func amendSamples(_ stsd: [UInt8], _ amendment: TrackAmendment) -> [UInt8] {
    guard stsd.count > 16, let entry = stsd.boxes(in: 16..<stsd.count).first else { return stsd }
    if amendment.sampleEntry == nil, amendment.entryBoxes.isEmpty, amendment.replacedBoxes.isEmpty {
      return stsd
    }
    var payload = Array(stsd[entry.payload])
    for box in amendment.replacedBoxes where payload.count >= 78 {
      let old = payload.boxes(in: 78..<payload.count).first { $0.type == box.fourCharacters(4) }
      if let old { payload.replaceSubrange(old.range, with: box) }
    }
    if !amendment.entryBoxes.isEmpty, payload.count >= 78 {
      let present = Set(payload.boxes(in: 78..<payload.count).map(\.type))
      // QuickTime ends the list with four zero bytes, which must stay last.
      let inner = payload.boxes(in: 78..<payload.count)
      let end = inner.last?.range.upperBound ?? 78
      var added: [UInt8] = []
      for box in amendment.entryBoxes where !present.contains(box.fourCharacters(4)) {
        added += box
      }
      payload.insert(contentsOf: added, at: end)
    }
    var result = Array(stsd[8..<16])
    result += [UInt8].box(amendment.sampleEntry ?? entry.type, payload)
    result += stsd[entry.range.upperBound...]
    return .box("stsd", result)
  }

  /// An `edts` box and the track's duration in the movie's timescale.
  private static func editList(
    _ presentation: TrackAmendment.Presentation, _ timescale: UInt64, _ movieTimescale: UInt64
  ) -> (bytes: [UInt8], total: UInt64) {
    func movie(_ ticks: Int64) -> UInt64 {
      let (high, low) = UInt64(max(ticks, 0)).multipliedFullWidth(by: movieTimescale)
      guard high < timescale else { return UInt64(UInt32.max) }
      let (quotient, remainder) = timescale.dividingFullWidth((high, low))
      return remainder >= timescale - remainder && quotient < .max ? quotient + 1 : quotient
    }
    let delay = movie(presentation.delay)
    let total = movie(max(presentation.delay, 0).clampedSum(max(presentation.duration, 0)))
    let duration = total > delay ? total - delay : 0
    var entries: [(duration: UInt64, mediaTime: Int64)] = []
    if delay > 0 { entries.append((delay, -1)) }
    entries.append((duration, presentation.mediaStart))
    let isLong = entries.contains {
      $0.duration > UInt64(Int32.max) || $0.mediaTime > Int64(Int32.max)
    }
    var payload: [UInt8] = [isLong ? 1 : 0, 0, 0, 0]
    payload.append(UInt32(entries.count), bytes: 4)
    for entry in entries {
      payload.append(entry.duration, bytes: isLong ? 8 : 4)
      payload.append(entry.mediaTime, bytes: isLong ? 8 : 4)
      payload.append(UInt32(0x0001_0000), bytes: 4)
    }
    return (.box("edts", .box("elst", payload)), total)
  }
}
