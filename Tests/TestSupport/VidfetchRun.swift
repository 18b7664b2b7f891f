// The real binary, run as a person would run it, but with a home and a temp folder of its own.

private import Foundation

/// A place to run `vidfetch` in: a home, a temp folder and a working folder, all empty at first.
package final class VidfetchRun: Sendable {
  /// `VIDFETCH_BINARY`, else the release build, else the debug build.
  package static let binary: String = {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["VIDFETCH_BINARY"], !path.isEmpty {
      return path.hasPrefix("/") ? path : "\(FixtureFile.packageRoot)/\(path)"
    }
    let builds = ["release", "debug"].map { "\(FixtureFile.packageRoot)/.build/\($0)/vidfetch" }
    return builds.first { access($0, X_OK) == 0 } ?? builds[0]
  }()

  private let scratch: ScratchDirectory
  package var path: String { scratch.path }
  /// The working folder.
  package let work: String
  package let home: String
  package let temp: String

  package init() throws {
    scratch = try ScratchDirectory()
    work = try scratch.folder("work")
    home = try scratch.folder("home")
    temp = try scratch.folder("tmp")
    _ = try scratch.folder("captured")
  }

  /// The path of a file in the working folder.
  package func file(_ name: String) -> String { "\(work)/\(name)" }

  /// The environment that the binary gets.
  package var environment: [String: String] {
    systemEnvironment.merging(["HOME": home, "TMPDIR": temp]) { $1 }
  }

  /// Starts the binary and returns at once.
  ///
  /// - Parameters:
  ///   - wrapper: words in front, such as `["setpriv", "--reuid=65534", "--"]`.
  ///   - extra: environment variables beside `environment`.
  package func start(
    _ arguments: [String], wrapper: [String] = [], extra: [String: String] = [:],
    folder: String? = nil, stdin: String = "/dev/null", stdout: ChildDescriptor = .captured,
    stderr: ChildDescriptor = .captured, ownGroup: Bool = false
  ) throws -> ChildProcess {
    try ChildProcess(
      wrapper + [Self.binary] + arguments, environment: environment.merging(extra) { $1 },
      folder: folder ?? work, captureIn: scratch.file("captured"), stdin: stdin, stdout: stdout,
      stderr: stderr, ownGroup: ownGroup)
  }

  /// Runs the binary to its end.
  package func run(
    _ arguments: [String], wrapper: [String] = [], extra: [String: String] = [:],
    folder: String? = nil, stdin: String = "/dev/null", stdout: ChildDescriptor = .captured,
    stderr: ChildDescriptor = .captured, limit: Double = 60
  ) throws -> ProcessOutcome {
    try start(
      arguments, wrapper: wrapper, extra: extra, folder: folder, stdin: stdin, stdout: stdout,
      stderr: stderr
    ).wait(limit: limit)
  }

  /// Every file in the working and the temp folder, relative to their parent.
  package func leftovers() -> [String] {
    filesBelow(work).map { "work/\($0)" } + filesBelow(temp).map { "tmp/\($0)" }
  }

  /// The parts in a folder: `.KEY.part`, KEY being 16 hex digits.
  package static func parts(in folder: String) -> [String] {
    folderNames(folder).filter { isPart($0) }
  }

  /// Whether a name is that of a part (not of its record).
  package static func isPart(_ name: String) -> Bool {
    name.hasSuffix(".part") && isKey(name.dropFirst().dropLast(5)) && name.hasPrefix(".")
  }

  /// Whether a name is that of a part or its record.
  package static func isPartOrRecord(_ name: String) -> Bool {
    isPart(name) || name.hasSuffix(".json") && isPart(String(name.dropLast(5)))
  }

  private static func isKey(_ text: Substring) -> Bool {
    text.count == 16 && text.allSatisfy { $0.isHexDigit }
  }
}
