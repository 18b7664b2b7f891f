// Items that another run is fetching to the same place. Where what it makes will do (an archive, or
// --skip-existing), they are looked at again until it has. Pure: times come from the caller.

/// What is held by other runs.
struct HeldItems {
  /// More than these are not waited for.
  static let most = 16_384
  private static let firstWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(10)

  /// How long an item is waited for in all.
  private let patience: Duration
  private var items: [BatchItem] = []
  private var heldSince: [Int: Duration] = [:]
  private var wait = firstWait
  /// When they are looked at again; nil where there are none.
  private(set) var due: Duration?

  init(patience: Duration) { self.patience = patience }

  var isEmpty: Bool { items.isEmpty }

  /// Whether an item was taken in and has not come to its end, be it that it waits for its turn again.
  func hasHeld(_ job: Int) -> Bool { heldSince[job] != nil }

  /// Takes an item in; false where it has been waited for long enough.
  mutating func hold(_ item: BatchItem, at now: Duration) -> Bool {
    let since = heldSince[item.job, default: now]
    guard items.count < Self.most, now - since < patience else { return false }
    heldSince[item.job] = since
    items.append(item)
    due = due ?? now + wait
    return true
  }

  /// Forgets an item that has come to its end.
  mutating func forget(_ job: Int) {
    heldSince[job] = nil
    if heldSince.isEmpty { wait = Self.firstWait }
  }

  /// Takes out all, where it is time to look at them again.
  mutating func takeDue(at now: Duration) -> [BatchItem] {
    guard let due, due <= now else { return [] }
    defer {
      items = []
      self.due = nil
      wait = min(wait * 2, Self.longestWait)
    }
    return items
  }
}
