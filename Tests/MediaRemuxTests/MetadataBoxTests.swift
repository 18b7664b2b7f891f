// Metadata as boxes: read, made, merged. Bytes in, bytes out.

import FetchCore
import Testing

@testable import MediaRemux

@Suite("Metadata boxes")
struct MetadataBoxTests {
  private static func text(_ text: String) -> [UInt8] {
    .box("data", [0, 0, 0, 1, 0, 0, 0, 0] + Array(text.utf8))
  }

  private static func quickTimeText(_ type: String, _ text: String, language: UInt16 = 0x55C4)
    -> [UInt8]
  {
    var payload: [UInt8] = []
    payload.append(UInt16(text.utf8.count), bytes: 2)
    payload.append(language, bytes: 2)
    return .box(type, payload + Array(text.utf8))
  }

  private static func tag(_ key: String, _ value: String) -> MetadataTag {
    MetadataTag(key: key, value: value)
  }

  @Test(arguments: [true, false])
  func namedKeysSurviveBothForms(isISO: Bool) throws {
    var box = MetadataBox(handler: "mdta")
    box.set("com.example.one", to: "1")
    box.set("two", to: "2")
    box.set("com.example.one", to: "3")
    let bytes = box.box(isISO: isISO)
    #expect(bytes.integer(0, 4) == UInt64(bytes.count))
    let read = try #require(MetadataBox(bytes))
    #expect(read == box)
    #expect(read.names == ["com.example.one", "two"])
    #expect(read.items.count == 2)
    #expect((bytes.fourCharacters(12) == "hdlr") == !isISO)
  }

  @Test func aDamagedMetaIsNotTakenApart() throws {
    var box = MetadataBox(handler: "mdir")
    box.add("©nam", text: "T")
    box.add(covers: [CoverPicture(kind: .png, bytes: [1, 2, 3])])
    let bytes = box.box(isISO: true)
    for count in 0..<bytes.count { _ = MetadataBox(Array(bytes.prefix(count))) }
    #expect(MetadataBox(.box("meta", [0, 0, 0, 0] + .box("hdlr", []))) == nil)
    #expect(MetadataBox(.box("udta", Array(bytes.dropFirst(8)))) == nil)
  }

  @Test func whatTheMuxerSaysWinsOverTheSource() throws {
    var movie = MovieCarriage()
    movie.userData = [.box("XMP_", [1]), .box("loci", [2])]
    var items = MetadataBox(handler: "mdir")
    items.add("©nam", text: "old")
    items.add("----", text: "kept")
    movie.items = items
    var made = MetadataBox(handler: "mdir")
    made.add("©nam", text: "new")
    let written = [UInt8].box("udta", .box("loci", [3]) + made.box(isISO: true))
    let tail = movie.tail(written, in: .mp4)
    let children = UserData.children(of: tail)
    #expect(children.map { $0.fourCharacters(4) } == ["loci", "XMP_", "meta"])
    #expect(children[0] == .box("loci", [3]))
    let merged = try #require(MetadataBox(children[2]))
    #expect(merged.items.map { $0.fourCharacters(4) } == ["©nam", "----"])
    #expect(merged.items.first == .box("©nam", Self.text("new")))
  }

  @Test func quickTimesTextsBecomeItunesItemsInMp4Only() throws {
    var movie = MovieCarriage()
    let title = Self.quickTimeText("©nam", "Tüte")
    let macintosh = Self.quickTimeText("©ART", "ü", language: 0)
    let camera = Self.quickTimeText("©xyz", "+1+2/")
    movie.userData = [title, macintosh, camera]
    let mov = UserData.children(of: movie.tail([], in: .mov))
    #expect(mov == [title, macintosh, camera])
    let mp4 = UserData.children(of: movie.tail([], in: .mp4))
    #expect(mp4.prefix(2) == [macintosh, camera])
    let items = try #require(mp4.last.flatMap { MetadataBox($0) })
    #expect(items.items == [.box("©nam", Self.text("Tüte"))])
  }

