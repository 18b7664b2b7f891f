// Selections against streams, as tables: who stays, and which contradictions are refused.

import FetchCore
import Testing

@testable import MediaRemux

@Suite("Selected streams")
struct SelectedStreamsTests {
  /// A film with a cover, two languages of sound, two of text and a timecode.
  static let streams: [StreamDescription] = {
    var streams: [StreamDescription] = []
    for (kind, language) in [
      (StreamReport.Kind.video, nil), (.audio, "eng"), (.audio, "ger"), (.subtitle, "fre"),
      (.subtitle, nil), (.data, nil), (.video, nil),
    ] {
      var stream = StreamDescription(index: streams.count, kind: kind, codec: "any")
      stream.language = language
      streams.append(stream)
    }
    streams[6].isAttachedPicture = true
    return streams
  }()

  private func kept(_ change: (inout StreamSelection) -> Void) throws -> [Int] {
    var selection = StreamSelection()
    change(&selection)
    let selected = try SelectedStreams(selection, from: Self.streams)
    return Self.streams.filter(selected.contains).map(\.index)
  }

  @Test func keepsAllWithoutASelection() throws {
    #expect(try kept { _ in } == [0, 1, 2, 3, 4, 5, 6])
  }

  @Test(arguments: [
    ([StreamSelection.Specifier.index(0), .index(2)], [0, 2]),
    ([.kind(.video)], [0, 6]),
    ([.kind(.video, ordinal: 0), .kind(.audio, ordinal: 1)], [0, 2]),
    ([.kind(.audio), .kind(.subtitle, ordinal: 1)], [1, 2, 4]),
    ([.kind(.data), .index(0)], [0, 5]),
  ])
  func keepsExactlyWhatIsNamed(specifiers: [StreamSelection.Specifier], indexes: [Int]) throws {
    #expect(try kept { $0.streams = specifiers } == indexes)
  }

  @Test func filtersByLanguageHoweverItIsWritten() throws {
    #expect(try kept { $0.audio = .only([LanguageCode("de")]) } == [0, 2, 3, 4, 5, 6])
    #expect(try kept { $0.audio = .none } == [0, 3, 4, 5, 6])
    #expect(try kept { $0.subtitles = .only([LanguageCode("fr")]) } == [0, 1, 2, 3, 5, 6])
    #expect(try kept { $0.subtitles = .only([LanguageCode("und")]) } == [0, 1, 2, 4, 5, 6])
    #expect(try kept { $0.subtitles = .none } == [0, 1, 2, 5, 6])
  }

  @Test(arguments: [
    [StreamSelection.Specifier.index(7)], [.kind(.audio, ordinal: 2)], [.kind(.video, ordinal: 1)],
    [.index(0), .index(99)], [.index(3)], [.kind(.subtitle)], [.index(6)],
  ])
  func refusesWhatIsNotThereOrLeavesNoFilm(specifiers: [StreamSelection.Specifier]) {
    let error = #expect(throws: FetchError.self) { try kept { $0.streams = specifiers } }
    #expect(error?.code == .cannotPassthrough)
    #expect(error?.message.contains("0 video, 1 audio") == true)
  }

  @Test func namesTheLanguagesThatThereAre() {
    let error = #expect(throws: FetchError.self) {
      try kept { $0.audio = .only([LanguageCode("xx")]) }
    }
    #expect(error?.code == .cannotPassthrough)
    #expect(error?.message == "no audio in xx: the source has only eng, deu audio")
  }
}
