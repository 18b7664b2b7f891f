// What tests of batches look at: one film under many names, and the lines that a batch writes.

import Foundation
import TestSupport
import Testing

/// A line that a batch writes to stdout, to stderr or to its results file, as far as tests look at it.
struct BatchLine: Decodable {
  let event: String
  /// A number as text, or `batch`.
  let job: String
  let url: String
  let code: String
  let exit: Int32?
  /// `exists`, `archive` or `duplicate`.
  let skipped: String?
  let retryable: Bool?
  let path: String?
  let name: String?
  let list: String?
  let line: Int?
  let part: String?
  let message: String?
  let fraction: Double?
  let attempt: Int?
  // Of a summary.
  let okCount: Int?
  let skippedCount: Int?
  let failed: [String: Int]

  private enum Key: String, CodingKey {
    case event, job, url, code, exit, skipped, retryable, path, name, list, line, part, message
    case fraction, attempt, ok, failed
  }

  init(from decoder: any Decoder) throws {
    let keys = try decoder.container(keyedBy: Key.self)
    func text(_ key: Key) -> String? { try? keys.decode(String.self, forKey: key) }
    func number(_ key: Key) -> Int? { try? keys.decode(Int.self, forKey: key) }
    event = try keys.decode(String.self, forKey: .event)
    job = try text(.job) ?? String(keys.decode(Int.self, forKey: .job))
    url = text(.url) ?? ""
    code = text(.code) ?? ""
    exit = number(.exit).map { Int32($0) }
    skipped = text(.skipped)
    retryable = try? keys.decode(Bool.self, forKey: .retryable)
    path = text(.path)
    name = text(.name)
    list = text(.list)
    line = number(.line)
    part = text(.part)
    message = text(.message)
    fraction = try? keys.decode(Double.self, forKey: .fraction)
    attempt = number(.attempt)
    okCount = number(.ok)
    skippedCount = number(.skipped)
    failed = (try? keys.decode([String: Int].self, forKey: .failed)) ?? [:]
  }

  /// Every line of a text; throws where one is no such object.
  static func all(in text: String) throws -> [BatchLine] {
    try text.split(separator: "\n").map { line in
      do {
        return try JSONDecoder().decode(BatchLine.self, from: Data(line.utf8))
      } catch {
        throw ProcessTrouble.failed("not a line of a batch: \(line)")
      }
    }
  }
}

/// The lines of a batch with `--json`.
struct BatchOutput {
  let results: [BatchLine]
  let summary: BatchLine

  init(_ outcome: ProcessOutcome) throws {
    let lines = try BatchLine.all(in: outcome.stdout)
    results = lines.filter { $0.event == "result" }
    #expect(lines.last?.event == "summary" && lines.count == results.count + 1)
    summary = try #require(lines.last { $0.event == "summary" }, "\(outcome.stderr)")
  }

  /// The last result of an item whose URL ends so.
  func result(_ ending: String) throws -> BatchLine {
    try #require(results.last { $0.url.hasSuffix(ending) }, "no result for \(ending)")
  }

  /// Results with each code that isn't `ok`.
  var failures: [String: Int] {
    results.filter { $0.code != "ok" }.reduce(into: [:]) { $0[$1.code, default: 0] += 1 }
  }
}

/// A folder with one film under many names, and what a run of each alone makes of it.
struct FilmShelf {
  let folder: ScratchDirectory
  /// Without their extension, which is mp4.
  let stems: [String]
  let size: Int
  /// The digest of the result in mp4.
  let expected: String

  /// - Parameter source: what is put on the shelf; nil for a fixture of 47,517 bytes.
  init(_ count: Int, of source: String? = nil) throws {
    let source = source ?? FixtureFile.media("plain.mp4")
    folder = try ScratchDirectory()
    stems = (1...count).map { String(format: "film-%04d", $0) }
    let first = folder.file("\(stems[0]).mp4")
    try FileManager.default.copyItem(atPath: source, toPath: first)
    for stem in stems.dropFirst() {
      try FileManager.default.linkItem(atPath: first, toPath: folder.file("\(stem).mp4"))
    }
    size = fileSize(first) ?? 0
    let run = try VidfetchRun()
    let alone = try run.run(["-o", "alone.mp4", first])
    #expect(alone.status == .exited(0), "\(alone.stderr)")
    expected = try digest(run.file("alone.mp4"))
  }

  var path: String { folder.path }

  /// Names of the results, in order.
  var names: [String] { stems.map { "\($0).mp4" } }

  /// Puts a fixture on the shelf too.
  func add(_ fixture: String) throws {
    try FileManager.default.copyItem(
      atPath: FixtureFile.media(fixture), toPath: folder.file(fixture))
  }

  /// Expects the whole film in each of these files, and nothing else in their folder, hidden or not.
  func expectEach(
    _ names: some Collection<String>, in path: String, beside: [String] = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      folderNames(path) == (names + beside).sorted(), "in the folder",
      sourceLocation: sourceLocation)
    for name in names where fileSize("\(path)/\(name)") != nil {
      #expect(try digest("\(path)/\(name)") == expected, "\(name)", sourceLocation: sourceLocation)
    }
  }
}

/// What a file takes on its disk; 0 where there is none.
func allocatedBytes(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_blocks) * 512 : 0
}

extension VidfetchRun {
  /// Writes a list into the working folder, and returns its name.
  func list(_ lines: [String], name: String = "list") throws -> String {
    try lines.map { "\($0)\n" }.joined()
      .write(toFile: file(name), atomically: false, encoding: .utf8)
    return name
  }

  /// The lines of a results file in the working folder.
  func recorded(_ name: String) throws -> [BatchLine] {
    try BatchLine.all(in: String(decoding: fileBytes(file(name)), as: UTF8.self))
  }

  /// What python's sqlite3 makes of an archive in the working folder: first the word that it has for
  /// its integrity, then the path of each video.
  func archive(_ name: String) throws -> [String] {
    let script = """
      import sqlite3, sys
      base = sqlite3.connect(sys.argv[1])
      print(base.execute("PRAGMA integrity_check").fetchone()[0])
      for row in base.execute("SELECT path FROM videos ORDER BY path"): print(row[0])
      """
    return try outputOfTool(["/usr/bin/python3", "-c", script, file(name)]).split(separator: "\n")
      .map(String.init)
  }
}

extension [FaultServer.Request] {
  /// The most that were under way at one time.
  var mostAtOnce: Int {
    // Where one ends as another comes, the end goes first.
    let changes = map { ($0.time, 1) } + map { ($0.until ?? .infinity, -1) }
    var count = 0
    return changes.sorted { $0 < $1 }.reduce(0) { most, change in
      count += change.1
      return Swift.max(most, count)
    }
  }
}
