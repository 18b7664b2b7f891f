// The process's surroundings as values: variables, terminals and the few files that options name, so
// that tests can set them.

package import FetchCore
import Glibc
import VidFetchKit

/// What a command line is resolved against.
package struct CommandEnvironment: Sendable {
  /// Reads all of a small file; the path `-` is standard input.
  package typealias Reader = @Sendable (String) throws(SystemError) -> [UInt8]

  /// Reads the configuration file; nil where there is none.
  package typealias ConfigurationReader =
    @Sendable (String) throws(SystemError) -> ConfigFile.Content?

  package var variables: [String: String]
  package var standardOutputIsTerminal: Bool
  package var standardErrorIsTerminal: Bool
  package var read: Reader
  package var readConfiguration: ConfigurationReader

  package init(
    variables: [String: String] = [:], standardOutputIsTerminal: Bool = false,
    standardErrorIsTerminal: Bool = false, read: @escaping Reader = readSmallFile,
    readConfiguration: @escaping ConfigurationReader = ConfigFile.read
  ) {
    self.variables = variables
    self.standardOutputIsTerminal = standardOutputIsTerminal
    self.standardErrorIsTerminal = standardErrorIsTerminal
    self.read = read
    self.readConfiguration = readConfiguration
  }

  /// The surroundings of this process.
  package static func current() -> CommandEnvironment {
    var variables: [String: String] = [:]
    let own = ["CI", "COLUMNS", "HOME", "NO_COLOR", "TERM", "XDG_CONFIG_HOME"]
    for name in own + OptionEnvironment.variables + Shard.variables {
      if let value = getenv(name) { variables[name] = String(cString: value) }
    }
    return CommandEnvironment(
      variables: variables, standardOutputIsTerminal: isatty(STDOUT_FILENO) == 1,
      standardErrorIsTerminal: isatty(STDERR_FILENO) == 1)
  }

  /// Whether a terminal is too simple for a bar and for colours.
  package var isDumb: Bool { variables["TERM"] == "dumb" || variables["TERM"] == "" }

  /// Whether this is a build machine, whose log wants lines.
  package var isContinuousIntegration: Bool {
    guard let value = variables["CI"]?.lowercased() else { return false }
    return !["", "0", "false", "no"].contains(value)
  }

  /// Whether colours are unwanted (no-color.org: set, and not empty).
  package var refusesColor: Bool { !(variables["NO_COLOR"] ?? "").isEmpty }
}

/// The most that a file of headers, cookies or credentials may hold.
private let longestSmallFile = 1 << 20

/// Reads a file of at most 1 MiB; the path `-` is standard input.
@Sendable package func readSmallFile(_ path: String) throws(SystemError) -> [UInt8] {
  let isStandardInput = path == "-"
  let descriptor =
    isStandardInput
    ? STDIN_FILENO : try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
  defer { if !isStandardInput { close(descriptor) } }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 16384)
  while true {
    let count = try retryingInterrupts("read") {
      chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    }
    if count == 0 { return bytes }
    bytes += chunk[..<count]
    if bytes.count > longestSmallFile { throw SystemError("read", errno: EFBIG) }
  }
}
