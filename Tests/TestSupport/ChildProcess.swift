// A child process with everything about it chosen: arguments, environment, folder, descriptors. Its
// output goes to files, so that it can be read at any moment and no pipe ever fills.

private import FetchCore
package import Foundation

/// How a process ended.
package enum ExitStatus: Sendable, Hashable, CustomStringConvertible {
  case exited(Int32)
  case signalled(Int32)

  package var description: String {
    switch self {
    case .exited(let code): "exit \(code)"
    case .signalled(let number): "signal \(number)"
    }
  }
}

/// What a finished process left.
package struct ProcessOutcome: Sendable {
  package let status: ExitStatus
  package let stdout: String
  package let stderr: String
  /// The largest resident set of the process, in bytes.
  package let peakMemory: Int
  /// User and system time, in seconds.
  package let cpuSeconds: Double
  /// Wall time from spawn to the end, in seconds.
  package let seconds: Double

  /// The lines of stdout, without a last empty one.
  package var stdoutLines: [String] { lines(of: stdout) }
  package var stderrLines: [String] { lines(of: stderr) }

  private func lines(of text: String) -> [String] {
    var all = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if all.last == "" { all.removeLast() }
    return all
  }
}

/// What goes wrong around a process, rather than in it.
package enum ProcessTrouble: Error, CustomStringConvertible {
  case cannotStart(String, Int32)
  case tooSlow(String)
  case failed(String)

  package var description: String {
    switch self {
    case .cannotStart(let what, let number): "cannot start \(what): errno \(number)"
    case .tooSlow(let what): "still not so at the time limit: \(what)"
    case .failed(let what): what
    }
  }
}

/// A descriptor that the child gets.
package enum ChildDescriptor: Sendable {
  /// A file of the scratch folder, which `stdout` or `stderr` shows.
  case captured
  /// A file, opened for reading (stdin) or appending.
  case file(String)
  /// The child starts without this descriptor.
  case closed
  /// A pipe whose other end is closed already.
  case brokenPipe
}

