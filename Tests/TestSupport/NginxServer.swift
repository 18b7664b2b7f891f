// A real nginx in a folder of its own: HTTP/1.1, TLS with HTTP/2, bad certificates, Basic
// authentication, a slow location. What it saw is in its access log.

private import Foundation

/// A running nginx; it ends with the value.
package final class NginxServer: Sendable {
  /// One answered request.
  package struct Request: Sendable, Hashable {
    /// `$server_protocol`, such as `HTTP/2.0`.
    package let httpVersion: String
    package let method: String
    package let uri: String
    package let status: Int
    /// Body bytes that were sent.
    package let sent: Int
    package let range: String
    package let ifRange: String
    package let authorization: String
    package let userAgent: String
    package let port: Int
    /// The connection's number.
    package let connection: Int
    /// How many connections nginx was busy with when it ended.
    package let atOnce: Int
  }

  package let httpPort: Int
  package let httpsPort: Int
  package let expiredPort: Int
  package let wrongHostPort: Int
  private let scratch: ScratchDirectory
  private let process: ChildProcess

  /// The user and password of `/private/`.
  package static let user = "viewer"
  package static let password = "s3cret-pass"

  /// Serves `root`: `/NAME` plainly, `/slow/NAME` at `slowRate` bytes a second (the first second's
  /// worth at once), `/private/NAME` with Basic authentication, `/moved/NAME` by a redirect.
  package init(root: String = FixtureFile.mediaFolder, slowRate: Int = 100_000) throws {
    let authority = try TestAuthority.shared.get()
    let scratch = try ScratchDirectory()
    self.scratch = scratch
    _ = try scratch.folder("tmp")
    try scratch.write("users", "\(Self.user):{PLAIN}\(Self.password)\n")
    var started: (ChildProcess, [Int])?
    var trouble = ""
    // A port that was free a moment ago may be taken by a parallel test: then others are tried.
    for _ in 0..<8 where started == nil {
      let ports = try freePorts(4)
      try scratch.write(
        "nginx.conf",
        configuration(
          scratch.path, root: root, ports: ports, authority: authority, slowRate: slowRate))
      let pidFile = scratch.file("nginx.pid")
      try? FileManager.default.removeItem(atPath: pidFile)
      let process = try ChildProcess(
        [
          "nginx", "-p", scratch.path, "-c", scratch.file("nginx.conf"), "-e",
          scratch.file("error.log"),
        ],
        environment: systemEnvironment, folder: scratch.path, captureIn: scratch.path)
      // The pid file is written once all ports are bound.
      try waitUntil("nginx to start") {
        process.pollStatus() != nil || (fileSize(pidFile) ?? 0) > 0
      }
      if process.pollStatus() == nil {
        started = (process, ports)
      } else {
        trouble = process.stderr
      }
    }
    guard let (process, ports) = started else {
      throw ProcessTrouble.failed("nginx did not start: \(trouble)")
    }
    self.process = process
    (httpPort, httpsPort) = (ports[0], ports[1])
    (expiredPort, wrongHostPort) = (ports[2], ports[3])
  }

  deinit {
    process.signal(SIGTERM)
    _ = try? process.wait(limit: 10)
  }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(httpPort)/\(path)" }
  package func secureURL(_ path: String) -> String { "https://127.0.0.1:\(httpsPort)/\(path)" }

  /// The requests that have been answered so far.
  ///
  /// A request appears once its last byte was sent.
  package func log() -> [Request] {
    let text = String(decoding: fileBytes(scratch.file("access.log")), as: UTF8.self)
    return text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard words.count == 12, let status = Int(words[3]), let sent = Int(words[4]),
        let port = Int(words[9]), let connection = Int(words[10]), let atOnce = Int(words[11])
      else { return nil }
      return Request(
        httpVersion: words[0], method: words[1], uri: words[2], status: status, sent: sent,
        range: words[5], ifRange: words[6], authorization: words[7], userAgent: words[8],
        port: port, connection: connection, atOnce: atOnce)
    }
  }
}

private func configuration(
  _ folder: String, root: String, ports: [Int], authority: TestAuthority, slowRate: Int
) -> String {
  func secure(_ port: Int, _ certificate: TestCertificate, _ rest: String) -> String {
    """
      server {
        listen 127.0.0.1:\(port) ssl http2;
        ssl_certificate \(certificate.chainPath);
        ssl_certificate_key \(certificate.keyPath);
        \(rest)
      }
    """
  }
  let locations = """
    root "\(root)";
        location /slow/ { alias "\(root)/"; limit_rate \(slowRate); }
        location /private/ {
          alias "\(root)/";
          auth_basic "films";
          auth_basic_user_file \(folder)/users;
        }
        location /moved/ { rewrite ^/moved/(.*)$ /$1 redirect; }
    """
  return """
    daemon off;
    worker_processes 1;
    pid \(folder)/nginx.pid;
    error_log \(folder)/error.log;
    \(getuid() == 0 ? "user root;" : "")
    events { worker_connections 512; }
    http {
      types { video/mp4 mp4; video/mp2t ts; video/quicktime mov; video/x-matroska mkv; }
      log_format seen escape=none "$server_protocol\t$request_method\t$request_uri\t$status\t$body_bytes_sent\t$http_range\t$http_if_range\t$http_authorization\t$http_user_agent\t$server_port\t$connection\t$connections_active";
      access_log \(folder)/access.log seen;
      client_body_temp_path \(folder)/tmp/body;
      proxy_temp_path \(folder)/tmp/proxy;
      fastcgi_temp_path \(folder)/tmp/fastcgi;
      uwsgi_temp_path \(folder)/tmp/uwsgi;
      scgi_temp_path \(folder)/tmp/scgi;
      server {
        listen 127.0.0.1:\(ports[0]);
        \(locations)
      }
    \(secure(ports[1], authority.good, locations))
    \(secure(ports[2], authority.expired, locations))
    \(secure(ports[3], authority.wrongHost, locations))
    }
    """
}

/// Ports of 127.0.0.1 that nobody listens on at this moment, all different.
package func freePorts(_ count: Int) throws -> [Int] {
  var sockets: [Int32] = []
  defer { for descriptor in sockets { close(descriptor) } }
  return try (0..<count).map { _ in
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    sockets.append(descriptor)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0
      }
    }
    guard bound else { throw ProcessTrouble.cannotStart("bind", errno) }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
