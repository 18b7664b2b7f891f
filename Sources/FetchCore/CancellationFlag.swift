// Cancellation as a level, not an edge: once set it stays set, and a child hears its parent. Polled
// in C callbacks, and observed by whoever has to be woken.

import Synchronization

/// A flag that goes from clear to set once, with children that follow it.
package final class CancellationFlag: Sendable {
  private struct State {
    var isSet = false
    var nextToken = 0
    var observers: [Int: @Sendable () -> Void] = [:]
  }

  private let raised = Atomic<Bool>(false)
  private let state = Locked(State())

  package init() {}

  /// Makes a flag that is set when `parent` is, and that can be set alone.
  package init(childOf parent: CancellationFlag) {
    parent.onCancel { [weak self] in self?.cancel() }
  }

  /// Whether the flag is set.
  ///
  /// Any thread, no lock.
  package var isCancelled: Bool { raised.load(ordering: .acquiring) }

  /// Sets the flag and runs the observers once, on the calling thread.
  package func cancel() {
    let observers: [@Sendable () -> Void] = state.withLock { state in
      guard !state.isSet else { return [] }
      state.isSet = true
      raised.store(true, ordering: .releasing)
      defer { state.observers = [:] }
      return Array(state.observers.values)
    }
    for observer in observers { observer() }
  }

  /// Runs `observer` once when the flag is set, at once where it is already.
  ///
  /// Returns a token for `removeObserver(_:)`; nil where the observer has already run.
  @discardableResult
  package func onCancel(_ observer: @escaping @Sendable () -> Void) -> Int? {
    let token: Int? = state.withLock { state in
      guard !state.isSet else { return nil }
      state.nextToken += 1
      state.observers[state.nextToken] = observer
      return state.nextToken
    }
    if token == nil { observer() }
    return token
  }

  /// Forgets an observer; one that is already running is not waited for.
  package func removeObserver(_ token: Int?) {
    guard let token else { return }
    state.withLock { $0.observers[token] = nil }
  }
}
