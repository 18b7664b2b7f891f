// Progress as lines, for a log rather than a screen: one at the start, one each tenth or each ten
// seconds, one at the end. Pure.

import FetchCore
package import VidFetchKit

/// The plain lines of one item.
package struct PlainProgress: Sendable {
  private static let longestSilence = Duration.seconds(10)

  /// The item's name, from outside; made safe here.
  package var title: String
  private var lastTenth = 0
  private var lastLine: Duration

  /// - Parameter now: when the item began, on the clock of the later calls.
  package init(title: String, now: Duration) {
    self.title = title
    lastLine = now
  }

  package func startLine(url: String) -> String { "vidfetch: fetching \(Printable.escape(url))" }

  /// The line for a snapshot, where one is due.
  package mutating func line(for snapshot: ProgressSnapshot, at now: Duration) -> String? {
    let percent = Figures.percent(snapshot.fraction).map { min($0, 99) }
    let tenth = (percent ?? 0) / 10
    guard tenth > lastTenth || now - lastLine >= Self.longestSilence else { return nil }
    lastTenth = max(lastTenth, tenth)
    lastLine = now
    var parts: [String] = []
    if let percent { parts.append("\(percent) %") }
    let total = snapshot.total.map { " of \(Figures.size($0))" } ?? ""
    parts.append(Figures.size(snapshot.bytes) + total)
    if let rate = Figures.rate(snapshot.rate) { parts.append(rate) }
    if percent != nil, let eta = Figures.time(snapshot.eta) { parts.append("\(eta) left") }
    if snapshot.stage == .waiting { parts.append("waiting") }
    if snapshot.stage == .publishing { parts.append("finishing") }
    return "vidfetch: \(Printable.escape(title)): \(parts.joined(separator: ", "))"
  }

  /// The last line of an item that is in place.
  package func endLine(_ result: JobResult, elapsed: Duration) -> String {
    let size = result.bytes.map { ", \(Figures.size($0))" } ?? ""
    return "vidfetch: \(Printable.escape(title)): done\(size) in \(Figures.seconds(elapsed))"
  }
}
