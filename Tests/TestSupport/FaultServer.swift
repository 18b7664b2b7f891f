// Tests/Fixtures/faultserver.py as a value: a web server that misbehaves as its URLs say. The head
// of that file lists every fault.

private import Foundation

/// A running fault server; it ends with the value.
package final class FaultServer: Sendable {
  /// One request as the server saw it.
  package struct Request: Sendable, Decodable {
    package let method: String
    package let target: String
    package let path: String
    package let range: String?
    package let headers: [String: String]
    package let port: Int
    package let proxied: Bool
    /// Which connection it came on.
    package let conn: Int
    package let status: Int?
    package let sent: Int
    package let ended: String?
    /// When it came, in seconds since 1970.
    package let time: Double
    /// When its answer had been handed to the network; nil while it is under way.
    package let until: Double?

    /// A header's value; names are compared without regard to case.
    package func header(_ name: String) -> String? {
      headers.first { $0.key.lowercased() == name.lowercased() }?.value
    }
  }

  package let port: Int
  /// A second listener of the same server: another origin.
  package let secondPort: Int
  private let scheme: String
  private let host: String
  private let process: ChildProcess
  private let scratch: ScratchDirectory

  /// Serves `root` on `host`, an IPv4 address.
  package init(
    root: String = FixtureFile.mediaFolder, host: String = "127.0.0.1",
    certificate: TestCertificate? = nil
  ) throws {
    self.host = host
    scratch = try ScratchDirectory()
    let portFile = scratch.file("port")
    var arguments = [
      "python3", "\(FixtureFile.folder)/faultserver.py", "--root", root, "--port-file", portFile,
      "--host", host, "--parent", "\(getpid())",
    ]
    if let certificate {
      arguments += ["--cert", certificate.chainPath, "--key", certificate.keyPath]
    }
    scheme = certificate == nil ? "http" : "https"
    let server = try ChildProcess(
      arguments, environment: systemEnvironment, folder: scratch.path, captureIn: scratch.path)
    process = server
    try waitUntil("the fault server's port") {
      if let status = server.pollStatus() {
        throw ProcessTrouble.failed("fault server: \(status)\n\(server.stderr)")
      }
      return fileSize(portFile) != nil
    }
    let words = String(decoding: fileBytes(portFile), as: UTF8.self).split { " \n=".contains($0) }
    guard words.count == 6, let first = Int(words[1]), let second = Int(words[3]) else {
      throw ProcessTrouble.failed("fault server: odd port file")
    }
    port = first
    secondPort = second
  }

  deinit { process.signal(SIGTERM) }

  /// The URL of `path`, which may start with faults: `~drop=5000&times=1/plain.mp4`.
  package func url(_ path: String) -> String { "\(scheme)://\(host):\(port)/\(path)" }

  /// Every request so far.
  package func log() throws -> [Request] {
    let text = try outputOfTool(["curl", "-sSk", "--noproxy", "*", url("__log")])
    return try JSONDecoder().decode([Request].self, from: Data(text.utf8))
  }

  /// The GETs so far.
  package func gets() throws -> [Request] { try log().filter { $0.method == "GET" } }

  /// The URL of `path` at the second listener.
  package func otherURL(_ path: String) -> String { "\(scheme)://\(host):\(secondPort)/\(path)" }

  /// Ends all faults: what a URL asks for is served well from now on.
  package func mend() throws {
    try outputOfTool(["curl", "-sSk", "--noproxy", "*", url("__mend")])
  }

  /// Empties log and counters, and brings the faults back.
  package func reset() throws {
    try outputOfTool(["curl", "-sSk", "--noproxy", "*", url("__reset")])
  }
}
