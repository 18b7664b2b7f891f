// What a report tells, whatever its form. Pure.

import FetchCore

/// The outcomes of all items.
package struct ReportContents: Sendable, Hashable {
  /// The items that failed with one code.
  package struct Failures: Sendable, Hashable {
    package var code: String
    package var exit: Int32
    /// In the order in which they were met first.
    package var items: [RecordedResult] = []

    /// - Parameter exit: the recorded status, for a code that isn't known here.
    package init(code: String, exit: Int32?) {
      self.code = code
      self.exit = OutcomeCode(rawValue: code)?.exitStatus ?? exit ?? .max
    }

    /// What these items need.
    package var advice: String? {
      switch exit {
      case 10..<20: "worth a re-run"
      case 40..<43: "mend this machine first"
      case 128...: code == OutcomeCode.signal.rawValue ? "interrupted" : nil
      default: nil
      }
    }
  }

  package var ok = 0
  package var skipped = 0
  /// By exit status.
  package var failures: [Failures] = []
  /// Empty where the report doesn't name them.
  package var successes: [RecordedResult] = []
  /// Of all files that are in place.
  package var bytes: Int64 = 0
  /// How many results there were, of any item.
  package var results = 0
  /// How many lines could not be read.
  package var unreadable = 0
  /// How many machines there were.
  package var hosts = 0
  /// From the end of the first item to that of the last.
  package var period: ClosedRange<Timestamp>?

  package init() {}

  package var failed: Int { failures.reduce(0) { $0 + $1.items.count } }
  package var items: Int { ok + skipped + failed }

  /// The whole in one sentence.
  package var headline: String {
    switch (items, failed) {
    case (0, _): "no results"
    case (1, 0): "the one item is done"
    case (1, _): "the one item failed"
    case (_, 0): "all \(items) items are done"
    case (_, items): "all \(items) items failed"
    default: "\(failed) of \(items) items failed"
    }
  }

  /// How much there is, when and where it was made, and what the report was put together from.
  package var facts: [String] {
    var facts: [String] = []
    if bytes > 0 { facts.append("\(Figures.size(bytes)) in place") }
    if let period { facts.append(Self.text(period)) }
    if hosts > 1 { facts.append("\(hosts) machines") }
    if results > items { facts.append("merged from \(results) results") }
    if unreadable > 0 {
      facts.append(unreadable == 1 ? "1 unreadable line" : "\(unreadable) unreadable lines")
    }
    return facts
  }

  /// `2026-11-30 13:58 to 14:20 UTC`; the second date only where it is another.
  private static func text(_ period: ClosedRange<Timestamp>) -> String {
    let (begin, end) = (period.lowerBound.minute, period.upperBound.minute)
    if begin == end { return "\(begin.date) \(begin.time) UTC" }
    let last = begin.date == end.date ? end.time : "\(end.date) \(end.time)"
    return "\(begin.date) \(begin.time) to \(last) UTC"
  }
}
