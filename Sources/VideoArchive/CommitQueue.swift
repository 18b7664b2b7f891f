// Who waits for a commit, as a value. The threads that record are served by one of them, the leader:
// it commits all that have come so far, so that many rows cost one sync of the disk.

import FetchCore

/// Entries on their way into the archive.
struct CommitQueue: Sendable {
  /// One thread's place in the queue.
  struct Ticket: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  private var next: UInt64 = 0
  private var waiting: [(Ticket, ArchiveEntry)] = []
  /// Those that the leader has, whose outcome is still open.
  private var taken: [Ticket] = []
  private var outcomes: [Ticket: Result<Void, FetchError>] = [:]

  /// How many wait for a commit that has not taken them in.
  var count: Int { waiting.count }

  mutating func enter(_ entry: ArchiveEntry) -> Ticket {
    let ticket = Ticket(number: next)
    next += 1
    waiting.append((ticket, entry))
    return ticket
  }

  /// All that wait, in the order in which they came; for the leader, whose own is among them.
  mutating func takeAll() -> [ArchiveEntry] {
    defer { waiting.removeAll(keepingCapacity: true) }
    taken += waiting.map(\.0)
    return waiting.map(\.1)
  }

  /// What was taken has this outcome.
  mutating func settle(_ outcome: Result<Void, FetchError>) {
    for ticket in taken { outcomes[ticket] = outcome }
    taken.removeAll(keepingCapacity: true)
  }

  /// The ticket's outcome, once there is one; it is told once.
  mutating func outcome(of ticket: Ticket) -> Result<Void, FetchError>? {
    outcomes.removeValue(forKey: ticket)
  }
}
