// A batch as lines of text: one for all of it, and one for each item that runs. Pure.

package import VidFetchKit

/// How far a batch is.
package struct BatchProgress: Sendable, Hashable {
  /// Items that have their outcome, the skipped and failed ones included.
  package var ended = 0
  package var failed = 0
  /// All items; nil while the list isn't known to its end.
  package var total: Int?
  /// Fractions of the running items added up.
  package var runningFraction = 0.0
  /// Bytes that arrived.
  package var bytes: Int64 = 0
  /// Bytes a second lately.
  package var rate: Double?
  package var elapsed = Duration.zero
  /// What was shown before: the fraction never falls.
  package var least = 0.0

  package init() {}

  /// Over all items, each counting the same; nil while nobody knows how many there are.
  package var fraction: Double? {
    guard let total, total > 0 else { return nil }
    return min(1, max(least, (Double(ended) + runningFraction) / Double(total)))
  }

  /// Seconds to go, from how long it took so far.
  package var eta: Double? {
    guard let fraction, fraction > 0, fraction < 1, elapsed >= .seconds(1) else { return nil }
    return elapsed / .seconds(1) * (1 - fraction) / fraction
  }
}

/// The lines at the foot of the screen.
package enum BatchBar {
  private static let smallestBar = 10
  private static let smallestTitle = 10

  /// The block: a line for the batch, then those of items, at most `rows` in all.
  ///
  /// Each is at most `width` columns wide. What doesn't fit is counted in the last line.
  package static func lines(
    _ progress: BatchProgress, items: [(title: String, snapshot: ProgressSnapshot)], width: Int,
    rows: Int, usesColor: Bool = false
  ) -> [String] {
    let head = total(progress, width: width, usesColor: usesColor)
    let room = max(0, rows - 1)
    guard items.count > room else {
      return [head] + items.map { item($0.title, $0.snapshot, width: width, usesColor: usesColor) }
    }
    guard room > 0 else { return [head] }
    let shown = items.prefix(room - 1)
    let rest = DisplayWidth.prefix("  and \(items.count - shown.count) more", columns: width)
    return [head] + shown.map { item($0.title, $0.snapshot, width: width, usesColor: usesColor) }
      + [rest]
  }

  /// The line of the batch.
  ///
  /// As the width shrinks the failures go last but for the count of items, before them the time left,
  /// the bytes and the rate.
  package static func total(
    _ progress: BatchProgress, width: Int, usesColor: Bool = false
  ) -> String {
    let count = progress.total.map { "\(progress.ended)/\($0)" } ?? "\(progress.ended)"
    let percent = Figures.percent(progress.fraction).map { Figures.padded("\($0)%", to: 4) }
    var head = count + " items"
    var room = width - head.utf8.count - (percent.map { $0.utf8.count + 1 } ?? 0)
    if room < smallestBar + 1 {
      head = count
      room = width - head.utf8.count - (percent.map { $0.utf8.count + 1 } ?? 0)
    }
    guard room >= smallestBar + 1 else {
      return DisplayWidth.prefix(head + (percent.map { " " + $0 } ?? ""), columns: width)
    }
    room -= smallestBar + 1
    var fields: [String] = []
    let failures = progress.failed > 0 ? "\(progress.failed) failed" : nil
    let time =
      progress.fraction == nil
      ? nil : Figures.padded(Figures.time(progress.eta).map { "ETA \($0)" } ?? "", to: 12)
    for field in [
      failures, time, Figures.sizeField(progress.bytes), Figures.rateField(progress.rate),
    ] {
      guard let field, room >= field.utf8.count + 2 else { continue }
      room -= field.utf8.count + 2
      fields.append(field)
    }
    let bar = bar(progress.fraction, columns: min(smallestBar + room, 60), usesColor: usesColor)
    return head + (percent.map { " " + $0 } ?? "") + " " + bar
      + fields.map { "  " + $0 }.joined()
  }

  /// The line of an item.
  package static func item(
    _ title: String, _ snapshot: ProgressSnapshot, width: Int, usesColor: Bool = false
  ) -> String {
    let indent = "  "
    let percent = Figures.padded(
      Figures.percent(snapshot.fraction).map { "\(min($0, 99))%" } ?? "", to: 4)
    let total = snapshot.total.map { "/" + Figures.sizeField($0) } ?? ""
    let bytes = Figures.padded(Figures.sizeField(snapshot.bytes) + total, to: 17)
    let stage =
      switch snapshot.stage {
      case .connecting: "connecting"
      case .waiting: "waiting"
      case .exporting: "exporting"
      case .publishing: "finishing"
      case .transferring: ""
      }
    var room = width - indent.utf8.count - percent.utf8.count - 1 - smallestTitle
    guard room >= 0 else {
      return DisplayWidth.prefix(indent + percent, columns: width)
    }
    var tail = ""
    func add(_ field: String) {
      guard room >= field.utf8.count + 2 else { return }
      room -= field.utf8.count + 2
      tail += "  " + field
    }
    add(bytes)
    add(Figures.rateField(snapshot.rate))
    if !stage.isEmpty { add(stage) }
    let columns = smallestTitle + max(0, min(room, 60))
    let name = DisplayWidth.truncate(Printable.escape(title), columns: columns)
    let filler = String(repeating: " ", count: max(0, columns - DisplayWidth.of(name)))
    return indent + name + filler + " " + percent + tail
  }

  private static func bar(_ fraction: Double?, columns: Int, usesColor: Bool) -> String {
    let inner = max(0, columns - 2)
    guard let fraction else { return "[" + String(repeating: " ", count: inner) + "]" }
    let filled = min(inner, max(0, Int(fraction * Double(inner))))
    var done = String(repeating: "=", count: filled)
    if filled > 0, filled < inner { done = done.dropLast() + ">" }
    let shown = usesColor && !done.isEmpty ? TextStyle.apply(.green, to: done) : done
    return "[" + shown + String(repeating: " ", count: inner - filled) + "]"
  }
}
