// A real terminal: tmux with a server of its own, in which one shell command runs.

private import Foundation

/// A terminal of a given size with one command in it; both end with the value.
package final class Terminal: Sendable {
  private let scratch: ScratchDirectory
  private var socket: String { scratch.file("tmux") }

  /// Runs `command` in a POSIX shell.
  ///
  /// When it has ended, a line `[ended N]` shows its status.
  package init(
    columns: Int, rows: Int = 24, _ command: String, environment: [String: String]
  ) throws {
    scratch = try ScratchDirectory()
    let script = try scratch.write(
      "run", "trap : INT\n(\n\(command)\n)\nprintf '[ended %s]\\n' $?\nexec sleep 600\n")
    let variables = environment.flatMap { ["-e", "\($0.key)=\($0.value)"] }
    try scratch.write(
      "conf",
      """
      set -g status off
      set -g default-terminal screen-256color
      set -g escape-time 0
      """)
    try tmux(
      ["new-session", "-d", "-x", String(columns), "-y", String(rows)] + variables
        + ["env", "-u", "TMUX", "-u", "TMUX_PANE", "sh", script])
  }

  deinit { _ = try? tmux(["kill-server"]) }

  @discardableResult
  private func tmux(_ arguments: [String]) throws -> String {
    try outputOfTool(["tmux", "-u", "-S", socket, "-f", scratch.file("conf")] + arguments)
  }

  /// The lines on the screen, without trailing blanks; empty lines at the end are left out.
  package func screen() throws -> [String] {
    var lines = try tmux(["capture-pane", "-p"]).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  /// The screen with its colours, as escape sequences.
  package func colouredScreen() throws -> String { try tmux(["capture-pane", "-p", "-e"]) }

  package func resize(columns: Int, rows: Int = 24) throws {
    try tmux(["resize-window", "-x", String(columns), "-y", String(rows)])
  }

  /// Types keys in tmux's notation, such as `C-c`.
  package func press(_ keys: String...) throws { try tmux(["send-keys"] + keys) }

  /// Whether the cursor is shown.
  package func cursorIsVisible() throws -> Bool {
    try tmux(["display-message", "-p", "#{cursor_flag}"]).hasPrefix("1")
  }

  /// Waits until the screen satisfies `condition` and returns it.
  @discardableResult
  package func wait(
    for what: String, limit: Double = 30, _ condition: ([String]) -> Bool
  ) throws -> [String] {
    var last: [String] = []
    do {
      try waitUntil(what, limit: limit) {
        last = try screen()
        return condition(last)
      }
    } catch {
      throw ProcessTrouble.failed("\(error); the screen:\n\(last.joined(separator: "\n"))")
    }
    return last
  }

  /// Waits for the end of the command and returns its status as the shell gives it.
  package func waitForEnd(limit: Double = 30) throws -> Int {
    let lines = try wait(for: "the end of the command", limit: limit) { screen in
      screen.contains { $0.hasPrefix("[ended ") }
    }
    let line = lines.last { $0.hasPrefix("[ended ") } ?? ""
    return Int(line.dropFirst(7).dropLast()) ?? -1
  }
}
