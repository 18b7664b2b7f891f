// Time that passes only when nothing is left to do at a moment.

/// Events in the order of their time; one thread only.
final class MadeUpTime {
  private struct Event {
    let at: Int64
    let number: Int
    let action: () -> Void
  }

  /// Nanoseconds.
  private(set) var now: Int64 = 1_000_000_000_000
  private var events: [Event] = []
  private var count = 0

  func after(_ wait: Int64, _ action: @escaping () -> Void) {
    count += 1
    let event = Event(at: now + max(0, wait), number: count, action: action)
    let place = events.firstIndex { ($0.at, $0.number) < (event.at, event.number) }
    events.insert(event, at: place ?? events.endIndex)
  }

  /// Does what is due next; false where nothing is.
  func step() -> Bool {
    guard let event = events.popLast() else { return false }
    now = event.at
    event.action()
    return true
  }
}
