// nginx with TLS and HTTP/2 under a certificate authority made for the tests.

import Foundation
import HTTPTransfer
import Testing

/// A running nginx; nil-like where the machine has none (`isAvailable`).
final class SecureServer: Sendable {
  /// A certificate that is right, one that has expired, one for another host, one signed by itself.
  let good: Int
  let expired: Int
  let misnamed: Int
  let selfSigned: Int
  let plain: Int
  /// The authority's certificate.
  let authority: String
  let isAvailable: Bool
  private let lifeline: LifelineProcess

  static let shared = SecureServer(behind: DataServer.shared)

  /// - Parameter server: what `/fault/…` is passed on to.
  private init(behind server: DataServer) {
    let folder = Root.shared.path + "-nginx"
    authority = folder + "/ca.pem"
    try? FileManager.default.createDirectory(
      atPath: folder + "/temp", withIntermediateDirectories: true)
    let hasCertificates = Self.makeCertificates(in: folder)
    var ports = Self.freePorts(5)
    var isRunning = false
    // Between the choice of a port and its use somebody else may take it.
    for _ in 0..<5 where hasCertificates && !isRunning {
      ports = Self.freePorts(5)
      let configuration = Self.configuration(ports, server, folder)
      try? configuration.write(toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
      // The first process ends when the sockets listen: no waiting, no guessing.
      let path =
        FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx")
        ? "/usr/sbin/nginx" : "nginx"
      isRunning =
        LifelineProcess.run([
          // Foundation takes a process for running while anybody holds its other descriptors.
          "bash", "-c",
          """
          for fd in /proc/$$/fd/*; do n=${fd##*/}; [ $n -gt 2 ] && eval "exec $n>&-"; done
          exec '\(path)' -p '\(folder)' -c nginx.conf > /dev/null
          """,
        ]).0 == 0
    }
    (good, expired, misnamed, selfSigned, plain) = (
      ports[0], ports[1], ports[2], ports[3], ports[4]
    )
    isAvailable = isRunning
    lifeline = LifelineProcess.atEnd("kill $(cat '\(folder)/nginx.pid'); rm -rf '\(folder)'")
  }

  func url(_ path: String, port: Int? = nil) throws -> HTTPURL {
    try HTTPURL("https://localhost:\(port ?? good)\(path)")
  }

  private static func freePorts(_ count: Int) -> [Int] {
    let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    defer { sockets.forEach { close($0) } }
    return sockets.map { descriptor in
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      return withUnsafeMutableBytes(of: &address) { bytes in
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
          bind(descriptor, base, length) == 0, getsockname(descriptor, base, &length) == 0
        else { return 0 }
        return Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      }
    }
  }

  private static func makeCertificates(in folder: String) -> Bool {
    let script = """
      set -e
      new() { openssl req -newkey rsa:2048 -nodes -keyout $1.key -subj "/CN=$2" "${@:3}"; }
      new ca "test authority" -x509 -days 30 -out ca.pem
      new self localhost -x509 -days 30 -addext subjectAltName=DNS:localhost -out self.pem
      touch index.txt; echo 01 > serial
      printf '%s\\n' '[ca]' default_ca=d '[d]' database=index.txt serial=serial new_certs_dir=. \
        default_md=sha256 policy=p certificate=ca.pem private_key=ca.key copy_extensions=copy \
        unique_subject=no '[p]' commonName=supplied > ca.cnf
      sign() { openssl ca -batch -config ca.cnf -in $1.csr -out $1.pem -notext "${@:2}"; }
      new good localhost -addext subjectAltName=DNS:localhost -out good.csr; sign good -days 30
      new old localhost -addext subjectAltName=DNS:localhost -out old.csr
      sign old -startdate 20200101000000Z -enddate 20200201000000Z
      new other other.example -addext subjectAltName=DNS:other.example -out other.csr
      sign other -days 30
      """
    return LifelineProcess.run(["bash", "-c", script], in: folder).0 == 0
  }

  private static func configuration(_ ports: [Int], _ server: DataServer, _ folder: String)
    -> String
  {
    let names = ["good", "old", "other", "self"]
    let secure = zip(ports, names).map { port, name in
      """
      server {
        listen 127.0.0.1:\(port) ssl http2;
        ssl_certificate \(folder)/\(name).pem; ssl_certificate_key \(folder)/\(name).key;
        location / { root \(Root.shared.path); }
        location /down { return 302 http://127.0.0.1:\(server.port)/small.txt; }
        location /fault/ {
          proxy_pass http://127.0.0.1:\(server.port)/; proxy_http_version 1.1; proxy_buffering off;
        }
      }
      """
    }.joined(separator: "\n")
    return """
      pid \(folder)/nginx.pid; error_log \(folder)/error.log; worker_processes 1;
      \(getuid() == 0 ? "user root;" : "")
      events {}
      http {
        access_log off; sendfile on;
        client_body_temp_path \(folder)/temp/1; proxy_temp_path \(folder)/temp/2;
        fastcgi_temp_path \(folder)/temp/3; uwsgi_temp_path \(folder)/temp/4;
        scgi_temp_path \(folder)/temp/5;
        \(secure)
        server { listen 127.0.0.1:\(ports[4]); location / { root \(Root.shared.path); } }
      }
      """
  }
}

/// A relay that closes both ends after it has passed `bytes` bytes to the client.
final class CuttingRelay: Sendable {
  let port: Int
  private let process: LifelineProcess

  init(to port: Int, after bytes: Int) {
    process = LifelineProcess.start([
      "python3", "-c",
      """
      import socket, threading
      s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
      def serve(c):
          t = socket.create_connection(("127.0.0.1", \(port)))
          def up():
              try:
                  while d := c.recv(65536): t.sendall(d)
              except OSError: pass
          threading.Thread(target=up, daemon=True).start()
          left = \(bytes)
          while left > 0 and (d := t.recv(min(left, 65536))):
              c.sendall(d); left -= len(d)
          c.shutdown(socket.SHUT_WR); t.close()
      while True:
          threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
      """,
    ])
    self.port = Int(process.firstLine()) ?? 0
  }
}
