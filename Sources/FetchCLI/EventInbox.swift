// Where the job's thread and the signal thread leave what happened, for the main thread to take. A
// slow terminal holds up the main thread only, never a job.

import FetchCore
package import VidFetchKit

/// A queue of what happened, in order.
package final class EventInbox: Sendable {
  package enum Message: Sendable {
    case job(JobEvent)
    case resized, continued
    case interrupted(by: Int32)
  }

  private let messages = Monitor<[Message]>([])

  package init() {}

  /// Adds a message.
  ///
  /// Any thread; doesn't wait for a reader.
  package func post(_ message: Message) {
    messages.withLock { messages in
      // Of snapshots that nobody has looked at the newest is enough, so a slow reader costs no memory.
      if case .job(.progress) = message, case .job(.progress) = messages.last, messages.count > 1 {
        messages.removeLast()
      }
      messages.append(message)
    }
  }

  /// Takes the oldest message; nil when `timeout` has passed without one.
  ///
  /// Blocks its thread.
  package func next(timeout: Duration?) -> Message? {
    messages.wait(timeout: timeout) { $0.isEmpty ? nil : $0.removeFirst() }
  }
}
