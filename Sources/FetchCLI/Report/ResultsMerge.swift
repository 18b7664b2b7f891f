// Many lines to one outcome for each item: the last. Pure. What is held grows with the number of items,
// not with that of lines.

/// Merges the results of any number of runs.
///
/// An item costs some 60 bytes, and its whole result where the report is to name it.
package struct ResultsMerge {
  /// Stands for what tells items apart.
  ///
  /// Two halves of 64 bits, from a hash whose key is this process's own secret: no file can be made
  /// so that items fall together, and none do by chance.
  private struct Item: Hashable {
    private let halves: (Int, Int)

    /// The URL's hash where the result has it, else the URL as it was shown; format and name.
    init(_ result: RecordedResult) {
      func half(_ number: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(number)
        hasher.combine(result.id)
        hasher.combine(result.id == nil ? result.url : nil)
        hasher.combine(result.format)
        hasher.combine(result.name)
        return hasher.finalize()
      }
      halves = (half(0), half(1))
    }

    static func == (left: Item, right: Item) -> Bool { left.halves == right.halves }
    func hash(into hasher: inout Hasher) { hasher.combine(halves.0) }
  }

  /// What came of an item.
  private enum Kind: UInt8 {
    case ok, skipped, duplicate, failed
  }

  /// What is held of an item.
  private struct Outcome {
    var kind: Kind
    var time: Timestamp?
    /// Of the file in place.
    var bytes: Int64
    /// Of items that the report names one by one.
    var details: Details?
  }

  /// On the heap, so that the many that succeeded need none of its room.
  private final class Details {
    let result: RecordedResult
    init(_ result: RecordedResult) { self.result = result }
  }

  /// How many successes of each kind the report names; of the rest it says how many there are.
  private let mostSuccesses: Int
  private var places: [Item: Int] = [:]
  /// In the order in which items were met first.
  private var outcomes: [Outcome] = []
  private var named: [Kind: Int] = [:]
  private var results = 0
  private var unreadable = 0
  private var hosts: Set<String> = []
  private var first: Timestamp?
  private var last: Timestamp?

  package init(mostSuccesses: Int) { self.mostSuccesses = mostSuccesses }

  /// Takes the next line of a file.
  ///
  /// - Returns: false where it is none that can be read.
  @discardableResult
  package mutating func add(_ line: RecordedLine) -> Bool {
    switch line {
    case .result(let result): add(result)
    case .otherEvent: break
    case .unreadable:
      unreadable += 1
      return false
    }
    return true
  }

  /// Takes a result, unless a later one of the same item is known.
  ///
  /// Later is what has the later time; where one has none, what comes later. A duplicate says nothing
  /// about its item, and gives way to everything.
  private mutating func add(_ result: RecordedResult) {
    results += 1
    if let host = result.host { hosts.insert(host) }
    if let time = result.time {
      first = min(first ?? time, time)
      last = max(last ?? time, time)
    }
    let kind = Self.kind(of: result)
    let item = Item(result)
    guard let place = places[item] else {
      places[item] = outcomes.count
      outcomes.append(outcome(of: result, kind))
      return
    }
    let known = outcomes[place]
    if kind == .duplicate { return }
    if known.kind != .duplicate, let before = known.time, let now = result.time, now < before {
      return
    }
    if known.details != nil { named[known.kind, default: 0] -= 1 }
    outcomes[place] = outcome(of: result, kind)
  }

  private static func kind(of result: RecordedResult) -> Kind {
    guard result.code == "ok" else { return .failed }
    guard let reason = result.skipped else { return .ok }
    return reason == "duplicate" ? .duplicate : .skipped
  }

  private mutating func outcome(of result: RecordedResult, _ kind: Kind) -> Outcome {
    let isNamed = kind == .failed || named[kind, default: 0] < mostSuccesses
    if isNamed { named[kind, default: 0] += 1 }
    return Outcome(
      kind: kind, time: result.time, bytes: kind == .failed ? 0 : result.bytes ?? 0,
      details: isNamed ? Details(result) : nil)
  }

  /// What has come of all.
  package var contents: ReportContents {
    var contents = ReportContents()
    contents.results = results
    contents.unreadable = unreadable
    contents.hosts = hosts.count
    contents.period = first.flatMap { first in last.map { first...$0 } }
    var failures: [String: ReportContents.Failures] = [:]
    for outcome in outcomes {
      let (sum, overflows) = contents.bytes.addingReportingOverflow(outcome.bytes)
      contents.bytes = overflows ? .max : sum
      let result = outcome.details?.result
      switch outcome.kind {
      case .ok: contents.ok += 1
      case .skipped, .duplicate: contents.skipped += 1
      case .failed:
        guard let result else { continue }
        failures[result.code, default: .init(code: result.code, exit: result.exit)]
          .items.append(result)
        continue
      }
      if let result { contents.successes.append(result) }
    }
    contents.failures = failures.values.sorted { ($0.exit, $0.code) < ($1.exit, $1.code) }
    return contents
  }
}
