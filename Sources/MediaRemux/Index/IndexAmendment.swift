// The finished index, amended where libavformat's muxer cannot say what the source says: exact edit
// lists, boxes of a sample entry that it doesn't know, and what the source's tracks and film say of
// themselves. Pure: bytes in, bytes out.

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
  /// Whole colour boxes that come behind the muxer's own.
  var colours: [[UInt8]] = []
  /// Whole boxes for the track's user data, where it has none of the type.
  var userData: [[UInt8]] = []
  /// The track's own tags, where no box of the source has them.
  var tags: MetadataBox?
  /// What the source's track says of itself; nil where the source has no such tracks.
  var carriage: TrackCarriage?
  /// Whether the samples go under the source's own description.
  var isOpaque = false
  /// How many samples there are, where they are the source's one by one.
  var sampleCount: Int64?
  /// The track's language as three letters, for a header that names none.
  ///
  /// libavformat 59 knows only the languages of the old Macintosh where it writes QuickTime.
  var language: String?

  /// The boxes that libavformat 59 drops or doesn't know, and that stay true as the samples are
  /// copied unchanged.
  static let carriedBoxes = [
    "clap", "amve", "mdcv", "clli", "cclv", "dvcC", "dvvC", "dvwC", "lhvC", "vexu", "hfov", "st3d",
    "sv3d", "chnl", "srat", "SA3D", "btrt",
  ]

  /// Configurations that libavformat 59 makes anew from the first samples or from what it read,
  /// where the source says more (Atmos in `dec3`), or the same in other words.
  static let sourceWins = [
    "esds", "dec3", "dac3", "dOps", "dfLa", "alac", "ddts", "dmlp", "btrt",
  ]
}

/// How the index is amended as a whole.
struct IndexAmendment: Hashable {
  /// In the order of the output's `trak` boxes; there may be fewer.
  var tracks: [TrackAmendment] = []
  /// What is said of the whole film; nil leaves that to the muxer.
  var movie: MovieCarriage?
  /// Whether user data of the source's tracks is copied.
  var copiesMetadata = true
  /// Handler types of which the source shows a track.
  var shownKinds: Set<String> = []
  var format: ContainerFormat

  /// Amends a whole `moov` box.
  ///
  /// - Returns: nil where the box can't be taken apart; it is then to be left as it is.
  func apply(to moov: [UInt8]) -> [UInt8]? {
    guard let whole = moov.boxes(in: 0..<moov.count).first, whole.type == "moov",
      let header = moov.box(["mvhd"], in: whole.payload)
    else { return nil }
    let isLong = moov.integer(header.payload.lowerBound, 1) == 1
    let at = header.payload.lowerBound + (isLong ? 20 : 12)
    let movieTimescale = moov.integer(at, 4)
    guard movieTimescale > 0 else { return nil }
    let boxes = moov.boxes(in: whole.payload)
    let ids = outputIDs(boxes.filter { $0.type == "trak" }.map { Array(moov[$0.range]) })

    var payload: [UInt8] = []
    payload.reserveCapacity(moov.count + (movie?.size ?? 0) + 1024)
    var number = 0
    var headerAt = 0
    var longest: UInt64 = 0
    var userData: [UInt8] = []
    for box in boxes {
      var bytes = Array(moov[box.range])
      switch box.type {
      case "mvhd":
        headerAt = payload.count + 8
        if let movie { bytes = movie.header(bytes) }
      case "trak":
        if number < tracks.count {
          guard let amended = amend(bytes, tracks[number], movieTimescale, ids) else { return nil }
          bytes = amended
        }
        longest = max(longest, Self.trackDuration(bytes))
        number += 1
      case "udta" where movie != nil:
        userData = bytes
        continue
      default: break
      }
      payload += bytes
    }
    guard number >= tracks.count else { return nil }
    if let movie { payload += movie.tail(userData, in: format) }
    Self.setDuration(longest, &payload, at: headerAt + (isLong ? 24 : 16), isLong: isLong)
    return .box("moov", payload)
  }

