// Both ends of an exchange for tests: a sink in memory, and a delegate that remembers.

import FetchCore
import HTTPTransfer

/// Takes bytes into memory, fast enough not to hold up the transfer thread in a debug build.
final class MemorySink: ByteSink {
  private struct State {
    /// Each write as it came, with its offset.
    var pieces: [(offset: Int, bytes: [UInt8])] = []
  }

  private let state = Monitor(State())
  private let failure: FetchError?
  private let onWrite: @Sendable (Int64, Int) -> Void

  init(failure: FetchError? = nil, onWrite: @escaping @Sendable (Int64, Int) -> Void = { _, _ in })
  {
    self.failure = failure
    self.onWrite = onWrite
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FetchError) {
    if let failure { throw failure }
    let copy = [UInt8](unsafeUninitializedCapacity: bytes.count) { memory, count in
      UnsafeMutableRawBufferPointer(memory).copyMemory(from: bytes)
      count = bytes.count
    }
    state.withLock { $0.pieces.append((Int(offset), copy)) }
    onWrite(offset, bytes.count)
  }

  /// The resource as far as it was written, with zeros in gaps.
  var bytes: [UInt8] {
    let pieces = state.peek { $0.pieces }
    let size = pieces.map { $0.offset + $0.bytes.count }.max() ?? 0
    return [UInt8](unsafeUninitializedCapacity: size) { memory, count in
      let memory = UnsafeMutableRawBufferPointer(memory)
      _ = memory.initializeMemory(as: UInt8.self, repeating: 0)
      for piece in pieces {
        piece.bytes.withUnsafeBytes { bytes in
          UnsafeMutableRawBufferPointer(
            rebasing: memory[piece.offset..<piece.offset + bytes.count]
          ).copyMemory(from: bytes)
        }
      }
      count = size
    }
  }

  var writes: [Int] { state.peek { $0.pieces.map(\.bytes.count) } }
}

/// Remembers what it hears, and lets a test wait for the end.
final class Recorder: ExchangeDelegate {
  private struct State {
    var responses: [HTTPResponse] = []
    var redirects: [String] = []
    var warnings: [FetchWarning] = []
    var outcomes: [ExchangeOutcome] = []
    var waiter: CheckedContinuation<ExchangeOutcome, Never>?
  }

  let sink: MemorySink
  private let state = Monitor(State())
  private let disposition: @Sendable (HTTPResponse, MemorySink) -> BodyDisposition

  init(
    sink: MemorySink = MemorySink(),
    disposition: @escaping @Sendable (HTTPResponse, MemorySink) -> BodyDisposition = {
      response, sink in
      guard case .bytes(let first, _, _) = response.contentRange else {
        return .write(to: sink, at: 0, until: nil)
      }
      return .write(to: sink, at: first, until: nil)
    }
  ) {
    self.sink = sink
    self.disposition = disposition
  }

  func exchange(_ id: ExchangeID, didReceive response: HTTPResponse) -> BodyDisposition {
    state.withLock { $0.responses.append(response) }
    return disposition(response, sink)
  }

  func exchange(_ id: ExchangeID, willFollowRedirectTo url: HTTPURL, status: Int) {
    state.withLock { $0.redirects.append("\(status) \(url.text)") }
  }

  func exchange(_ id: ExchangeID, didWarn warning: FetchWarning) {
    state.withLock { $0.warnings.append(warning) }
  }

  func exchange(_ id: ExchangeID, didFinish outcome: ExchangeOutcome) {
    let waiter = state.withLock { state in
      state.outcomes.append(outcome)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: outcome)
  }

  /// Waits for the end.
  func outcome() async -> ExchangeOutcome {
    await withCheckedContinuation { waiter in
      let outcome = state.withLock { state in
        if state.outcomes.isEmpty { state.waiter = waiter }
        return state.outcomes.first
      }
      if let outcome { waiter.resume(returning: outcome) }
    }
  }

  var responses: [HTTPResponse] { state.withLock { $0.responses } }
  var redirects: [String] { state.withLock { $0.redirects } }
  var warnings: [FetchWarning] { state.withLock { $0.warnings } }
  var outcomes: [ExchangeOutcome] { state.withLock { $0.outcomes } }
}

extension ExchangeOutcome {
  var failure: TransferFailure? {
    guard case .failed(let failure) = self else { return nil }
    return failure
  }

  var completed: (response: HTTPResponse, bytes: Int64)? {
    guard case .completed(let response, let bytes) = self else { return nil }
    return (response, bytes)
  }
}

/// Runs one exchange to its end.
func fetch(
  _ request: HTTPRequest, _ recorder: Recorder = Recorder(), loop: TransferLoop = .shared
) async -> (recorder: Recorder, outcome: ExchangeOutcome) {
  _ = loop.start(request, delegate: recorder)
  return (recorder, await recorder.outcome())
}

/// Settings that lose no time.
func quickSettings() -> TransferSettings {
  var settings = TransferSettings()
  settings.connectTimeout = .seconds(5)
  settings.stallTimeout = .seconds(10)
  return settings
}
