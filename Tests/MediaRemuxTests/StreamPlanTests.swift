// The plan as a table: streams in, fates or a refusal out. No media.

import FetchCore
import Testing

@testable import MediaRemux

@Suite("Stream plan")
struct StreamPlanTests {
  private static func video(_ codec: String, index: Int = 0) -> StreamDescription {
    var stream = StreamDescription(index: index, kind: .video, codec: codec)
    stream.width = 640
    stream.height = 360
    return stream
  }

  private static func audio(_ codec: String, index: Int = 1) -> StreamDescription {
    var stream = StreamDescription(index: index, kind: .audio, codec: codec)
    stream.sampleRate = 48_000
    return stream
  }

  private static func plan(
    _ streams: [StreamDescription], _ format: ContainerFormat = .mp4, source: String = "mov,mp4"
  ) throws(FetchError) -> StreamPlan {
    try StreamPlan(SourceDescription(format: source, streams: streams), to: format)
  }

  private static func refusal(
    _ streams: [StreamDescription], _ format: ContainerFormat, source: String = "mov,mp4"
  ) -> FetchError? {
    do throws(FetchError) {
      _ = try plan(streams, format, source: source)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    "h264", "hevc", "mpeg4", "mpeg2video", "mpeg1video", "vp9", "av1", "mjpeg",
  ])
  func mp4HoldsVideo(codec: String) throws {
    #expect(try Self.plan([Self.video(codec)]).kept.count == 1)
  }

  @Test(arguments: ["vp8", "prores", "dvvideo", "theora", "wmv2", "none", "rawvideo", "h263"])
  func mp4RefusesVideo(codec: String) {
    #expect(Self.refusal([Self.video(codec)], .mp4)?.code == .cannotPassthrough)
  }

  @Test(arguments: ["aac", "ac3", "eac3", "mp3", "alac", "flac", "opus", "dts", "vorbis"])
  func mp4HoldsAudio(codec: String) throws {
    #expect(try Self.plan([Self.audio(codec)]).kept.count == 1)
  }

  @Test(arguments: ["pcm_s16le", "amr_nb", "wmav2", "none", "aac_latm", "ac4"])
  func mp4RefusesAudio(codec: String) {
    #expect(Self.refusal([Self.audio(codec)], .mp4)?.code == .cannotPassthrough)
  }

  @Test(arguments: ["vp9", "av1", "vp8", "theora", "wmv2", "none"])
  func movRefusesVideo(codec: String) {
    #expect(Self.refusal([Self.video(codec)], .mov)?.code == .cannotPassthrough)
  }

  @Test(arguments: ["opus", "flac", "vorbis", "wmav2", "none", "adpcm_ms"])
  func movRefusesAudio(codec: String) {
    #expect(Self.refusal([Self.audio(codec)], .mov)?.code == .cannotPassthrough)
  }

  @Test func aRefusalNamesCodecContainerAndWhatWorks() {
    let vp9 = Self.refusal([Self.video("vp9")], .mov)
    #expect(vp9?.message == "mov cannot hold vp9 video (stream 0) unchanged")
    #expect(vp9?.recovery == "mp4 works: use -f mp4")
    let prores = Self.refusal([Self.video("prores")], .mp4)
    #expect(prores?.recovery == "mov works: use -f mov")
    let vp8 = Self.refusal([Self.video("vp8")], .mp4)
    #expect(vp8?.recovery == "keep the source")
  }

  @Test func soundOrPictureIsNeverDroppedForItsCodec() {
    let streams = [Self.video("h264"), Self.audio("aac"), Self.audio("wmav2", index: 2)]
    #expect(Self.refusal(streams, .mp4)?.code == .cannotPassthrough)
  }

  @Test(arguments: ["ipcm", "fpcm"], [ContainerFormat.mp4, .mov])
  func refusesSampleEntriesThatAreMisread(tag: String, format: ContainerFormat) {
    var stream = Self.audio("pcm_s16le")
    stream.tag = tag
    #expect(Self.refusal([Self.video("h264"), stream], format)?.code == .cannotPassthrough)
  }

  @Test func tellsEncryptedFromUnsupported() {
    var stream = Self.video("vp8")
    stream.isEncrypted = true
    #expect(Self.refusal([stream], .mp4)?.code == .encrypted)
  }

  @Test func emptyStreamsAreDroppedWithAWarning() throws {
    var empty = Self.audio("aac")
    empty.sampleRate = nil
    empty.hasMedia = false
    let plan = try Self.plan([Self.video("h264"), empty])
    #expect(plan.kept.map(\.description.index) == [0])
    #expect(plan.warnings.map(\.stream) == [1])
    #expect(plan.warnings.first?.message.contains("empty audio") == true)
  }

