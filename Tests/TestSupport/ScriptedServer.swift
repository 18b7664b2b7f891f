// A web server whose every answer is a few lines of Python: for what no real server would say.

private import Foundation

/// A running server; it ends with the value.
package final class ScriptedServer: Sendable {
  package let port: Int
  private let process: ChildProcess
  private let scratch: ScratchDirectory

  /// Serves on 127.0.0.1; a connection ends with its answer.
  ///
  /// - Parameters:
  ///   - script: finds the request's head in `request`, how many came before it in `count` and the
  ///     first byte of its Range, or None, in `first`; answers by `send`, of text or bytes.
  ///   - setUp: is run once, before all.
  package init(_ script: String, setUp: String = "") throws {
    scratch = try ScratchDirectory()
    let portFile = scratch.file("port")
    let lines = script.split(separator: "\n").map { "        " + $0 }.joined(separator: "\n")
    let program = """
      import itertools, os, re, socket, threading, time
      \(setUp)
      counter = itertools.count()
      server = socket.create_server(("127.0.0.1", 0))
      with open("\(portFile).new", "w") as file: file.write(str(server.getsockname()[1]))
      os.rename("\(portFile).new", "\(portFile)")
      def serve(client):
          send = lambda data: client.sendall(data.encode() if isinstance(data, str) else data)
          request = client.recv(65536).decode()
          found = re.search("range: bytes=([0-9]+)-", request, re.I)
          first = int(found[1]) if found else None
          count = next(counter)
          with open("requests", "a") as file: file.write("%s\\n" % first)
          try:
      \(lines)
          except OSError: pass
          client.close()
      while True:
          threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
      """
    let server = try ChildProcess(
      ["python3", "-c", program], environment: systemEnvironment, folder: scratch.path,
      captureIn: scratch.path)
    process = server
    try waitUntil("the scripted server's port") {
      if let status = server.pollStatus() {
        throw ProcessTrouble.failed("scripted server: \(status)\n\(server.stderr)")
      }
      return fileSize(portFile) != nil
    }
    port = Int(String(decoding: fileBytes(portFile), as: UTF8.self)) ?? 0
  }

  deinit { process.signal(SIGTERM) }

  /// The URL of `path`.
  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

  /// The first byte of each request's range so far, nil for a request without a range.
  package var firstBytes: [Int?] {
    String(decoding: fileBytes(scratch.file("requests")), as: UTF8.self)
      .split(separator: "\n").map { Int($0) }
  }
}
