// The bar as a line of text. Pure: a snapshot, a width and a title give the line; what a terminal is,
// and when to draw, is known elsewhere.

package import VidFetchKit

/// One drawing of the bar.
package struct ProgressBar: Sendable {
  package enum Phase: Sendable, Hashable {
    /// `tick` moves the indicator where the size is unknown; one more for each drawing.
    case running(tick: Int)
    case done, failed, interrupted
  }

  /// The item's name, from outside; made safe here.
  package var title: String
  package var snapshot: ProgressSnapshot
  package var phase: Phase
  package var usesColor: Bool

  package init(
    title: String, snapshot: ProgressSnapshot, phase: Phase, usesColor: Bool = false
  ) {
    self.title = title
    self.snapshot = snapshot
    self.phase = phase
    self.usesColor = usesColor
  }

  private static let smallestBar = 12
  private static let smallestTitle = 12

  /// The line, exactly `width` columns wide, escape sequences not counted.
  ///
  /// As the width shrinks the title goes first, then the stage, the time left, the rate, the bytes,
  /// and last the bar itself. What is shown depends on the width and on whether the size is known,
  /// not on the figures, so that nothing jumps.
  package func line(width: Int) -> String {
    guard width > 0 else { return "" }
    let percent = percentField
    // What is left for the parts that come and go.
    var room = width - (percent.map { $0.utf8.count + 1 } ?? 0) - Self.smallestBar
    guard room >= 0 else { return fitted(percent ?? bytesField, to: width) }

    var fields: [String] = []
    for field in [bytesField, rateField, timeField, stageField] {
      guard let field else { continue }
      guard room >= field.utf8.count + 2 else { break }
      room -= field.utf8.count + 2
      fields.append(field)
    }
    var head = ""
    let safeTitle = Printable.escape(title)
    if fields.last == stageField, room >= Self.smallestTitle + 2, !safeTitle.isEmpty {
      // The bar gets half of what is over, so that a long title doesn't eat it.
      let limit = max(Self.smallestTitle, min(DisplayWidth.of(safeTitle), (room - 2) / 2))
      head = DisplayWidth.truncate(safeTitle, columns: limit)
      room -= DisplayWidth.of(head) + 2
      head += "  "
    }
    let bar = bar(columns: Self.smallestBar + room)
    let tail = fields.map { "  " + $0 }.joined()
    return head + (percent.map { $0 + " " } ?? "") + bar + tail
  }

  // MARK: Fields

  /// 4 columns; nil where no honest percentage is to be had.
  private var percentField: String? {
    if phase == .done { return "100%" }
    guard let percent = Figures.percent(snapshot.fraction) else { return nil }
    return Figures.padded("\(min(percent, 99))%", to: 4)
  }

  private var bytesField: String {
    let bytes = Figures.sizeField(snapshot.bytes)
    guard let total = snapshot.total else { return bytes }
    return bytes + "/" + Figures.sizeField(total)
  }

  private var rateField: String { Figures.rateField(snapshot.rate) }

  private var timeField: String? {
    if snapshot.fraction == nil { return nil }
    // The field stays where there is nothing left to tell, so that the last line stands like the others.
    var time: String?
    if case .running = phase { time = Figures.time(snapshot.eta) }
    return Figures.padded(time.map { "ETA \(Figures.padded($0, to: 8))" } ?? "", to: 12)
  }

  /// 11 columns.
  private var stageField: String {
    let stage =
      switch phase {
      case .done: "done"
      case .failed: "failed"
      case .interrupted: "interrupted"
      case .running:
        switch snapshot.stage {
        case .connecting: "connecting"
        case .transferring: "downloading"
        case .waiting: "waiting"
        case .exporting: "exporting"
        case .publishing: "finishing"
        }
      }
    return stage + String(repeating: " ", count: 11 - stage.utf8.count)
  }

  // MARK: Bar

  private func bar(columns: Int) -> String {
    let inner = max(0, columns - 2)
    let fraction = phase == .done ? 1 : snapshot.fraction
    guard let fraction, fraction.isFinite else { return "[" + indicator(columns: inner) + "]" }
    let filled = min(inner, max(0, Int(min(1, max(0, fraction)) * Double(inner))))
    var done = String(repeating: "=", count: filled)
    if phase != .done, filled > 0 { done = done.dropLast() + ">" }
    return "[" + colored(done) + String(repeating: " ", count: inner - filled) + "]"
  }

  /// Something that moves to and fro where the size is unknown.
  private func indicator(columns: Int) -> String {
    let mark = "<=>"
    let way = columns - mark.utf8.count
    guard case .running(let tick) = phase, way > 0 else {
      return String(repeating: " ", count: columns)
    }
    let step = ((tick % (2 * way)) + 2 * way) % (2 * way)
    let position = step <= way ? step : 2 * way - step
    return String(repeating: " ", count: position) + colored(mark)
      + String(repeating: " ", count: way - position)
  }

  private func colored(_ text: String) -> String {
    guard usesColor, !text.isEmpty else { return text }
    return TextStyle.apply(phase == .failed || phase == .interrupted ? .red : .green, to: text)
  }

  private func fitted(_ text: String, to width: Int) -> String {
    let text = DisplayWidth.prefix(text, columns: width)
    return text + String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
  }
}

/// The few colours that are used (ECMA-48 SGR).
package enum TextStyle: String, Sendable {
  case red = "\u{1B}[31m"
  case green = "\u{1B}[32m"
  case yellow = "\u{1B}[33m"

  /// `text` in this colour.
  package static func apply(_ style: TextStyle, to text: String) -> String {
    style.rawValue + text + "\u{1B}[0m"
  }
}