/// A child process, running or ended.
///
/// Any thread may use it.
package final class ChildProcess: Sendable {
  private struct State {
    var status: ExitStatus?
    var peakMemory = 0
    var cpuSeconds = 0.0
    var end = 0.0
  }

  package let pid: pid_t
  private let name: String
  private let stdoutPath: String
  private let stderrPath: String
  private let start: Double
  private let state = Locked(State())

  /// Starts `arguments[0]`, found on PATH, with exactly the environment given.
  ///
  /// A program that cannot be started shows as exit 126 or 127.
  ///
  /// - Parameter ownGroup: makes the child the leader of a new process group.
  package init(
    _ arguments: [String], environment: [String: String], folder: String, captureIn scratch: String,
    stdin: String = "/dev/null", stdout: ChildDescriptor = .captured,
    stderr: ChildDescriptor = .captured, ownGroup: Bool = false
  ) throws {
    let tag = UUID().uuidString.prefix(8)
    stdoutPath = "\(scratch)/stdout-\(tag)"
    stderrPath = "\(scratch)/stderr-\(tag)"
    name = arguments.joined(separator: " ")

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, stdin, O_RDONLY, 0)
    var ours: [Int32] = []
    defer { for descriptor in ours { close(descriptor) } }
    for (number, kind, path) in [(Int32(1), stdout, stdoutPath), (2, stderr, stderrPath)] {
      switch kind {
      case .captured:
        posix_spawn_file_actions_addopen(
          &actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      case .file(let other):
        posix_spawn_file_actions_addopen(
          &actions, number, other, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      case .closed:
        posix_spawn_file_actions_addclose(&actions, number)
      case .brokenPipe:
        // A FIFO, because its ends can be opened with O_CLOEXEC at once: no child that another
        // thread starts at this moment may keep the reading end.
        let fifo = "\(path)-fifo"
        mkfifo(fifo, 0o600)
        let reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let writer = open(fifo, O_WRONLY | O_CLOEXEC)
        guard reader >= 0, writer >= 0 else { throw ProcessTrouble.cannotStart("mkfifo", errno) }
        close(reader)
        posix_spawn_file_actions_adddup2(&actions, writer, number)
        ours.append(writer)
      }
    }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    if ownGroup { flags |= POSIX_SPAWN_SETPGROUP }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    posix_spawnattr_setpgroup(&attributes, 0)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)

    // The file action that changes the folder is hidden from Swift; env(1) replaces itself.
    let words = ["env", "-C", folder, "--"] + arguments
    var argv = words.map { strdup($0) }
    var envp = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in argv + envp { free(text) } }
    argv.append(nil)
    envp.append(nil)
    start = now()
    var child = pid_t()
    let result = posix_spawnp(&child, words[0], &actions, &attributes, argv, envp)
    guard result == 0 else { throw ProcessTrouble.cannotStart(name, result) }
    pid = child
  }

  deinit {
    if pollStatus() == nil {
      kill(pid, SIGKILL)
      while pollStatus() == nil { usleep(1000) }
    }
  }

  /// The status if the process has ended, without waiting.
  package func pollStatus() -> ExitStatus? {
    state.withLock { state in
      if let status = state.status { return status }
      var raw: Int32 = 0
      var usage = rusage()
      guard wait4(pid, &raw, WNOHANG, &usage) == pid else { return nil }
      state.end = now()
      state.peakMemory = usage.ru_maxrss * 1024
      state.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
      state.status = raw & 0x7f == 0 ? .exited((raw >> 8) & 0xff) : .signalled(raw & 0x7f)
      return state.status
    }
  }

  /// Waits for the end.
  ///
  /// - Throws: `ProcessTrouble.tooSlow` after `limit` seconds; the process is killed then.
  package func wait(limit: Double = 60) throws -> ProcessOutcome {
    do {
      try waitUntil("the end of \(name)", limit: limit) { pollStatus() != nil }
    } catch {
      kill(pid, SIGKILL)
      while pollStatus() == nil { usleep(1000) }
      throw ProcessTrouble.failed("\(error)\nstdout: \(stdout)\nstderr: \(stderr)")
    }
    return state.withLock { state in
      ProcessOutcome(
        status: state.status ?? .exited(-1), stdout: stdout, stderr: stderr,
        peakMemory: state.peakMemory, cpuSeconds: state.cpuSeconds, seconds: state.end - start)
    }
  }

  /// Sends a signal; false if the process had ended.
  @discardableResult
  package func signal(_ number: Int32) -> Bool {
    state.withLock { $0.status == nil && kill(pid, number) == 0 }
  }

  /// Sends a signal to the child's group, which it must lead.
  package func signalGroup(_ number: Int32) { kill(-pid, number) }

  /// What the process has written so far.
  package var stdout: String { contents(stdoutPath) }
  package var stderr: String { contents(stderrPath) }

  private func contents(_ path: String) -> String {
    String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
  }
}

/// Waits until `condition` holds, looking every few milliseconds.
///
/// - Throws: `ProcessTrouble.tooSlow` after `limit` seconds.
package func waitUntil(
  _ what: String, limit: Double = 30, _ condition: () throws -> Bool
) throws {
  let deadline = now() + limit
  while try !condition() {
    guard now() < deadline else { throw ProcessTrouble.tooSlow(what) }
    usleep(3000)
  }
}

/// Waits like `waitUntil`, but leaves its thread to other tasks meanwhile.
///
/// For tests whose own tasks have to run: the runner has few threads, and tests that block have them.
package func eventually(
  _ what: String, limit: Double = 180, _ condition: () throws -> Bool
) async throws {
  let deadline = now() + limit
  while try !condition() {
    guard now() < deadline else { throw ProcessTrouble.tooSlow(what) }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// Runs a tool of the system to its end and returns its outcome.
package func runTool(
  _ arguments: [String], in folder: String = "/", limit: Double = 60
) throws -> ProcessOutcome {
  let scratch = try ScratchDirectory()
  let process = try ChildProcess(
    arguments, environment: systemEnvironment, folder: folder, captureIn: scratch.path)
  return try process.wait(limit: limit)
}

/// The same, and its stdout; throws unless it exits 0.
@discardableResult
package func outputOfTool(
  _ arguments: [String], in folder: String = "/", limit: Double = 60
) throws -> String {
  let outcome = try runTool(arguments, in: folder, limit: limit)
  guard outcome.status == .exited(0) else {
    throw ProcessTrouble.failed(
      "\(arguments.joined(separator: " ")): \(outcome.status)\n\(outcome.stderr)")
  }
  return outcome.stdout
}

/// An environment with nothing of the person who runs the tests.
package let systemEnvironment = [
  "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent",
]

/// Seconds of the monotonic clock.
package func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func seconds(_ time: timeval) -> Double {
  Double(time.tv_sec) + Double(time.tv_usec) / 1e6
}
