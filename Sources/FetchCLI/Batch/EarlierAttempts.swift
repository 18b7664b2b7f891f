// How often items have failed in earlier runs, from the results file. Pure, but for the reading.

import FetchCore

/// Failed attempts that were worth another, counted since an item's last other outcome.
struct EarlierAttempts: Sendable {
  /// What is known of an item.
  struct Failures: Sendable {
    var count = 0
    /// Of the last one.
    var code: OutcomeCode
  }

  /// What an item is known by across runs.
  private struct Key: Hashable {
    let url: String
    let format: String
  }

  private var failures: [Key: Failures] = [:]

  init() {}

  /// Takes in a line of a results file.
  mutating func add(_ line: RecordedLine) {
    guard case .result(let result) = line else { return }
    let key = Key(url: result.id ?? result.url, format: result.format ?? "")
    switch OutcomeCode(rawValue: result.code) {
    case let code? where code.isRetryable:
      // A line without a number tells that there was no other attempt.
      guard result.attempt != nil else { return }
      failures[key, default: Failures(code: code)].count += 1
      failures[key]?.code = code
    case .signal: break
    default: failures[key] = nil
    }
  }

  /// Attempts at an item, by its id; nil for none.
  func failures(id: String?, url: String, format: String) -> Failures? {
    failures[Key(url: id ?? url, format: format)]
  }
}
