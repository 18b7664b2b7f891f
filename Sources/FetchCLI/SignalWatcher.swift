// Signals as events. They are blocked in every thread and taken by one of our own with sigwait(3), so
// no handler ever runs in the midst of something. The first of SIGINT, SIGTERM and SIGHUP cancels what
// runs; the second, or a second of time, ends the process at once.

package import FetchCore
import Glibc

/// Takes the process's signals from before the first thread until the end.
package final class SignalWatcher: Sendable {
  /// How long the running job has to stop.
  private static let grace = Duration.milliseconds(900)
  /// Two signals that are less than this apart are one: timeout(1) signals its child and then its
  /// group, and a wrapper may forward what the terminal has sent to all.
  private static let echo = Duration.milliseconds(100)

  private struct State {
    var cancel: (@Sendable () -> Void)?
    var isInterrupted = false
  }

  private let inbox: EventInbox
  private let terminal: Terminal
  private let endings: [Int32]
  private let state = Locked(State())

  /// Blocks the signals in this thread and those that it makes.
  ///
  /// To be called before there is another.
  ///
  /// Signals that were ignored when the process began stay ignored, as nohup(1) and a shell's `&`
  /// want it.
  package init(inbox: EventInbox, terminal: Terminal) {
    self.inbox = inbox
    self.terminal = terminal
    endings = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
    var set = watchedSet
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Starts the thread that takes the signals.
  package func start() throws(SystemError) {
    try WorkerThread.start("signals") { self.watch() }
  }

  /// Names the job that a signal cancels; one that comes after a signal is cancelled at once.
  package func setJob(_ cancel: (@Sendable () -> Void)?) {
    let isLate = state.withLock { state in
      state.cancel = cancel
      return state.isInterrupted
    }
    if isLate { cancel?() }
  }

  private var watchedSet: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in endings + [SIGWINCH, SIGCONT] { sigaddset(&set, signal) }
    return set
  }

  private func watch() {
    var set = watchedSet
    while true {
      var signal: Int32 = 0
      guard sigwait(&set, &signal) == 0 else { return }
      switch signal {
      case SIGWINCH: inbox.post(.resized)
      case SIGCONT: inbox.post(.continued)
      default: interrupt(by: signal)
      }
    }
  }

  /// Asks for the end, and sees to it if nobody else does.
  private func interrupt(by signal: Int32) -> Never {
    let began = ContinuousClock.now
    let deadline = began + Self.grace
    let cancel = state.withLock { state in
      state.isInterrupted = true
      return state.cancel
    }
    inbox.post(.interrupted(by: signal))
    cancel?()
    var set = watchedSet
    while true {
      let left = max(deadline - ContinuousClock.now, .zero).components
      var time = timespec(
        tv_sec: Int(left.seconds), tv_nsec: Int(left.attoseconds / 1_000_000_000))
      let next = sigtimedwait(&set, nil, &time)
      if next < 0, errno == EINTR { continue }
      if next >= 0, !endings.contains(next) || ContinuousClock.now - began < Self.echo { continue }
      terminal.abandonBar()
      ProcessEnding.signal(next < 0 ? signal : next).end()
    }
  }

  private static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return false }
    // The handler is a C union; its two names are one pointer, which has no ==.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