  @Test func nothingButEmptyStreamsIsDamage() {
    var empty = Self.video("h264")
    empty.hasMedia = false
    #expect(Self.refusal([empty], .mp4)?.code == .damaged)
    #expect(Self.refusal([], .mp4)?.code == .cannotPassthrough)
  }

  @Test func dataTracksAreDroppedByNameAndIndex() throws {
    var data = StreamDescription(index: 2, kind: .data, codec: "none")
    data.tag = "mebx"
    let plan = try Self.plan([Self.video("h264"), Self.audio("aac"), data])
    #expect(plan.reports.last?.action == .dropped)
    #expect(plan.reports.last?.codec == "mebx")
    let warning = try #require(plan.warnings.first)
    #expect(warning.warning == .streamDropped)
    #expect(warning.stream == 2)
    #expect(warning.message.contains("mebx"))
  }

  @Test func chapterAndTimecodeTracksAreNoLoss() throws {
    var chapters = StreamDescription(index: 2, kind: .data, codec: "bin_data")
    chapters.isChapterTrack = true
    var timecode = StreamDescription(index: 3, kind: .data, codec: "none")
    timecode.tag = "tmcd"
    timecode.timecode = "01:00:00:00"
    let plan = try Self.plan([Self.video("h264"), chapters, timecode])
    #expect(plan.warnings.isEmpty)
    #expect(plan.reports.last?.action == .kept)
  }

  /// Tag, handler, whether the source is QuickTime's; carried to mp4, carried to mov.
  @Test(arguments: [
    ("mebx", "meta", true, false, true), ("mebx", "meta", false, false, true),
    ("mett", "meta", true, true, true), ("gpmd", "meta", false, true, true),
    ("fdsc", "fdsc", false, true, true), ("fdsc", "fdsc", true, false, true),
    ("tmcd", "tmcd", true, true, true), ("rtp ", "hint", false, false, false),
  ])
  func dataGoesWhereItsSamplesMeanSomething(
    tag: String, handler: String, isQuickTime: Bool, mp4: Bool, mov: Bool
  ) throws {
    var data = StreamDescription(index: 1, kind: .data, codec: "none")
    data.tag = tag
    data.opaqueHandler = handler
    var source = SourceDescription(format: "mov,mp4", streams: [Self.video("h264"), data])
    source.isQuickTime = isQuickTime
    for (format, isCarried) in [(ContainerFormat.mp4, mp4), (.mov, mov)] {
      let plan = try StreamPlan(source, to: format)
      #expect(plan.entries[1].isOpaque == isCarried)
      #expect(plan.warnings.count == (isCarried ? 0 : 1))
    }
  }

  @Test(
    arguments: [
      ("mov_text", .kept, .kept), ("subrip", .converted, .converted),
      ("ass", .converted, .converted),
      ("ssa", .converted, .converted), ("webvtt", .converted, .converted),
      ("text", .converted, .converted), ("dvd_subtitle", .kept, .dropped),
      ("hdmv_pgs_subtitle", .dropped, .dropped), ("dvb_subtitle", .dropped, .dropped),
      ("xsub", .dropped, .dropped), ("dvb_teletext", .dropped, .dropped),
      ("eia_608", .dropped, .kept), ("ttml", .dropped, .dropped), ("none", .dropped, .dropped),
    ] as [(String, StreamReport.Action, StreamReport.Action)])
  func subtitlesAreKeptConvertedOrDropped(
    codec: String, inMp4: StreamReport.Action, inMov: StreamReport.Action
  ) throws {
    let subtitle = StreamDescription(index: 1, kind: .subtitle, codec: codec)
    for (format, action) in [(ContainerFormat.mp4, inMp4), (.mov, inMov)] {
      let plan = try Self.plan([Self.video("h264"), subtitle], format)
      let report = try #require(plan.reports.last)
      #expect(report.action == action)
      #expect((report.reason == nil) == (action == .kept))
      #expect(plan.warnings.map(\.stream) == (action == .kept ? [] : [1]))
      let name: FetchWarning.Name? =
        switch action {
        case .kept: nil
        case .converted: .streamConverted
        case .dropped: .streamDropped
        }
      #expect(plan.warnings.first?.warning == name)
    }
  }

  @Test(arguments: [
    ("subrip", true), ("webvtt", true), ("ass", false), ("hdmv_pgs_subtitle", false),
  ])
  func strictnessMindsDropsAndReducedTexts(codec: String, passes: Bool) throws {
    let plan = try Self.plan([
      Self.video("h264"), StreamDescription(index: 1, kind: .subtitle, codec: codec),
    ])
    #expect((plan.refusalOfLoss == nil) == passes)
  }

