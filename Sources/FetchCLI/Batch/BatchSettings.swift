/// How many items run together, and when a run of them ends.
package struct BatchSettings: Sendable {
  /// Items side by side; 0 finds out.
  package var jobs = 0
  /// At one host.
  package var jobsPerHost = 8
  package var inOrder = false
  package var failFast = false
  /// Attempts at an item that is worth another; nil for one in this run, whatever others did.
  package var maxAttempts: Int?
  /// Whether a list may have no item.
  package var allowsEmpty = false
  /// The command to run on each file, words as typed; empty for none.
  package var hook: [String] = []

  package init() {}
}
