// The fault server with files whose bytes the tests know, shared by them.

import Foundation
import HTTPTransfer
import TestSupport
import Testing

/// A fault server that serves `Root.shared`.
struct DataServer: Sendable {
  /// Shared by all tests, which tell their requests apart by `mark`.
  static let shared = DataServer()

  private let server: Result<FaultServer, any Error>

  init(host: String = "127.0.0.1") {
    server = Result { try FaultServer(root: Root.shared.path, host: host) }
  }

  var port: Int { (try? server.get().port) ?? 0 }

  func url(_ path: String) throws -> HTTPURL {
    try HTTPURL(server.get().url(String(path.dropFirst())))
  }

  /// The requests whose target holds `mark`.
  func log(_ mark: String) async throws -> [FaultServer.Request] {
    let (recorder, outcome) = await fetch(HTTPRequest(url: try url("/__log")))
    #expect(outcome.completed != nil)
    return try JSONDecoder().decode([FaultServer.Request].self, from: Data(recorder.sink.bytes))
      .filter { $0.target.contains(mark) }
  }

  /// A word that no other test uses, to be part of a URL.
  static func mark() -> String { "m" + UUID().uuidString.prefix(8).lowercased() }
}

/// The folder that the servers serve.
final class Root: Sendable {
  static let shared = Root()
  let path: String
  private let remover: LifelineProcess
  /// The bytes of `data.bin`.
  let data: [UInt8]

  init() {
    let path = NSTemporaryDirectory() + "vidfetch-transfer-\(getpid())"
    self.path = path
    remover = LifelineProcess.atEnd("rm -rf '\(path)'")
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
