// The command of --exec: run on one finished file, without a shell. Thin: posix_spawn(3) and wait.

import CLinux
import FetchCore
import Glibc
import VidFetchKit

/// One run of the command.
struct HookCommand: Sendable {
  private let words: [String]
  private let variables: [(name: String, value: String)]

  /// - Parameters:
  ///   - words: as typed, the command first; `{}` in them stands for the file's path.
  ///   - result: of the item whose file it is.
  init(words: [String], result: JobResult) {
    let path = result.path ?? ""
    self.words = words.map { Self.filled($0, with: path) }
    let name = path.split(separator: "/").last.map(String.init) ?? path
    variables = [
      ("VIDFETCH_PATH", path),
      ("VIDFETCH_URL", result.url),
      ("VIDFETCH_TITLE", name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name),
      ("VIDFETCH_FORMAT", result.format.rawValue),
      ("VIDFETCH_BYTES", result.bytes.map { "\($0)" } ?? ""),
      ("VIDFETCH_DURATION", result.duration.map { Figures.number($0, decimals: 6) } ?? ""),
    ]
  }

  /// A word with the path in place of each `{}`.
  static func filled(_ word: String, with path: String) -> String {
    var text = ""
    var rest = Substring(word)
    while let mark = rest.firstRange(of: "{}") {
      text += rest[..<mark.lowerBound] + path
      rest = rest[mark.upperBound...]
    }
    return text + rest
  }

  /// The error of an item whose command did not do its work.
  func failure(_ what: String) -> FetchError {
    FetchError(
      .hookFailed, "the file is in place, but the command \(words.first ?? "") \(what)",
      recovery: "run it on the file by hand")
  }

  /// A command that is running.
  final class Process: Sendable {
    private let number: Locked<pid_t?>

    fileprivate init(_ number: pid_t) { self.number = Locked(number) }

    /// Asks it to end.
    func stop() {
      // Under the lock its number can't become another process's.
      number.withLock { number in
        if let number { kill(number, SIGTERM) }
      }
    }

    /// Waits for its end, on a thread of its own.
    fileprivate func wait() -> Int32 {
      guard let number = number.withLock({ $0 }) else { return 0 }
      var information = siginfo_t()
      // Looks without reaping, so that the number is ours until nobody can signal it any more.
      while waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      return self.number.withLock { held in
        held = nil
        var status: Int32 = 0
        while waitpid(number, &status, 0) < 0 {
          // Somebody else has taken its status: then nobody knows that it did its work.
          if errno != EINTR { return 0xFF00 }
        }
        return status
      }
    }
  }

  /// Starts it.
  ///
  /// - Parameters:
  ///   - said: gets its lines, on another thread; nil lets it write to standard error itself.
  ///   - ended: called on another thread, with nil where it did its work.
  /// - Throws: where it can't be found or run.
  func start(
    said: (@Sendable (String) -> Void)?, _ ended: @escaping @Sendable (FetchError?) -> Void
  ) throws(SystemError) -> Process {
    var pipe: (reading: Int32, writing: Int32)?
    if said != nil {
      var ends: [Int32] = [-1, -1]
      _ = try retryingInterrupts("pipe2") { vf_pipe(&ends) }
      pipe = (ends[0], ends[1])
    }
    defer { if let pipe { close(pipe.writing) } }
    let process: Process
    do throws(SystemError) {
      process = Process(try spawn(output: pipe?.writing ?? STDERR_FILENO))
      if let said, let pipe { try HookOutput.read(pipe.reading, said) }
    } catch {
      if let pipe { close(pipe.reading) }
      throw error
    }
    do throws(SystemError) {
      try WorkerThread.start("vidfetch-exec") {
        ended(error(of: process.wait()))
      }
    } catch {
      process.stop()
      _ = process.wait()
      throw error
    }
    return process
  }

  /// What a wait status says; nil for success.
  func error(of status: Int32) -> FetchError? {
    let signal = status & 0x7F
    if signal != 0 { return failure("was ended by signal \(signal)") }
    let code = (status >> 8) & 0xFF
    return code == 0 ? nil : failure("ended with \(code)")
  }

  private func spawn(output: Int32) throws(SystemError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Standard input may be the list, and standard output carries results only.
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
    // libcurl leaves its own open; a kernel before 5.11 doesn't know the call, and then they are.
    vf_close_on_exec_from(UInt32(STDERR_FILENO + 1))

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var defaults = sigset_t()
    sigemptyset(&defaults)
    sigaddset(&defaults, SIGPIPE)
    sigaddset(&defaults, SIGXFSZ)
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var arguments = words.map { strdup($0) } + [nil]
    var environment = self.environment.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var number: pid_t = 0
    let result = posix_spawnp(
      &number, words.first ?? "", &actions, &attributes, &arguments, &environment)
    if result != 0 { throw SystemError("posix_spawnp", errno: result) }
    return number
  }

  /// The process's environment with our variables in it.
  private var environment: [String] {
    let names = Set(variables.map(\.name))
    var texts: [String] = []
    var next = Glibc.environ
    while let text = next.pointee {
      let entry = String(cString: text)
      if !names.contains(String(entry.prefix { $0 != "=" })) { texts.append(entry) }
      next += 1
    }
    return texts + variables.map { "\($0.name)=\($0.value)" }
  }
}
