// A scripted web server that misbehaves on request, on loopback, for as long as the tests run.

import Foundation
import HTTPTransfer
import Testing

/// A running `Tests/Fixtures/faultserver.py`, whose first line on stdout says where it listens.
final class FaultServer: Sendable {
  let port: Int
  /// A second listener of the same server.
  let otherPort: Int
  private let process: ChildProcess
  private let scheme: String
  private let host: String

  /// Serves `Root.shared`; shared by all tests, which tell their requests apart by `mark`.
  static let shared = FaultServer()

  init(host: String = "127.0.0.1", certificate: String? = nil, key: String? = nil) {
    self.host = host
    scheme = certificate == nil ? "http" : "https"
    var arguments = [
      "python3", Fixtures.path("faultserver.py"), "--host", host, "--root", Root.shared.path,
    ]
    if let certificate, let key { arguments += ["--cert", certificate, "--key", key] }
    process = ChildProcess.start(arguments)
    let line = process.firstLine()
    let ports = line.split(separator: " ").compactMap { word in
      word.split(separator: "=").last.flatMap { Int($0) }
    }
    port = ports.first ?? 0
    otherPort = ports.dropFirst().first ?? 0
  }

  func text(_ path: String, host: String? = nil, port: Int? = nil) -> String {
    "\(scheme)://\(host ?? self.host):\(port ?? self.port)\(path)"
  }

  func url(_ path: String, host: String? = nil) throws -> HTTPURL {
    try HTTPURL(text(path, host: host))
  }

  struct Entry: Decodable {
    var target: String
    var port: Int
    var headers: [String: String]
    var range: String?
    var status: Int?
    var sent: Int
    var proxied: Bool
    var conn: Int
  }

  /// The requests whose target holds `mark`.
  func log(_ mark: String) async throws -> [Entry] {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try url("/__log")))
    #expect(outcome.completed != nil)
    return try JSONDecoder().decode([Entry].self, from: Data(recorder.sink.bytes))
      .filter { $0.target.contains(mark) }
  }

  /// A word that no other test uses, to be part of a URL.
  static func mark() -> String { "m" + UUID().uuidString.prefix(8).lowercased() }
}

/// The folder that the servers serve.
final class Root: Sendable {
  static let shared = Root()
  let path: String
  private let remover: ChildProcess
  /// The bytes of `data.bin`.
  let data: [UInt8]

  init() {
    let path = NSTemporaryDirectory() + "vidfetch-transfer-\(getpid())"
    self.path = path
    remover = ChildProcess.atEnd("rm -rf '\(path)'")
    var state: UInt32 = 7
    data = (0..<300_000).map { _ in
      state = state &* 1_664_525 &+ 1_013_904_223
      return UInt8(truncatingIfNeeded: state >> 24)
    }
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true)
    try? Data(data).write(to: URL(fileURLWithPath: path + "/data.bin"))
    try? Data(data.reversed()).write(to: URL(fileURLWithPath: path + "/other.bin"))
    try? Data("hello\n".utf8).write(to: URL(fileURLWithPath: path + "/small.txt"))
  }
}

enum Fixtures {
  static func path(_ name: String, file: String = #filePath) -> String {
    URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Fixtures/\(name)").path
  }
}

/// A program that ends, at the latest, with the tests: a shell kills it when its own stdin, which only
/// this process holds open, comes to an end.
final class ChildProcess: Sendable {
  let pid: Int32
  private let output: FileHandle
  private let lifeline: FileHandle

  private init(pid: Int32, output: FileHandle, lifeline: FileHandle) {
    self.pid = pid
    self.output = output
    self.lifeline = lifeline
  }

  deinit { try? lifeline.close() }

  /// Starts a program.
  static func start(_ arguments: [String]) -> ChildProcess {
    run(shell: "\"$@\" & child=$!; cat > /dev/null; kill -9 $child", arguments)
  }

  /// Has a shell line run when the tests have ended.
  static func atEnd(_ line: String) -> ChildProcess {
    run(shell: "cat > /dev/null; \(line)", [])
  }

  private static func run(shell line: String, _ arguments: [String]) -> ChildProcess {
    let process = Process()
    let output = Pipe()
    let lifeline = Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line, "sh"] + arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = lifeline
    try? process.run()
    return ChildProcess(
      pid: process.processIdentifier, output: output.fileHandleForReading,
      lifeline: lifeline.fileHandleForWriting)
  }

  /// Waits for the first line of its output.
  func firstLine() -> String {
    var line: [UInt8] = []
    while let byte = try? output.read(upToCount: 1)?.first, byte != 0x0A { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  /// Runs a program to its end; its exit status and output.
  static func run(_ arguments: [String], in directory: String? = nil) -> (Int32, String) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return (-1, "") }
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
