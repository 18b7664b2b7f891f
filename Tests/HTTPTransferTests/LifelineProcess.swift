// Programs that the tests need for as long as they run, and that must not outlive them even where the
// tests crash.

import Foundation

/// A program that ends, at the latest, with the tests: a shell kills it when its own stdin, which only
/// this process holds open, comes to an end.
final class LifelineProcess: Sendable {
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
  static func start(_ arguments: [String]) -> LifelineProcess {
    run(shell: "\"$@\" & child=$!; cat > /dev/null; kill -9 $child", arguments)
  }

  /// Has a shell line run when the tests have ended.
  static func atEnd(_ line: String) -> LifelineProcess {
    run(shell: "cat > /dev/null; \(line)", [])
  }

  private static func run(shell line: String, _ arguments: [String]) -> LifelineProcess {
    let process = Process()
    let output = Pipe()
    let lifeline = Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line, "sh"] + arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = lifeline
    try? process.run()
    return LifelineProcess(
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
