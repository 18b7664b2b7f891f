// A lock with a condition, over pthreads: how a thread of ours waits for another without polling.

import Glibc

/// State that one thread waits on and others change.
///
/// SAFETY of `@unchecked Sendable`: `state` is touched only between lock and unlock of `mutex`; the
/// two pthread objects are heap cells that live exactly as long as this object, and never move.
package final class Monitor<State>: @unchecked Sendable {
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init(_ state: sending State) {
    self.state = state
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // Deadlines must not move when somebody sets the clock.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Reads or changes the state, and wakes every waiter.
  ///
  /// Any thread.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_broadcast(condition)
      pthread_mutex_unlock(mutex)
    }
    return try body(&state)
  }

  /// Reads the state without waking anybody.
  package func peek<Result>(_ body: (State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(state)
  }

  /// Waits until `body` returns a value, looking after each change; nil when `timeout` has passed.
  ///
  /// Blocks its thread: never call it in a task. Without a timeout it waits for ever.
  package func wait<Result>(
    timeout: Duration? = nil, until body: (inout State) throws -> Result?
  ) rethrows -> Result? {
    var deadline = timespec()
    if let timeout {
      clock_gettime(CLOCK_MONOTONIC, &deadline)
      let (seconds, attoseconds) = max(timeout, .zero).components
      let nanoseconds = Int64(deadline.tv_nsec) + attoseconds / 1_000_000_000
      deadline.tv_sec += Int(seconds) + Int(nanoseconds / 1_000_000_000)
      deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
    }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = try body(&state) { return result }
      if timeout == nil {
        pthread_cond_wait(condition, mutex)
      } else if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT {
        return try body(&state)
      }
    }
  }
}
