// What most of these tests expect of a run: a clean success, or a clean failure. And the machine's
// gifts that some tests need.

import Foundation
import TestSupport
import Testing

/// A line of the JSON output, as far as tests look at it.
struct Event: Decodable {
  struct Stream: Decodable {
    let index: Int
    let type: String
    let codec: String
    let action: String
    let reason: String?
  }
  struct Warning: Decodable {
    let warning: String
    let stream: Int?
    let message: String
  }

  let v: Int
  let event: String
  let url: String?
  let code: String?
  let exit: Int?
  let fraction: Double?
  let skipped: String?
  let retryable: Bool?
  let path: String?
  let bytes: Int?
  let duration: Double?
  let format: String?
  let complete_by: String?
  let streams: [Stream]?
  let warnings: [Warning]?
  let attempts: Int?
  let message: String?
  let reason: String?
  let retry_after: Int?
  let stage: String?
  let total: Int?
  let timings: [String: Double]?
  let download: Double?
  let export: Double?

  /// Every line of a text; throws where one is no such object.
  static func all(in text: String) throws -> [Event] {
    try text.split(separator: "\n").map { line in
      do {
        return try JSONDecoder().decode(Event.self, from: Data(line.utf8))
      } catch {
        throw ProcessTrouble.failed("not an event: \(line)")
      }
    }
  }
}

extension ProcessOutcome {
  /// The one result object on stdout.
  func result() throws -> Event {
    let events = try Event.all(in: stdout)
    #expect(events.count == 1)
    return try #require(events.first { $0.event == "result" })
  }
}

/// Expects exit 0 and an output at `path` that is whole and equal to a fixture.
func expectSuccess(
  _ outcome: ProcessOutcome, at path: String, equalTo fixture: String? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(
    outcome.status == .exited(0), "\(outcome.stderr)\(outcome.stdout)",
    sourceLocation: sourceLocation)
  try #require(fileSize(path) ?? 0 > 0, "no file at \(path)", sourceLocation: sourceLocation)
  let facts = try MediaFacts(path)
  #expect(facts.complaints == "", sourceLocation: sourceLocation)
  let boxes = try MediaFacts.boxes(path)
  let index = try #require(boxes.firstIndex(of: "moov"), sourceLocation: sourceLocation)
  let data = try #require(boxes.firstIndex(of: "mdat"), sourceLocation: sourceLocation)
  #expect(index < data, "the index does not stand first: \(boxes)", sourceLocation: sourceLocation)
  if let fixture {
    let original = try MediaFacts(FixtureFile.media(fixture))
    #expect(facts.packets == original.packets, sourceLocation: sourceLocation)
    let hashes = try [path, FixtureFile.media(fixture)].map(MediaFacts.pictureHash)
    #expect(hashes[0] == hashes[1], "another picture", sourceLocation: sourceLocation)
  }
}

/// Expects an exit code, one error line that names `item` and matches every pattern, no output, and
/// nothing left but what may be left.
///
/// - Parameter keepsPart: whether a part and its record may stay.
func expectFailure(
  _ outcome: ProcessOutcome, _ code: Int32, of run: VidfetchRun, naming item: String? = nil,
  says patterns: [String] = [], keepsPart: Bool = false, beside: [String] = [],
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(
    outcome.status == .exited(code), "\(outcome.stderr)\(outcome.stdout)",
    sourceLocation: sourceLocation)
  #expect(outcome.stdout == "", "stdout is for results", sourceLocation: sourceLocation)
  // Besides notices there is one line, the last: `vidfetch: ITEM: what; what helps`.
  let error = outcome.stderrLines.last ?? ""
  #expect(error.hasPrefix("vidfetch: "), "\(outcome.stderr)", sourceLocation: sourceLocation)
  if let item {
    #expect(
      error.contains(item), "\(item) is not named: \(outcome.stderr)",
      sourceLocation: sourceLocation)
  }
  for pattern in patterns {
    #expect(
      outcome.stderr.range(of: pattern, options: [.regularExpression, .caseInsensitive]) != nil,
      "does not say \(pattern): \(outcome.stderr)", sourceLocation: sourceLocation)
  }
  let left = run.leftovers().filter { path in
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return !beside.contains(path) && !(keepsPart && VidfetchRun.isPartOrRecord(name))
  }
  #expect(left == [], "left behind", sourceLocation: sourceLocation)
}

/// What this machine lets a test do.
enum Machine {
  static let isRoot = geteuid() == 0
  /// Whether a file system can be mounted.
  static let canMount = isRoot && works(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"])
  /// Whether a network namespace of our own can be made.
  static let canMakeNetwork = isRoot && works(["unshare", "-n", "true"])
  /// Whether system calls can be traced.
  static let canTrace = works(["strace", "-qq", "-o", "/dev/null", "true"])
  /// Whether the binary carries a sanitizer.
  static let isSanitized =
    ProcessInfo.processInfo.environment["VIDFETCH_SANITIZED"]?.isEmpty == false
  /// Whether a run takes the long way everywhere, as `VIDFETCH_LONG=1` asks.
  static let isLong = ProcessInfo.processInfo.environment["VIDFETCH_LONG"] == "1"

  private static func works(_ command: [String]) -> Bool {
    (try? runTool(command).status == .exited(0)) ?? false
  }
}

/// A small file system in memory, mounted in the working folder of a run.
final class SmallDisk {
  let path: String

  init(in run: VidfetchRun, kilobytes: Int, options: String = "") throws {
    path = run.file("disk")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try outputOfTool([
      "mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k\(options)", "none", path,
    ])
  }

  /// Makes it read-only.
  func seal() throws { try outputOfTool(["mount", "-o", "remount,ro", path]) }

  deinit { _ = try? runTool(["umount", "-l", path]) }
}

/// The SHA-256 of a file.
func digest(_ path: String) throws -> String {
  String(try outputOfTool(["sha256sum", path]).prefix(64))
}
