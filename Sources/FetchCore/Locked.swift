// A value behind a lock. Not `Synchronization.Mutex`: on Linux that is a futex of its own, which the
// thread sanitizer can't see, so that every use of it is reported as a race.

import Glibc

/// State that several threads change, one at a time.
///
/// SAFETY of `@unchecked Sendable`: `cell` is touched only between lock and unlock of `mutex`, which
/// is a heap cell that lives exactly as long as this object, and never moves.
package final class Locked<State>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  // Never of no size: a state that is (`Void`) has its neighbour's address, and the thread sanitizer
  // takes the reading of that, before the lock is had, for an access to the state.
  private var cell: (state: State, byte: UInt8)

  package init(_ state: sending State) {
    cell = (state, 0)
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Reads or changes the state; never called from within itself.
  ///
  /// Any thread. Nothing that waits or calls others belongs into `body`.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&cell.state)
  }
}
