// AVI says when each picture is decoded, never when it is shown. What is shown when follows from the
// pictures themselves: their types (MPEG-1, -2, -4), or their order counts (H.264). Pure: pictures in
// decoding order in, the same with both times out, a bounded number of them later.

/// Presentation times rebuilt for a stream that has decoding times only.
///
/// A player of AVI hands a chunk over at its time and shows what its decoder then gives. So the
/// picture shown n-th is shown when chunk n + `depth` is decoded; a chunk that is missing leaves the
/// picture before on the screen. All times are taken back by the decoder's delay, so that the first
/// picture is shown at the first chunk's time.
struct PresentationOrder {
  /// What is known of a picture.
  enum Picture: Hashable {
    /// I and P pictures: shown after the bidirectional ones that follow it.
    case reference
    /// B pictures: shown before the reference that came last.
    case bidirectional
    /// A picture order count (ITU-T H.264 8.2.1); `restarts` at an IDR picture.
    case count(Int64, restarts: Bool)
  }

  struct Times: Hashable {
    var decoding: Int64
    var presentation: Int64
  }

  /// Why the pictures have no order.
  enum Contradiction: Error, Hashable {
    /// A picture is to be shown before one that has been shown.
    case late
    /// A picture is decoded later than it is shown: more are reordered than the stream says.
    case deeper
    /// The decoding times don't rise.
    case notRising
  }

  /// The codecs whose pictures say in which order they are shown.
  static let codecs: Set<String> = ["h264", "mpeg4", "mpeg1video", "mpeg2video"]
  /// How many pictures H.264 may hold back at most (ITU-T H.264 A.3.1).
  static let deepest = 16

  private struct Held: Hashable {
    var number: Int
    var key: Int64
  }

  private let depth: Int
  private let step: Int64
  private let lookahead: Int

  /// Decoding times, from picture `firstSlot` on.
  private var slots: [Int64] = []
  private var firstSlot = 0
  /// Decoded and not yet placed.
  private var held: [Held] = []
  /// For each picture from `given` on, its place in the order of presentation.
  private var places: [Int?] = []
  private var given = 0
  private var placed = 0
  private var lastKey: Int64?
  private var references: Int64 = 0
  private var sinceReference: Int64 = 0
  private var start: Int64?
  private var delay: Int64?
  private var isFinished = false

  /// - Parameters:
  ///   - depth: how many pictures the decoder holds back.
  ///   - step: one picture's duration, for times past the only chunk's.
  ///   - lookahead: how many pictures to wait for before the first of them is placed.
  init(depth: Int, step: Int64, lookahead: Int) {
    self.depth = min(max(depth, 0), Self.deepest)
    self.step = max(step, 1)
    self.lookahead = min(max(lookahead, self.depth), Self.deepest)
  }

  /// Takes the next picture in decoding order.
  mutating func add(_ picture: Picture, decodedAt time: Int64) throws(Contradiction) {
    if let last = slots.last, time <= last { throw .notRising }
    if start == nil { start = time }
    slots.append(time)
    let key: Int64
    switch picture {
    case .reference:
      references += 1
      sinceReference = 0
      key = references << 32
    case .bidirectional:
      sinceReference += 1
      key = (references - 1) << 32 + sinceReference
    case .count(let count, let restarts):
      if restarts {
        try placeHeld(downTo: 0)
        lastKey = nil
      }
      key = count
    }
    if let lastKey, key < lastKey { throw .late }
    held.append(Held(number: given + places.count, key: key))
    places.append(nil)
    try placeHeld(downTo: lookahead)
  }

  /// No more pictures come.
  mutating func finish() throws(Contradiction) {
    isFinished = true
    try placeHeld(downTo: 0)
  }

  /// The times of the next picture in decoding order; nil where they aren't known yet.
  mutating func next() -> Times? {
    guard let first = places.first, let place = first, let start, let shown = slot(place + depth),
      let decoding = slot(given)
    else { return nil }
    if delay == nil { delay = slot(depth).map { $0 - start } }
    guard let delay else { return nil }
    places.removeFirst()
    given += 1
    // The earliest that is still asked for: a picture is placed at most `depth` before its number.
    let needed = min(given, placed + depth)
    if needed > firstSlot + 64 {
      slots.removeFirst(needed - firstSlot)
      firstSlot = needed
    }
    return Times(decoding: decoding - delay, presentation: shown - delay)
  }

  /// The time of a chunk; past the last one, as if they went on as they came last.
  private func slot(_ number: Int) -> Int64? {
    let at = number - firstSlot
    if slots.indices.contains(at) { return slots[at] }
    guard isFinished, let last = slots.last, at >= slots.count else { return nil }
    // A chunk in two may be empty, so the step of the container's clock says little.
    let pace = slots.count > 1 ? last - slots[slots.count - 2] : step
    return last + Int64(at - slots.count + 1) * pace
  }

  private mutating func placeHeld(downTo count: Int) throws(Contradiction) {
    while held.count > count {
      guard let at = held.indices.min(by: { held[$0].key < held[$1].key }) else { return }
      let picture = held.remove(at: at)
      guard placed >= picture.number - depth else { throw .deeper }
      places[picture.number - given] = placed
      placed += 1
      lastKey = picture.key
    }
  }
}