  @Test func iTunesItemsStandBeforeNamedKeys() {
    var movie = MovieCarriage()
    movie.items = MetadataBox(handler: "mdir")
    movie.items?.add("©nam", text: "T")
    movie.keys = MetadataBox(handler: "mdta")
    movie.keys?.set("a.b", to: "c")
    let tail = movie.tail([], in: .mp4)
    #expect(tail.boxes(in: 0..<tail.count).map(\.type) == ["udta", "meta"])
  }

  // MARK: Where a key goes

  /// Key, value, whether mp4's and mov's muxer write it.
  @Test(arguments: [
    ("title", "T", true, true), ("TITLE", "T", true, true), ("composer", "C", true, false),
    ("com.apple.quicktime.make", "A", false, false), ("director", "D", false, false),
    ("track", "3/9", true, false), ("track", "A1", false, false), ("track", "0/9", false, false),
    ("tmpo", "120", true, false), ("tmpo", "fast", false, false), ("make", "M", false, true),
  ])
  func aKeyGoesToTheMuxerOnlyWhereItWritesIt(key: String, value: String, mp4: Bool, mov: Bool) {
    for (format, isWritten) in [(ContainerFormat.mp4, mp4), (.mov, mov)] {
      let carriage = MetadataCarriage(
        tags: [Self.tag(key, value)], source: nil, covers: [], format: format)
      #expect(carriage.muxerTags.map(\.key) == (isWritten ? [key] : []))
      #expect(carriage.movie.keys?.names ?? [] == (isWritten ? [] : [key]))
    }
  }

  @Test func aKeyIsNeverWrittenTwice() {
    var movie = MovieCarriage()
    movie.keys = MetadataBox(handler: "mdta")
    let carriage = MetadataCarriage(
      tags: [Self.tag("title", "T"), Self.tag("creation_time", "2020")], source: movie,
      covers: [], format: .mp4)
    // The source's own boxes say it.
    #expect(carriage.muxerTags.map(\.key) == ["creation_time"])
    #expect(carriage.movie == movie)
  }

  @Test func strippingLeavesNoTag() {
    var movie = MovieCarriage()
    movie.userData = [.box("XMP_", [1])]
    movie.others = [.box("uuid", [2])]
    movie.items = MetadataBox(handler: "mdir")
    movie.items?.add("©nam", text: "T")
    var edits = MetadataEdits()
    edits.strips = true
    for source in [movie, nil] {
      let carriage = MetadataCarriage(
        tags: [Self.tag("title", "T"), Self.tag("creation_time", "2020")], source: source,
        covers: [], format: .mov, edits: edits)
      #expect(carriage.muxerTags.isEmpty)
      #expect(carriage.movie.tail([], in: .mov).isEmpty)
    }
  }

  @Test(arguments: ContainerFormat.allCases)
  func aTagThatIsChangedGoesWhereverItStood(format: ContainerFormat) throws {
    var movie = MovieCarriage()
    movie.userData = [Self.quickTimeText("©nam", "Old"), .box("GPMF", [1])]
    movie.items = MetadataBox(handler: "mdir")
    movie.items?.add("©nam", text: "Old")
    movie.items?.add("aART", text: "Kept")
    let free = [[UInt8]](
      ["com.apple.iTunes", "TITLE"].enumerated().map {
        .box($0 == 0 ? "mean" : "name", [0, 0, 0, 0] + Array($1.utf8))
      })
    movie.items?.add([.box("----", free.flatMap { $0 } + Self.text("Old"))])
    movie.keys = MetadataBox(handler: "mdta")
    movie.keys?.set("com.apple.quicktime.title", to: "Old")
    movie.keys?.set("com.example.rating", to: "Old")
    var edits = MetadataEdits()
    edits.changes = [
      .init(key: "Title", value: "New"), .init(key: "com.example.rating", value: "5"),
    ]
    let carriage = MetadataCarriage(
      tags: [Self.tag("title", "Old")], source: movie, covers: [], format: format, edits: edits)
    #expect(carriage.muxerTags == [Self.tag("Title", "New")])
    #expect(carriage.movie.userData == [.box("GPMF", [1])])
    #expect(carriage.movie.items?.types == ["aART"])
    #expect(carriage.movie.keys?.items.count == 1)
    let tail = carriage.movie.tail([], in: format)
    #expect(!String(decoding: tail, as: UTF8.self).contains("Old"))
  }
}

