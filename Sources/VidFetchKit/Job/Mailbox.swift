import FetchCore

/// Messages to one thread, in order.
///
/// Any thread posts, one waits.
final class Mailbox<Message: Sendable>: Sendable {
  private let messages = Monitor<[Message]>([])

  func post(_ message: Message) {
    messages.withLock { $0.append(message) }
  }

  /// The oldest message, waited for; nil once `timeout` has passed.
  ///
  /// Blocks its thread.
  func next(timeout: Duration?) -> Message? {
    messages.wait(timeout: timeout) { $0.isEmpty ? nil : $0.removeFirst() }
  }
}
