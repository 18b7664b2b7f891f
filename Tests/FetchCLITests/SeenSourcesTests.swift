import FetchCLI
import FetchCore
import TestSupport
import Testing
import VidFetchKit

@Suite struct SeenSourcesTests {
  private func fingerprint(
    _ source: String, _ name: String? = nil, _ format: ContainerFormat? = nil
  ) -> (UInt64, UInt64) {
    SourceIdentity(source).fingerprint(name: name, format: format)
  }

  @Test func onlyTheSameThingUnderTheSameNameIsADuplicate() {
    let items: [(String, String?, ContainerFormat?, isNew: Bool)] = [
      ("https://a/b", nil, nil, true), ("https://a/b", nil, nil, false),
      ("HTTPS://A:443/x/../%62#f", nil, nil, false), ("https://a/b?c", nil, nil, true),
      ("http://a/b", nil, nil, true), ("https://a/b", "name", nil, true),
      ("https://a/b", nil, .mov, true), ("https://a/b", "name", .mov, true),
      ("https://a/b", "name", .mov, false),
    ]
    var seen = SeenSources()
    for (source, name, format, isNew) in items {
      let wasNew = seen.insert(fingerprint(source, name, format))
      #expect(wasNew == isNew, "\(source)")
    }
    #expect(seen.count == 6)
  }

  @Test func localFileIsTheSameByEitherSpellingOfItsPath() {
    #expect(fingerprint("/a/b") == fingerprint("file:///a/b"))
    #expect(fingerprint("b c") != fingerprint("/b c"))
  }

  @Test func everyFingerprintIsFoundAgainHoweverFullTheArrayGets() {
    var random = SeededNumbers(seed: 7)
    // Few low bits, so that many fall on one place.
    let all = (0..<20_000).map { _ in (random.next() & 0xFFF, random.next()) } + [(0, 0), (0, 1)]
    var seen = SeenSources()
    var distinct = 0
    for fingerprint in all where seen.insert(fingerprint) { distinct += 1 }
    #expect(seen.count == distinct && distinct >= 20_001)
    let again = all.count { seen.insert($0) }
    #expect(again == 0)
  }

  @Test func aMillionItemsTakeLessThan40BytesEach() {
    var random = SeededNumbers(seed: 1)
    var seen = SeenSources()
    for _ in 0..<1_000_000 { _ = seen.insert((random.next(), random.next())) }
    #expect(seen.count == 1_000_000)
    #expect(seen.byteCount < 40_000_000)
  }
}
