// From subtitles that may overlap, leave gaps and come in disorder to samples that follow each other
// without a gap, as a timed text track needs them (3GPP TS 26.245, ISO 14496-12). Pure: stamps and
// texts in, samples out; a few seconds of subtitles are held, never more.

/// A text as it is written, and as it is read.
struct SubtitleText: Hashable {
  /// One ASS dialogue line, made safe.
  var styled: String
  /// The text alone: two texts that read the same are shown once.
  var plain: String
}

/// The samples of one text track, made from its source's events.
///
/// Times are ticks of the output, zero being the beginning of the film.
struct SubtitleTimeline {
  struct Event: Hashable {
    var begin: Int64
    /// nil where the source doesn't say: then the text stays until the next event.
    var end: Int64?
    /// No text at all ends what has no end of its own.
    var texts: [SubtitleText]
  }

  struct Sample: Hashable {
    var begin: Int64
    var end: Int64
    /// None where nothing is shown.
    var texts: [SubtitleText]
  }

  /// What keeps a stream's memory and output within bounds.
  struct Limits: Hashable {
    /// How much earlier than a later event one may begin and still find its place.
    var disorder: Int64 = 5_000
    /// How long a text without an end stays where nothing follows.
    var longestOpen: Int64 = 30_000
    /// Durations are 32 bits in the tables (ISO 14496-12 8.6.1.2).
    var longest = Int64(Int32.max) - 1
    /// Events that wait for their place.
    var waiting = 4_096
    var waitingBytes = 1 << 20
    /// Texts shown at once.
    var simultaneous = 64
    var simultaneousBytes = 32 << 10
  }

  private let limits: Limits
  /// Not yet begun, by begin; equal ones in the order they came.
  private var waiting: [Event] = []
  private var waitingBytes = 0
  private var shown: [(text: SubtitleText, end: Int64)] = []
  private var shownBytes = 0
  /// Everything before it has been given out.
  private var frontier: Int64 = 0
  private var newest = Int64.min
  private var isFinished = false

  /// Texts that found no place: out of order by too much, too many at once, or too far away.
  private(set) var misplaced: Int64 = 0
  /// Texts that are shown later than they should be, as they came too late.
  private(set) var late: Int64 = 0
  /// Texts that end before the film begins.
  private(set) var early: Int64 = 0

  init(limits: Limits = Limits()) { self.limits = limits }

  /// Takes the next event.
  mutating func add(_ event: Event) {
    var event = event
    if let end = event.end, end <= event.begin { event.end = nil }
    if let end = event.end { event.end = min(end, event.begin + limits.longest) }
    // Before the film begins there is room for what lasts until then.
    if frontier > 0, event.begin < frontier {
      // What is past cannot be changed any more; what is left of the event can still be shown.
      guard let end = event.end, end > frontier else {
        misplaced += Int64(event.texts.count)
        return
      }
      event.begin = frontier
      late += Int64(event.texts.count)
    }
    let reach = max(newest, frontier)
    guard event.begin - reach <= limits.longest else {
      misplaced += Int64(event.texts.count)
      return
    }
    newest = max(newest, event.begin)
    waitingBytes += event.bytes
    // Nearly always the last place.
    var at = waiting.count
    while at > 0, waiting[at - 1].begin > event.begin { at -= 1 }
    waiting.insert(event, at: at)
  }

  /// No more events come: all that waits may be given out.
  mutating func finish() { isFinished = true }

  /// The next sample that no later event can change; nil where there is none yet.
  mutating func next() -> Sample? {
    while true {
      let limit = settled
      if let first = waiting.first, first.begin <= frontier, first.begin <= limit {
        show(waiting.removeFirst())
        continue
      }
      let entry = waiting.first { !$0.texts.isEmpty }?.begin
      let boundary = min(entry ?? .max, shown.lazy.map(\.end).min() ?? .max)
      guard boundary != .max, boundary <= limit else { return nil }
      let sample = Sample(begin: frontier, end: boundary, texts: shown.map(\.text))
      frontier = boundary
      shown.removeAll {
        guard $0.end <= boundary else { return false }
        shownBytes -= $0.text.styled.utf8.count
        return true
      }
      if sample.end > sample.begin { return sample }
    }
  }

  /// Up to here no event can come any more, or may.
  private var settled: Int64 {
    if isFinished { return .max }
    guard newest != .min else { return .min }
    let settled = newest - limits.disorder
    guard waiting.count > limits.waiting || waitingBytes > limits.waitingBytes,
      let first = waiting.first
    else { return settled }
    return max(settled, first.begin)
  }

  private mutating func show(_ event: Event) {
    waitingBytes -= event.bytes
    let next = waiting.first { $0.begin > event.begin }?.begin
    let end = event.end ?? min(next ?? .max, event.begin + limits.longestOpen)
    guard end > frontier else {
      early += Int64(event.texts.count)
      return
    }
    for text in event.texts {
      let bytes = text.styled.utf8.count
      if let at = shown.firstIndex(where: { $0.text.plain == text.plain }) {
        shown[at].end = max(shown[at].end, end)
        continue
      }
      guard shown.count < limits.simultaneous, shownBytes + bytes <= limits.simultaneousBytes else {
        misplaced += 1
        continue
      }
      shown.append((text, end))
      shownBytes += bytes
    }
  }
}

extension SubtitleTimeline.Event {
  fileprivate var bytes: Int { texts.reduce(0) { $0 + $1.styled.utf8.count } }
}
