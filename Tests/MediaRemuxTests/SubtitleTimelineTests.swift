// Overlapping, touching, endless and disordered subtitles, made to follow each other: a table.

import Testing

@testable import MediaRemux

@Suite("Subtitle timeline")
struct SubtitleTimelineTests {
  private typealias Event = SubtitleTimeline.Event

  private static func event(_ begin: Int64, _ end: Int64?, _ texts: String...) -> Event {
    Event(begin: begin, end: end, texts: texts.map { SubtitleText(styled: $0, plain: $0) })
  }

  /// The samples as `begin-end text+text`.
  private static func run(
    _ events: [Event], limits: SubtitleTimeline.Limits = .init()
  ) -> (samples: [String], timeline: SubtitleTimeline) {
    var timeline = SubtitleTimeline(limits: limits)
    var samples: [SubtitleTimeline.Sample] = []
    for event in events {
      timeline.add(event)
      while let sample = timeline.next() { samples.append(sample) }
    }
    timeline.finish()
    while let sample = timeline.next() { samples.append(sample) }
    for (one, next) in zip(samples, samples.dropFirst()) {
      #expect(one.end == next.begin)
    }
    let texts = samples.map {
      "\($0.begin)-\($0.end) \($0.texts.map(\.plain).joined(separator: "+"))"
    }
    return (texts, timeline)
  }

  @Test func fillsThePausesAndBeginsAtZero() {
    let (samples, _) = Self.run([Self.event(1000, 2000, "A"), Self.event(2500, 3000, "B")])
    #expect(samples == ["0-1000 ", "1000-2000 A", "2000-2500 ", "2500-3000 B"])
  }

  @Test func putsNothingBetweenTextsThatTouch() {
    let (samples, _) = Self.run([Self.event(0, 2000, "A"), Self.event(2000, 3000, "B")])
    #expect(samples == ["0-2000 A", "2000-3000 B"])
  }

  @Test func showsOverlappingTextsTogether() {
    let (samples, timeline) = Self.run([
      Self.event(0, 4000, "A"), Self.event(2000, 6000, "B"), Self.event(2500, 3000, "C"),
    ])
    #expect(
      samples == [
        "0-2000 A", "2000-2500 A+B", "2500-3000 A+B+C", "3000-4000 A+B", "4000-6000 B",
      ])
    #expect(timeline.misplaced == 0)
  }

  @Test func showsTwoTextsOfOneMomentTogether() {
    let (samples, _) = Self.run([Self.event(0, 1000, "A"), Self.event(0, 1000, "B")])
    #expect(samples == ["0-1000 A+B"])
    #expect(Self.run([Self.event(0, 1000, "A", "B")]).samples == ["0-1000 A+B"])
  }

  @Test func showsWhatReadsTheSameOnce() {
    let (samples, timeline) = Self.run([Self.event(0, 1000, "A"), Self.event(0, 1000, "A")])
    #expect(samples == ["0-1000 A"])
    #expect(timeline.misplaced == 0)
  }

  @Test func aTextWithoutEndStaysUntilTheNext() {
    let (samples, _) = Self.run([Self.event(0, nil, "A"), Self.event(2000, nil, "B")])
    #expect(samples == ["0-2000 A", "2000-32000 B"])
    #expect(
      Self.run([Self.event(0, 0, "A"), Self.event(9000, 9500, "B")]).samples.first == "0-9000 A")
  }

  @Test func anEmptyEventEndsATextWithoutEnd() {
    let (samples, _) = Self.run([
      Self.event(0, nil, "A"), Self.event(1500, nil), Self.event(4000, 5000, "B"),
    ])
    #expect(samples == ["0-1500 A", "1500-4000 ", "4000-5000 B"])
  }

  @Test func anEmptyEventCutsNothingThatHasAnEnd() {
    let (samples, _) = Self.run([Self.event(0, 3000, "A"), Self.event(1000, 2000)])
    #expect(samples == ["0-3000 A"])
  }

  @Test func nothingStaysForever() {
    let (samples, _) = Self.run([Self.event(0, nil, "A"), Self.event(90_000, 91_000, "B")])
    #expect(samples == ["0-30000 A", "30000-90000 ", "90000-91000 B"])
  }

  @Test func sortsWhatComesInDisorder() {
    let (samples, timeline) = Self.run([
      Self.event(3000, 4000, "B"), Self.event(1000, 2000, "A"), Self.event(20_000, 21_000, "C"),
      Self.event(16_000, 17_000, "D"),
    ])
    #expect(
      samples == [
        "0-1000 ", "1000-2000 A", "2000-3000 ", "3000-4000 B", "4000-16000 ", "16000-17000 D",
        "17000-20000 ", "20000-21000 C",
      ])
    #expect(timeline.misplaced == 0)
  }

  @Test func countsWhatComesTooLate() {
    let (samples, timeline) = Self.run([
      Self.event(20_000, 21_000, "A"), Self.event(40_000, 41_000, "B"),
      Self.event(10_000, 11_000, "lost"), Self.event(12_000, 30_000, "cut"),
    ])
    #expect(timeline.misplaced == 1)
    #expect(samples.contains("21000-30000 cut"))
    #expect(!samples.contains { $0.contains("lost") })
  }

  @Test func cutsWhatBeginsBeforeTheFilm() {
    let (samples, timeline) = Self.run([
      Self.event(-2000, -1000, "lost"), Self.event(-500, 1000, "A"),
    ])
    #expect(samples == ["0-1000 A"])
    #expect(timeline.early == 1)
    #expect(timeline.misplaced == 0)

    let open = Self.run([
      Self.event(-2000, nil, "lost"), Self.event(-500, nil, "A"), Self.event(1000, 2000, "B"),
    ])
    #expect(open.samples == ["0-1000 A", "1000-2000 B"])
    #expect(open.timeline.early == 1)
  }

  @Test func noSampleIsLongerThanATableHolds() {
    let (samples, timeline) = Self.run([
      Self.event(0, 1 << 60, "A"), Self.event(1 << 60, nil, "far"),
    ])
    #expect(samples == ["0-2147483646 A"])
    #expect(timeline.misplaced == 1)
    #expect(Self.run([Self.event(-(1 << 60), nil, "A")]).timeline.early == 1)
  }

  @Test func memoryIsBoundedWhateverComes() {
    var limits = SubtitleTimeline.Limits()
    limits.waiting = 8
    limits.simultaneous = 4
    let many = (0..<100).map { Self.event(Int64($0), 1000, "\($0)") }
    let (samples, timeline) = Self.run(many, limits: limits)
    #expect(timeline.misplaced == 96)
    #expect(samples.last?.hasSuffix("-1000 0+1+2+3") == true)

    // Nothing is lost by the bound on what waits, where events come in order.
    let (short, all) = Self.run(
      (0..<100).map { Self.event(Int64($0) * 10, Int64($0) * 10 + 10, "\($0)") }, limits: limits)
    #expect(all.misplaced == 0)
    #expect(short.count == 100)
  }
}
