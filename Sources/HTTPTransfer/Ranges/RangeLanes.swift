// Which ranges of one resource are being fetched side by side, and which one is worth a further
// exchange. Pure: time comes in as nanoseconds, what is present as a set.

package import FetchCore

/// The exchanges that fetch one resource together, each with its own range.
///
/// A lane's range is only lent to it: until its response has been accepted, the lane before it goes
/// on as if it weren't there, so that a server that never answers costs nothing.
package struct RangeLanes: Sendable {
  /// One exchange.
  package struct Lane: Sendable, Hashable {
    package let id: Int
    /// The first byte that it brings.
    package let start: Int64
    /// Where it stops; `Int64.max` where the resource's size isn't known.
    package fileprivate(set) var end: Int64
    /// The next byte that it will bring.
    package fileprivate(set) var position: Int64
    /// Whether it was asked for all that follows, so that others may take what is far ahead of it.
    package let isElastic: Bool
    /// Whether others ran when it began, so that a server may have no place for it.
    package let isExtra: Bool
    package fileprivate(set) var isAccepted = false
    /// When it last brought something, or began.
    package fileprivate(set) var lastByte: Int64

    package var remaining: Int64 { end - position }

    /// Whether it has brought nothing for so long that it may lose its range to another.
    package func isSilent(_ now: Int64) -> Bool { now - lastByte >= RangeLanes.patience }
  }

  /// Where a further exchange begins.
  package enum Order: Sendable, Hashable {
    /// With the first byte that nobody fetches: what is read first comes first.
    case forwards
    /// With the last bytes that nobody fetches: a trial that leaves the running exchange its way.
    case backwards
  }

  /// What a further exchange is to be like.
  package struct Demand: Sendable, Hashable {
    package var order: Order
    /// How many bytes it is to fetch.
    package var piece: Int64
    /// Less than this is not worth an exchange of its own, unless nobody else fetches it.
    package var smallest: Int64

    package init(order: Order, piece: Int64, smallest: Int64) {
      self.order = order
      self.piece = piece
      self.smallest = smallest
    }
  }

  /// How long a lane may be silent, in nanoseconds.
  static let patience: Int64 = 2_000_000_000

  package private(set) var lanes: [Lane] = []
  private var lastID = 0
  /// Lanes that were accepted so far.
  package private(set) var acceptances = 0
  /// How long the first of them took, in nanoseconds.
  private var firstAnswer: Int64 = 0

  package init() {}

  package var isEmpty: Bool { lanes.isEmpty }
  package var acceptedCount: Int { lanes.count { $0.isAccepted } }

  package subscript(id: Int) -> Lane? { lanes.first { $0.id == id } }

  // MARK: - What happens

  /// Adds a lane and returns its number.
  package mutating func begin(
    from start: Int64, to end: Int64, isElastic: Bool = false, now: Int64
  ) -> Int {
    lastID += 1
    lanes.append(
      Lane(
        id: lastID, start: start, end: end, position: start, isElastic: isElastic,
        isExtra: !lanes.isEmpty, lastByte: now))
    return lastID
  }

  /// The lane's response was accepted: what it brings, no other has to.
  ///
  /// - Returns: the lanes whose end came nearer; one that has nothing left to bring is to be ended.
  package mutating func accept(_ id: Int, now: Int64) -> [Lane] {
    guard let index = lanes.firstIndex(where: { $0.id == id }) else { return [] }
    lanes[index].isAccepted = true
    if acceptances == 0 { firstAnswer = now - lanes[index].lastByte }
    acceptances += 1
    lanes[index].lastByte = now
    let start = lanes[index].start
    var changed: [Lane] = []
    for other in lanes.indices where other != index {
      guard lanes[other].position <= start, lanes[other].end > start else { continue }
      lanes[other].end = start
      changed.append(lanes[other])
    }
    return changed
  }

  /// The lanes that the server seems to have no place for beside others: they wait for an answer far
  /// longer than the first did.
  package func ignored(_ now: Int64) -> [Int] {
    let patience = max(Self.patience / 2, 3 * firstAnswer)
    return lanes.filter { $0.isExtra && !$0.isAccepted && now - $0.lastByte >= patience }.map(\.id)
  }

  package mutating func end(_ id: Int) { lanes.removeAll { $0.id == id } }

  /// Takes note of how far each lane has come.
  ///
  /// - Returns: the lanes that have become useless: others have reached what they are to bring.
  package mutating func advance(present: ByteRangeSet, now: Int64) -> [Int] {
    for index in lanes.indices {
      let position = min(present.firstMissing(from: lanes[index].start), lanes[index].end)
      guard position > lanes[index].position else { continue }
      lanes[index].position = position
      lanes[index].lastByte = now
    }
    return lanes.filter { !$0.isAccepted && $0.position > $0.start }.map(\.id)
  }

  // MARK: - What is next

  /// The range that a further exchange should fetch; nil where none is worth one.
  package func next(
    _ demand: Demand, present: ByteRangeSet, total: Int64, now: Int64
  ) -> ByteRange? {
    let unclaimed = unclaimed(present: present, total: total, piece: demand.piece)
    switch demand.order {
    case .forwards:
      if let range = first(of: unclaimed, demand) { return range }
    case .backwards:
      if let range = last(of: unclaimed, demand) { return range }
    }
    return share(demand, now: now)
  }

  /// The range to ask for at once because its first byte is waited for; nil where it is there, or
  /// will be soon.
  ///
  /// - Parameter reach: how far ahead of a lane's position a byte still counts as coming soon.
  package func next(
    wanted offset: Int64, reach: Int64, present: ByteRangeSet, total: Int64
  ) -> ByteRange? {
    guard offset >= 0, offset < total, present.run(from: offset) == 0 else { return nil }
    let comesSoon = lanes.contains { lane in
      lane.position <= offset && offset < lane.end && offset - lane.position <= reach
    }
    guard !comesSoon else { return nil }
    var end = present.ranges.first { $0.lowerBound > offset }?.lowerBound ?? total
    for lane in lanes where lane.start > offset { end = min(end, lane.start) }
    return ByteRange(offset, end)
  }

  /// The missing bytes that no lane will come to soon.
  private func unclaimed(present: ByteRangeSet, total: Int64, piece: Int64) -> [ByteRange] {
    var covered = present
    for lane in lanes {
      let reach = lane.isElastic ? min(lane.end, Self.sum(lane.position, piece)) : lane.end
      if let range = ByteRange(lane.position, min(reach, total)) { covered.insert(range) }
    }
    return covered.gaps(upTo: total)
  }

  private func first(of gaps: [ByteRange], _ demand: Demand) -> ByteRange? {
    guard let gap = gaps.first else { return nil }
    // A rest that is too small for one more goes with this one.
    let isWhole = gap.count < Self.sum(demand.piece, demand.smallest)
    return isWhole ? gap : ByteRange(offset: gap.lowerBound, count: max(1, demand.piece))
  }

  private func last(of gaps: [ByteRange], _ demand: Demand) -> ByteRange? {
    guard let gap = gaps.last, gap.count >= demand.smallest || !isCovered(gap) else { return nil }
    return ByteRange(max(gap.lowerBound, gap.upperBound - max(1, demand.piece)), gap.upperBound)
  }

  /// Whether a running lane will come to it in the end.
  private func isCovered(_ range: ByteRange) -> Bool {
    lanes.contains { $0.position < range.lowerBound && range.upperBound <= $0.end }
  }

  /// The second half of what the lane with the most to bring would still bring, or all of it where
  /// that lane is silent.
  private func share(_ demand: Demand, now: Int64) -> ByteRange? {
    let silent = lanes.filter { $0.isSilent(now) && $0.end < .max }
    // One stand-in for each silent lane will do.
    let orphan = silent.first { lane in
      lane.remaining > 0 && !lanes.contains { $0.id != lane.id && $0.start == lane.position }
    }
    if let orphan { return ByteRange(orphan.position, orphan.end) }
    let busy = lanes.filter { lane in
      lane.isAccepted && lane.end < .max
        && !lanes.contains { $0.id != lane.id && $0.start > lane.position && $0.start < lane.end }
    }
    guard let longest = busy.max(by: { $0.remaining < $1.remaining }),
      longest.remaining >= Self.sum(demand.smallest, demand.smallest)
    else { return nil }
    return ByteRange(Self.middle(longest.position, longest.end), longest.end)
  }

  /// Half way, on a page's border where that makes no great difference.
  private static func middle(_ lower: Int64, _ upper: Int64) -> Int64 {
    let middle = lower + (upper - lower + 1) / 2
    return upper - lower >= 1 << 16 ? middle / 4096 * 4096 : middle
  }

  /// Sizes are the server's word, so that sums may be none.
  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }
}
