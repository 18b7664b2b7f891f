// The only writer to standard output and standard error. Used by the main thread alone, but for
// `abandonBar()`, which the signal thread calls when the main thread may be stuck in a write.

package import FetchCore
import Glibc
import Synchronization

/// The two output streams, and the bar at the foot of the screen.
package final class Terminal: Sendable {
  /// The main thread's own; a lock so that the compiler knows it too.
  private struct State {
    /// The lines at the foot of the screen.
    var block: [String] = []
    /// Columns of the screen when they were drawn.
    var width = 0
    var outputIsClosed = false
  }

  private let output: Int32
  private let error: Int32
  private let columns: Int?
  private let isDumb: Bool
  private let errorIsTerminal: Bool
  private let outputIsTerminal: Bool
  private let state = Locked(State())
  private let barIsShown = Atomic<Bool>(false)

  /// Writes to these two descriptors, which stay the caller's.
  package init(
    output: Int32 = STDOUT_FILENO, error: Int32 = STDERR_FILENO, environment: CommandEnvironment
  ) {
    self.output = output
    self.error = error
    isDumb = environment.isDumb
    errorIsTerminal = environment.standardErrorIsTerminal
    outputIsTerminal = environment.standardOutputIsTerminal
    columns = environment.variables["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  /// Columns of the screen: COLUMNS, else what the terminal says, else 80.
  package var width: Int {
    if let columns { return min(columns, 1000) }
    var size = winsize()
    if ioctl(error, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
    return 80
  }

  /// Rows of the screen: what the terminal says, else 24.
  package var rows: Int {
    var size = winsize()
    if ioctl(error, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 { return Int(size.ws_row) }
    return 24
  }

  // MARK: Standard error

  /// Writes a line, above the bar where there is one.
  ///
  /// The line is safe already.
  package func writeLine(_ line: String) {
    let (erasing, block) = state.withLock { ($0.block.isEmpty ? "" : erased($0), drawn($0.block)) }
    // One write, so that nobody sees the screen without its bar.
    writeToError(erasing + line + "\n" + block)
  }

  /// Draws the bar over the one before.
  package func showBar(_ line: String) { show([line]) }

  /// Draws lines at the foot of the screen over those before; none takes them away.
  package func show(_ lines: [String]) {
    guard !lines.isEmpty else {
      clearBar()
      return
    }
    guard mayDraw else { return }
    let width = width
    let erasing: String? = state.withLock { state in
      let isTheSame = state.block == lines && state.width <= width
      defer {
        state.block = lines
        state.width = width
      }
      return isTheSame ? nil : state.block.isEmpty ? "" : erased(state)
    }
    guard let erasing else { return }
    barIsShown.store(true, ordering: .relaxed)
    writeToError(erasing + drawn(lines))
  }

  /// Leaves a last bar on the screen, and the cursor below it.
  package func finishBar(_ line: String) {
    showBar(line)
    let isShown = state.withLock { state in
      defer { state.block = [] }
      return !state.block.isEmpty
    }
    barIsShown.store(false, ordering: .relaxed)
    if isShown { writeToError("\n") }
  }

  /// Takes the bar off the screen.
  package func clearBar() {
    let erasing = state.withLock { state in
      defer { state.block = [] }
      return state.block.isEmpty ? "" : erased(state)
    }
    barIsShown.store(false, ordering: .relaxed)
    if !erasing.isEmpty { writeToError(erasing) }
  }

  /// Forgets the bar that is on the screen, for another program has written over it.
  package func forgetBar() {
    state.withLock { $0.block = [] }
  }

  /// Puts the cursor on a line of its own, without a lock.
  ///
  /// Any thread; for the last moment.
  package func abandonBar() {
    guard barIsShown.exchange(false, ordering: .relaxed) else { return }
    var lineFeed = UInt8(ascii: "\n")
    _ = Glibc.write(error, &lineFeed, 1)
  }

  /// Neither a background job nor a stopped one draws over what the person is doing.
  private var mayDraw: Bool {
    guard errorIsTerminal else { return true }
    let foreground = tcgetpgrp(error)
    return foreground < 0 || foreground == getpgrp()
  }

  private func drawn(_ block: [String]) -> String { block.joined(separator: "\n") }

  /// What takes the block off the screen.
  ///
  /// A terminal that has become narrower has broken its lines anew.
  private func erased(_ state: State) -> String {
    if isDumb {
      let columns = DisplayWidth.ofStyled(state.block.last ?? "")
      return "\r" + String(repeating: " ", count: columns) + "\r"
    }
    let width = max(1, width)
    let rows = state.block.reduce(0) { rows, line in
      let columns = width < state.width ? DisplayWidth.ofStyled(line) : 1
      return rows + max(1, (columns + width - 1) / width)
    }
    return rows > 1 ? "\r\u{1B}[\(rows - 1)A\u{1B}[J" : "\r\u{1B}[K"
  }

  /// A standard error that is gone or full changes nothing: there is nowhere to say so.
  private func writeToError(_ text: String) {
    _ = write(Array(text.utf8), to: error)
  }

  // MARK: Standard output

  /// Writes one record; what a terminal would act on is escaped where there is one.
  ///
  /// - Returns: the error; nil also where the reader has gone, which is its own business.
  package func writeRecord(_ text: String, terminator: UInt8) -> SystemError? {
    guard outputIsTerminal else { return writeOutput(Array(text.utf8) + [terminator]) }
    // Both streams are on one screen: the record stands above the bar.
    let (erasing, block) = state.withLock { ($0.block.isEmpty ? "" : erased($0), drawn($0.block)) }
    if !erasing.isEmpty { writeToError(erasing) }
    defer { if !block.isEmpty { writeToError(block) } }
    return writeOutput(Array(Self.escapedLines(text).utf8) + [terminator])
  }

  /// Writes a document of our own, which ends with a line feed.
  package func writeDocument(_ text: String) -> SystemError? { writeOutput(Array(text.utf8)) }

  private func writeOutput(_ bytes: [UInt8]) -> SystemError? {
    guard !state.withLock({ $0.outputIsClosed }) else { return nil }
    guard let error = write(bytes, to: output) else { return nil }
    state.withLock { $0.outputIsClosed = true }
    return error.number == EPIPE ? nil : error
  }

  /// A template's own tabs and line breaks stay.
  private static func escapedLines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false)
        .map { Printable.escape(String($0)) }.joined(separator: "\t")
    }.joined(separator: "\n")
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32) -> SystemError? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      let number = errno
      switch number {
      case EINTR: continue
      case EAGAIN:
        // Somebody made the shared open file non-blocking; its reader will come back.
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if poll(&waiting, 1, -1) < 0, errno != EINTR { return SystemError.last("poll") }
      default: return SystemError("write", errno: number)
      }
    }
    return nil
  }
}
