// The items of a run, read on a thread of their own: a list may be a pipe that nothing comes from for
// hours, and a shard may have to pass over many lines. A few are read ahead, never the whole list.

import FetchCore
import VidFetchKit

/// The queue between the list and the run.
final class ItemFeed: Sendable {
  /// What there is to take.
  enum Offer {
    case item(BatchItem)
    /// Nothing yet; a message follows in the inbox when there is.
    case nothingYet
    /// All has been taken; the error is the list's.
    case end(SystemError?)
  }

  private struct State {
    var items: [BatchItem] = []
    var first = 0
    var hasEnded = false
    var isAbandoned = false
    var error: SystemError?
    /// Whether the taker wants a message.
    var isAwaited = false
    var read = 0
    /// Counted beforehand.
    var expected: Int?
    /// Items of all shards.
    var readOfAll = 0
  }

  private static let ahead = 512

  private let state = Monitor(State())

  /// Starts to read.
  ///
  /// - Parameters:
  ///   - inbox: gets `.items` when there is something to take again.
  ///   - reader: belongs to the feed's thread from here on.
  func start(
    announcing inbox: EventInbox, reading reader: sending ItemReader
  ) throws(SystemError) {
    // SAFETY: sent here by its only owner, and handed over to the one thread that uses it.
    nonisolated(unsafe) let reader = reader
    try WorkerThread.start("vidfetch-list") { [self] in
      if let expected = reader.expectedItems() { state.withLock { $0.expected = expected } }
      while true {
        let next: BatchItem?
        do throws(SystemError) {
          next = try reader.next()
        } catch {
          end(error, inbox)
          return
        }
        guard let next else {
          state.withLock { $0.readOfAll = reader.itemsOfAll }
          end(nil, inbox)
          return
        }
        guard put(next, inbox) else { return }
      }
    }
  }

  /// Takes the next item; never waits.
  func take() -> Offer {
    state.withLock { state in
      guard state.first < state.items.count else {
        if state.hasEnded { return .end(state.error) }
        state.isAwaited = true
        return .nothingYet
      }
      let item = state.items[state.first]
      state.first += 1
      if state.first == state.items.count || state.first >= Self.ahead {
        state.items.removeFirst(state.first)
        state.first = 0
      }
      return .item(item)
    }
  }

  /// How many items there are in all; nil while that isn't known.
  var total: Int? {
    state.peek { state in
      state.hasEnded ? state.read : state.expected.map { max($0, state.read) }
    }
  }

  /// Items that were read so far, those of other shards included.
  var readOfAll: Int { state.peek { $0.readOfAll } }

  /// Lets the thread go when it comes back from its reading.
  func abandon() {
    state.withLock { $0.isAbandoned = true }
  }

  /// Waits for room; false where nobody takes any more.
  private func put(_ item: BatchItem, _ inbox: EventInbox) -> Bool {
    let (isTaken, isAwaited) =
      state.wait { state -> (Bool, Bool)? in
        if state.isAbandoned { return (false, false) }
        guard state.items.count - state.first < Self.ahead else { return nil }
        state.items.append(item)
        state.read += 1
        defer { state.isAwaited = false }
        return (true, state.isAwaited)
      } ?? (false, false)
    if isAwaited { inbox.post(.items) }
    return isTaken
  }

  private func end(_ error: SystemError?, _ inbox: EventInbox) {
    state.withLock { state in
      state.hasEnded = true
      state.error = error
    }
    inbox.post(.items)
  }
}