  @Test func pictureSubtitlesAreDroppedForBeingPictures() throws {
    let subtitle = StreamDescription(index: 1, kind: .subtitle, codec: "hdmv_pgs_subtitle")
    let plan = try Self.plan([Self.video("h264"), subtitle])
    #expect(plan.reports.last?.reason?.contains("pictures, which cannot become text") == true)
  }

  @Test func textIsDroppedWhereLibavcodecCannotConvertIt() throws {
    var subtitle = StreamDescription(index: 1, kind: .subtitle, codec: "subrip")
    subtitle.isDecodable = false
    #expect(try Self.plan([Self.video("h264"), subtitle]).reports.last?.action == .dropped)
  }

  @Test func aCoverIsNotTheFilm() throws {
    var cover = Self.video("mjpeg", index: 0)
    cover.isAttachedPicture = true
    let film = Self.video("h264", index: 1)
    #expect(try Self.plan([cover, film]).kept.count == 2)
    let mov = try Self.plan([cover, film], .mov)
    #expect(mov.kept.filter { $0.isTrack(in: .mov) }.map(\.description.index) == [1])
    #expect(mov.reports.first?.reason == "kept among the metadata")
    var webp = cover
    webp.codec = "webp"
    for format in ContainerFormat.allCases {
      let plan = try Self.plan([webp, film], format)
      #expect(plan.kept.map(\.description.index) == [1])
      #expect(plan.warnings.first?.message.contains("cover") == true)
    }
    var chapterPicture = cover
    chapterPicture.isTimedThumbnail = true
    #expect(try Self.plan([chapterPicture, film]).warnings.map(\.warning) == [.streamDropped])
    #expect(Self.refusal([cover], .mp4)?.code == .cannotPassthrough)
  }

  @Test(arguments: [ContainerFormat.mp4, .mov])
  func hevcIsTaggedForApplePlayers(format: ContainerFormat) throws {
    var stream = Self.video("hevc")
    stream.tag = "hev1"
    #expect(try Self.plan([stream], format).kept.first?.sampleEntry == "hvc1")
    stream.lacksParameterSets = true
    #expect(try Self.plan([stream], format).kept.first?.sampleEntry == "hev1")
  }

  @Test func dolbyVisionKeepsItsSampleEntryInMp4() throws {
    var stream = Self.video("hevc")
    stream.tag = "dvh1"
    stream.dolbyVisionProfile = 5
    #expect(try Self.plan([stream]).kept.first?.sampleEntry == "dvh1")
    #expect(Self.refusal([stream], .mov)?.code == .cannotPassthrough)
    stream.tag = "hvc1"
    stream.dolbyVisionProfile = 8
    #expect(try Self.plan([stream]).kept.first?.sampleEntry == "hvc1")
  }

  @Test func refusesVideoWithoutPresentationTimes() {
    var stream = Self.video("hevc")
    stream.lacksPresentationTimes = true
    #expect(Self.refusal([stream], .mp4, source: "avi")?.code == .cannotPassthrough)
    var raw = SourceDescription(format: "h264", streams: [Self.video("h264")])
    raw.hasTimestamps = false
    #expect(throws: FetchError.self) { try StreamPlan(raw, to: .mp4) }
  }

  @Test(arguments: ["h264", "mpeg4", "mpeg2video", "mpeg1video"])
  func rebuildsPresentationTimesWhereThePicturesTellThem(codec: String) throws {
    var stream = Self.video(codec)
    #expect(try Self.plan([stream], source: "avi").kept.first?.ordersPictures == true)
    #expect(try Self.plan([stream], source: "avi").warnings.isEmpty)
    #expect(try Self.plan([stream]).kept.first?.ordersPictures == false)
    stream.lacksPresentationTimes = true
    let plan = try Self.plan([stream], source: "avi")
    #expect(plan.reports.first?.action == .kept)
    #expect(plan.reports.first?.reason?.contains("rebuilt") == true)
    #expect(plan.warnings.map(\.warning) == [.timestampsRepaired])
  }

  @Test func rarePlaybackIsSaid() throws {
    #expect(try Self.plan([Self.audio("vorbis")]).warnings.first?.warning == .compatibility)
    #expect(try Self.plan([Self.video("mjpeg")]).warnings.first?.warning == .compatibility)
    #expect(try Self.plan([Self.video("mjpeg")], .mov).warnings.isEmpty)
  }
}
