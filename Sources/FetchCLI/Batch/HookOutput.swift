// What a command of --exec says, as lines: where a bar is on the screen, nobody else may write there.

import FetchCore
import Glibc

/// The reader of a command's output.
enum HookOutput {
  /// A longer line is handed on in pieces.
  private static let longestLine = 4096

  /// Reads a pipe to its end on a thread of its own, which closes it.
  ///
  /// A command may leave something behind that keeps its output open: the thread then stays with it,
  /// and holds up nobody.
  static func read(
    _ descriptor: Int32, _ said: @escaping @Sendable (String) -> Void
  ) throws(SystemError) {
    try WorkerThread.start("vidfetch-said") {
      var line: [UInt8] = []
      var block = [UInt8](repeating: 0, count: longestLine)
      func end() {
        if !line.isEmpty { said(String(decoding: line, as: UTF8.self)) }
        line = []
      }
      while true {
        let count = block.withUnsafeMutableBytes {
          Glibc.read(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        for byte in block[..<count] {
          if byte == UInt8(ascii: "\n") || line.count >= longestLine { end() }
          if byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { line.append(byte) }
        }
      }
      end()
      close(descriptor)
    }
  }
}
