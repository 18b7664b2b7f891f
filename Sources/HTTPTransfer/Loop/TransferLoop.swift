// The one thread that owns libcurl's multi handle. Others post commands and wake it; all else happens
// there: moving handles, callbacks, delegates, writes.

import CCurl
import FetchCore
import Glibc

/// Runs exchanges.
///
/// The thread starts with the first exchange and sleeps in `curl_multi_poll` when there is none.
package final class TransferLoop: Sendable {
  /// For the whole process.
  package static let shared = TransferLoop()

  private let inbox: TransferInbox
  private let environment: TransferEnvironment
  private let classify: @Sendable (String) -> AddressClass?

  /// Makes a loop with the process's environment, as it is now.
  package convenience init() { self.init(environment: .current) }

  /// - Parameters:
  ///   - environment: where proxies and certificates are named.
  ///   - classify: says what a numeric address is; nil where it is none.
  package init(
    environment: TransferEnvironment,
    classify: @escaping @Sendable (String) -> AddressClass? = { AddressClass($0) }
  ) {
    inbox = TransferInbox(CurlLibrary.problem == nil ? Self.makeMulti() : nil)
    self.environment = environment
    self.classify = classify
  }

  deinit { inbox.close() }

  /// Starts an exchange.
  ///
  /// Any thread; never waits.
  /// Where no thread can be made, `didFinish` is called before this returns.
  package func start(
    _ request: HTTPRequest, delegate: any ExchangeDelegate
  ) -> ExchangeID {
    let id = inbox.makeID()
    if let problem = CurlLibrary.problem ?? startThread() {
      delegate.exchange(id, didFinish: .failed(TransferFailure(.internal, problem)))
    } else {
      inbox.post(.start(id, request, delegate))
    }
    return id
  }

  /// Ends an exchange with `.cancelled`; one that has ended stays as it is.
  ///
  /// Any thread; never waits.
  package func cancel(_ id: ExchangeID) { inbox.post(.cancel(id)) }

  /// Changes the limit of a running exchange, in bytes a second; nil takes it away.
  ///
  /// Any thread; never waits.
  package func setRateLimit(_ id: ExchangeID, _ bytesPerSecond: Int64?) {
    inbox.post(.limit(id, bytesPerSecond))
  }

  /// A multi handle that can be woken; without descriptors for that, libcurl makes one all the same,
  /// and its loop would sleep for ever.
  private static func makeMulti() -> UnsafeMutableRawPointer? {
    guard let multi = curl_multi_init() else { return nil }
    if curl_multi_wakeup(multi) == CURLM_OK { return multi }
    curl_multi_cleanup(multi)
    return nil
  }

  private func startThread() -> FetchError? {
    guard inbox.claimThread() else { return nil }
    guard let multi = inbox.multi else {
      inbox.threadFailed()
      return SystemError("curl_multi_init", errno: EMFILE).fetchError("starting libcurl")
    }
    let environment = environment
    let classify = classify
    let inbox = inbox
    do {
      // SAFETY: `multi` was made on another thread, and from here on belongs to this one, but for
      // `curl_multi_wakeup`, which libcurl allows from anywhere and the inbox calls under its lock.
      nonisolated(unsafe) let multi = multi
      try WorkerThread.start("vidfetch-http") {
        LoopThread(multi, inbox: inbox, environment: environment, classify: classify).run()
      }
      return nil
    } catch {
      inbox.threadFailed()
      return error.fetchError("starting the transfer thread")
    }
  }
}

/// What is asked of the loop.
enum TransferCommand: Sendable {
  case start(ExchangeID, HTTPRequest, any ExchangeDelegate)
  case cancel(ExchangeID)
  case limit(ExchangeID, Int64?)
}

/// The loop's letter box.
///
/// SAFETY of `@unchecked Sendable`: `multi` is only passed to `curl_multi_wakeup`, which any thread may
/// call, and only under the lock while the box is open; the loop's thread frees the handle after it has
/// seen the box closed under the same lock, or `close` does where no thread was started.
final class TransferInbox: @unchecked Sendable {
  private struct State {
    var commands: [TransferCommand] = []
    var isOpen = true
    var hasThread = false
    var lastID: UInt64 = 0
  }

  private let state = Monitor(State())
  let multi: UnsafeMutableRawPointer?

  init(_ multi: UnsafeMutableRawPointer?) { self.multi = multi }

  func makeID() -> ExchangeID {
    state.withLock { state in
      state.lastID += 1
      return ExchangeID(number: state.lastID)
    }
  }

  func post(_ command: TransferCommand) {
    state.withLock { state in
      guard state.isOpen else { return }
      state.commands.append(command)
      wake()
    }
  }

  /// Whether the caller is the one who starts the thread.
  func claimThread() -> Bool {
    state.withLock { state in
      defer { state.hasThread = true }
      return !state.hasThread
    }
  }

  func threadFailed() { state.withLock { $0.hasThread = false } }

  /// Tells the thread to end everything and go.
  func close() {
    let isOrphan = state.withLock { state in
      state.isOpen = false
      if state.hasThread { wake() }
      return !state.hasThread
    }
    if isOrphan, let multi { curl_multi_cleanup(multi) }
  }