@Suite("Description boxes")
struct DescriptionBoxTests {
  @Test func fullRangeIsSaidWhereTheMuxerCannot() {
    func added(_ format: ContainerFormat, _ source: [[UInt8]], _ number: UInt32, _ isFull: Bool)
      -> [[UInt8]]
    {
      ColourBoxes.added(
        to: format, source: source, primaries: number, transfer: number, matrix: number,
        isFullRange: isFull)
    }
    let full = [UInt8].box("colr", Array("nclx".utf8) + [0, 1, 0, 1, 0, 1, 0x80])
    let limited = [UInt8].box("colr", Array("nclx".utf8) + [0, 1, 0, 1, 0, 1, 0])
    let profile = [UInt8].box("colr", Array("prof".utf8) + [9, 9])
    let video = [UInt8].box("colr", Array("nclc".utf8) + [0, 1, 0, 1, 0, 1])
    #expect(added(.mov, [full, profile], 1, true) == [full, profile])
    #expect(added(.mov, [limited], 1, false).isEmpty)
    #expect(added(.mov, [], 1, true) == [full])
    #expect(added(.mp4, [], 1, true).isEmpty)
    #expect(added(.mp4, [], 2, true).count == 1)
    #expect(added(.mp4, [video, profile], 1, false) == [profile])
  }

  @Test func masteringDisplayRefusesNumbersThatDoNotFit() {
    func display(_ x: Double, _ brightest: Double) -> DescriptionBoxes.Mastering {
      let point = DescriptionBoxes.Mastering.Point(x: x, y: 0.33)
      return .init(
        red: point, green: point, blue: point, white: point, brightest: brightest, darkest: 0.005)
    }
    let bytes = DescriptionBoxes.mastering(display(0.265, 1000))
    #expect(bytes?.count == 32)
    #expect(bytes?.integer(8, 2) == 13_250)
    #expect(bytes?.integer(24, 4) == 10_000_000)
    for (x, brightest) in [(2.0, 1000.0), (.nan, 1000), (0.3, .infinity), (0.3, -1)] {
      #expect(DescriptionBoxes.mastering(display(x, brightest)) == nil)
    }
    #expect(DescriptionBoxes.lightLevel(most: 1000, average: 70_000) == nil)
  }

  @Test func handlersChangeTheirFormAndKeepTheirName() {
    let name = Array("My meta".utf8)
    let zeros = [UInt8](repeating: 0, count: 12)
    let iso = [UInt8].box(
      "hdlr", [0, 0, 0, 0, 0, 0, 0, 0] + Array("meta".utf8) + zeros + name + [0])
    let quickTime = [UInt8].box(
      "hdlr", [0, 0, 0, 0] + Array("mhlrmeta".utf8) + zeros + [UInt8(name.count)] + name)
    #expect(TrackRewrite.handler(iso, in: .mov) == quickTime)
    #expect(TrackRewrite.handler(quickTime, in: .mp4) == iso)
    #expect(TrackRewrite.handler(iso, in: .mp4) == iso)
    #expect(TrackRewrite.handler(quickTime, in: .mov) == quickTime)
    for count in 0..<iso.count { _ = TrackRewrite.handler(Array(iso.prefix(count)), in: .mov) }
  }
}
