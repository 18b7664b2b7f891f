// Where the jobs' threads and the signal thread leave what happened, for the main thread to take. A
// slow terminal holds up the main thread only, never a job.

package import FetchCore
package import VidFetchKit

/// A queue of what happened, in order.
package final class EventInbox: Sendable {
  package enum Message: Sendable {
    /// From the job of this number.
    case job(Int, JobEvent)
    /// The command on an item's file has ended.
    case hook(Int, FetchError?)
    /// A line of what that command has said.
    case said(Int, String)
    /// There are items to be taken.
    case items
    case resized, continued
    case interrupted(by: Int32)
  }

  private struct State {
    /// From the oldest, at `first`, on.
    var messages: [Message] = []
    var first = 0
    /// Where a job's progress stands that nobody has looked at.
    var progress: [Int: Int] = [:]

    mutating func take() -> Message? {
      guard first < messages.count else { return nil }
      let message = messages[first]
      if case .job(let job, .progress) = message, progress[job] == first { progress[job] = nil }
      first += 1
      if first == messages.count {
        messages.removeAll(keepingCapacity: first < 1024)
        first = 0
      } else if first >= 4096 {
        messages.removeFirst(first)
        progress = progress.mapValues { $0 - first }
        first = 0
      }
      return message
    }
  }

  private let state = Monitor(State())

  package init() {}

  /// Adds a message.
  ///
  /// Any thread; doesn't wait for a reader.
  package func post(_ message: Message) {
    state.withLock { state in
      if case .job(let job, let event) = message {
        if case .progress = event {
          // Of snapshots that nobody has looked at the newest is enough, so a slow reader costs no
          // memory.
          if let index = state.progress[job] {
            state.messages[index] = message
            return
          }
          // The first one is looked at in any case, since it says 0.
          if state.first < state.messages.count { state.progress[job] = state.messages.count }
        } else {
          // What comes after something else stays after it.
          state.progress[job] = nil
        }
      }
      state.messages.append(message)
    }
  }

  /// Takes the oldest message; nil when `timeout` has passed without one.
  ///
  /// Blocks its thread.
  package func next(timeout: Duration?) -> Message? {
    state.wait(timeout: timeout) { $0.take() }
  }
}