  /// The output's track ids by the source's.
  private func outputIDs(_ traks: [[UInt8]]) -> [UInt64: UInt64] {
    var ids: [UInt64: UInt64] = [:]
    for (trak, amendment) in zip(traks, tracks) {
      guard let source = amendment.carriage?.id, source != 0,
        let tkhd = trak.box(["trak", "tkhd"], in: 0..<trak.count)
      else { continue }
      let isLong = trak.integer(tkhd.payload.lowerBound, 1) == 1
      ids[source] = trak.integer(tkhd.payload.lowerBound + (isLong ? 20 : 12), 4)
    }
    return ids
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

  private func amend(
    _ trak: [UInt8], _ amendment: TrackAmendment, _ movieTimescale: UInt64,
    _ ids: [UInt64: UInt64]
  ) -> [UInt8]? {
    guard let whole = trak.boxes(in: 0..<trak.count).first,
      let mdhd = trak.box(["mdia", "mdhd"], in: whole.payload)
    else { return nil }
    let isLong = trak.integer(mdhd.payload.lowerBound, 1) == 1
    let timescale = trak.integer(mdhd.payload.lowerBound + (isLong ? 20 : 12), 4)
    guard timescale > 0 else { return nil }
    let rewrite = amendment.carriage.map {
      TrackRewrite(
        carriage: $0, format: format, ids: ids, sampleCount: amendment.sampleCount,
        isOpaque: amendment.isOpaque, copiesMetadata: copiesMetadata,
        copiesFlags: showsTracks && showsOne(of: $0))
    }

    var payload: [UInt8] = []
    var userData: [UInt8] = []
    for box in trak.boxes(in: whole.payload) {
      var bytes = Array(trak[box.range])
      switch box.type {
      case "tkhd":
        var edits: [UInt8] = []
        if let presentation = amendment.presentation {
          let (list, total) = Self.editList(presentation, timescale, movieTimescale)
          edits = list
          let isLong = bytes.integer(8, 1) == 1
          Self.setDuration(total, &bytes, at: 8 + (isLong ? 28 : 20), isLong: isLong)
        }
        payload += rewrite?.header(bytes) ?? bytes
        payload += edits
        if let rewrite {
          let written = trak.box(["tref"], in: whole.payload).map { Array(trak[$0.range]) }
          payload += rewrite.references(written ?? [])
        }
      case "edts" where amendment.presentation != nil: break
      case "tref" where rewrite != nil: break
      case "mdia":
        var samples = Self.rebuild(trak, box, ["minf", "stbl", "stsd"]) {
          Self.amendSamples($0, amendment, handler: trak)
        }
        if let language = amendment.language { Self.set(language: language, in: &samples) }
        payload += rewrite?.media(samples) ?? samples
      case "udta": userData = bytes
      default: payload += bytes
      }
    }
    userData = Self.added(amendment.userData, to: userData)
    let tags = amendment.tags?.box(isISO: format == .mp4) ?? []
    return .box("trak", payload + (rewrite?.tail(userData) ?? userData) + tags)
  }

  /// Names the language in a whole `mdia` whose header names none (ISO 14496-12 8.4.2: three letters,
  /// five bits each; QuickTime reads them as well, from 0x400 on).
  private static func set(language: String, in mdia: inout [UInt8]) {
    let unspecified: UInt64 = 0x7FFF
    guard let header = mdia.box(["mdhd"], in: 8..<mdia.count) else { return }
    let at = header.payload.lowerBound + (mdia.integer(header.payload.lowerBound, 1) == 1 ? 32 : 20)
    let letters = language.utf8
    guard mdia.integer(at, 2) == unspecified, letters.count == 3,
      letters.allSatisfy({ (0x61...0x7A).contains($0) })
    else { return }
    mdia.set(letters.reduce(UInt64(0)) { $0 << 5 | UInt64($1 - 0x60) }, at: at, bytes: 2)
  }

  /// A `udta` with more boxes, where it has none of their types.
  private static func added(_ boxes: [[UInt8]], to userData: [UInt8]) -> [UInt8] {
    guard !boxes.isEmpty else { return userData }
    let types = Set(UserData.children(of: userData).map { $0.fourCharacters(4) })
    let more = boxes.filter { !types.contains($0.fourCharacters(4)) }.flatMap { $0 }
    return more.isEmpty ? userData : .box("udta", Array(userData.dropFirst(8)) + more)
  }

  /// Whether the source shows any of the film's tracks; where none is enabled, the muxer's choice
  /// is the better one.
  private var showsTracks: Bool {
    tracks.contains { $0.carriage?.header?.isEnabled == true && !$0.isOpaque }
  }

  /// False where the tracks of this kind that the source shows were left out: then the muxer's
  /// choice among the others holds.
  private func showsOne(of track: TrackCarriage) -> Bool {
    !shownKinds.contains(track.handlerType)
      || tracks.contains {
        $0.carriage?.handlerType == track.handlerType && $0.carriage?.header?.isEnabled == true
      }
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
  private static func amendSamples(
    _ stsd: [UInt8], _ amendment: TrackAmendment, handler trak: [UInt8]
  ) -> [UInt8] {
    guard stsd.count > 16, let entry = stsd.boxes(in: 16..<stsd.count).first else { return stsd }
    if amendment.sampleEntry == nil, amendment.entryBoxes.isEmpty, amendment.replacedBoxes.isEmpty,
      amendment.colours.isEmpty
    {
      return stsd
    }
    var payload = Array(stsd[entry.payload])
    let hdlr = trak.box(["trak", "mdia", "hdlr"], in: 0..<trak.count)
    let handler = hdlr.map { trak.fourCharacters($0.payload.lowerBound + 8) } ?? "vide"
    if let begin = SampleEntry.boxesBegin(in: payload, handler: handler) {
      change(&payload, from: begin, amendment)
    }
    var result = Array(stsd[8..<16])
    result += [UInt8].box(amendment.sampleEntry ?? entry.type, payload)
    result += stsd[entry.range.upperBound...]
    return .box("stsd", result)
  }

  private static func change(
    _ payload: inout [UInt8], from begin: Int, _ amendment: TrackAmendment
  ) {
    for box in amendment.replacedBoxes {
      let old = payload.boxes(in: begin..<payload.count).first { $0.type == box.fourCharacters(4) }
      if let old { payload.replaceSubrange(old.range, with: box) }
    }
    let inner = payload.boxes(in: begin..<payload.count)
    let present = Set(inner.map(\.type))
    let colours = Set(inner.filter { $0.type == "colr" }.map { Array(payload[$0.range]) })
    var added = amendment.entryBoxes.filter { !present.contains($0.fourCharacters(4)) }
    added += amendment.colours.filter { !colours.contains($0) }
    // QuickTime ends the list with four zero bytes, which must stay last.
    let end = inner.last?.range.upperBound ?? begin
    payload.insert(contentsOf: added.flatMap { $0 }, at: end)
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