  /// Takes what was posted; nil once the box is closed and empty.
  func take() -> [TransferCommand]? {
    state.withLock { state in
      if state.commands.isEmpty, !state.isOpen { return nil }
      defer { state.commands = [] }
      return state.commands
    }
  }

  private func wake() {
    if let multi { curl_multi_wakeup(multi) }
  }
}

/// What lives on the loop's thread.
private final class LoopThread {
  private let multi: UnsafeMutableRawPointer
  private let inbox: TransferInbox
  private let environment: TransferEnvironment
  private let classify: @Sendable (String) -> AddressClass?
  private var exchanges: [ExchangeID: Exchange] = [:]
  /// Which exchange a handle belongs to.
  private var owners: [UnsafeMutableRawPointer: ExchangeID] = [:]

  init(
    _ multi: UnsafeMutableRawPointer, inbox: TransferInbox, environment: TransferEnvironment,
    classify: @escaping @Sendable (String) -> AddressClass?
  ) {
    self.multi = multi
    self.inbox = inbox
    self.environment = environment
    self.classify = classify
    // Idle connections that are kept; without it libcurl keeps four times the most ever used.
    vf_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 32)
  }

  func run() {
    blockBrokenPipeSignal()
    while let commands = inbox.take() {
      commands.forEach(obey)
      let roundStart = Monotonic.now
      var running: Int32 = 0
      let result = curl_multi_perform(multi, &running)
      if result != CURLM_OK { abandonAll(reason: result) }
      collect()
      let timeout = tick(roundStart: roundStart)
      curl_multi_poll(multi, nil, 0, timeout, nil)
    }
    for exchange in exchanges.values { end(exchange, exchange.cancellation) }
    curl_multi_cleanup(multi)
  }

  /// Keeps SIGPIPE from this thread, and so from the process: OpenSSL writes to sockets without
  /// MSG_NOSIGNAL, and what a process does about signals isn't a library's to change.
  private func blockBrokenPipeSignal() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  private func obey(_ command: TransferCommand) {
    switch command {
    case .start(let id, let request, let delegate):
      let exchange = Exchange(
        id: id, request: request, delegate: delegate, environment: environment, classify: classify)
      exchanges[id] = exchange
      // One limit for all: what waits for a connection waits inside libcurl.
      if let most = request.settings.connectionsPerHost {
        vf_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, most)
      }
      start(exchange, hop: request.url)
    case .cancel(let id):
      if let exchange = exchanges[id] { end(exchange, exchange.cancellation) }
    case .limit(let id, let bytesPerSecond):
      exchanges[id]?.setRateLimit(bytesPerSecond)
    }
  }

  private func start(_ exchange: Exchange, hop url: HTTPURL) {
    do {
      try exchange.prepareHop(to: url)
    } catch {
      end(exchange, error)
      return
    }
    guard let easy = exchange.easy, curl_multi_add_handle(multi, easy.pointer) == CURLM_OK else {
      let error = FetchError(.internal, "libcurl doesn't take the request")
      // It isn't on the multi handle, so only the exchange is to be ended.
      exchange.releaseHandle()
      end(exchange, exchange.failure(.internal, error))
      return
    }
    owners[easy.pointer] = exchange.id
  }

  /// Takes the hops that libcurl is done with.
  private func collect() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let exchange = owners[easy].flatMap({ exchanges[$0] })
      else { continue }
      endHop(of: exchange, vf_message_result(message))
    }
  }

  /// Goes on to the next hop, or ends the exchange.
  private func endHop(of exchange: Exchange, _ result: CURLcode) {
    let next = exchange.hopDidEnd(result)
    remove(exchange)
    switch next {
    case .hop(let url):
      start(exchange, hop: url)
    case .finish(let outcome):
      exchanges[exchange.id] = nil
      exchange.finish(outcome)
    }
  }

  /// Does what is due, and returns the milliseconds until something is again.
  private func tick(roundStart: Int64) -> Int32 {
    let now = Monotonic.now
    var next = Int64.max
    for exchange in exchanges.values {
      switch exchange.tick(now: now, roundStart: roundStart) {
      case .failure(let failure): end(exchange, failure)
      case .hopIsOver: endHop(of: exchange, CURLE_OK)
      case .nothing: next = min(next, exchange.nextTick ?? .max)
      }
    }
    guard next < .max else { return .max }
    return Int32(clamping: max(0, (next - now + 999_999) / 1_000_000))
  }

  private func end(_ exchange: Exchange, _ failure: TransferFailure) {
    remove(exchange)
    exchanges[exchange.id] = nil
    exchange.abandon(failure)
  }

  private func remove(_ exchange: Exchange) {
    guard let easy = exchange.easy else { return }
    owners[easy.pointer] = nil
    curl_multi_remove_handle(multi, easy.pointer)
    exchange.releaseHandle()
  }

  private func abandonAll(reason: CURLMcode) {
    let text = curl_multi_strerror(reason).map { String(cString: $0) }
    for exchange in exchanges.values {
      let error = FetchError(.internal, "the transfers can't go on", reason: text)
      end(exchange, exchange.failure(.internal, error))
    }
  }
}
