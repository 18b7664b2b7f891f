// A certificate authority of our own, made by the openssl command once a test run, and the
// certificates that it signs: a good one and two that must be refused.

private import Foundation

/// A server certificate with its key, both PEM files.
package struct TestCertificate: Sendable {
  package let chainPath: String
  package let keyPath: String
}

/// The authority of this test run.
package final class TestAuthority: Sendable {
  /// Made at first use, kept until the process ends.
  package static let shared = Result { try TestAuthority() }

  private let folder: String
  /// What `--cacert` takes.
  package let caPath: String
  /// For 127.0.0.1 and localhost.
  package let good: TestCertificate
  /// The same names, but out of date.
  package let expired: TestCertificate
  /// In date, but for another host.
  package let wrongHost: TestCertificate

  private init() throws {
    // Not a ScratchDirectory: a static is never released. One small folder, named by this process,
    // is removed at exit.
    let folder = "/tmp/vidfetch-test-ca-\(getpid())"
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    removeAtExit(folder)
    caPath = "\(folder)/ca.pem"
    func openssl(_ arguments: String...) throws {
      try outputOfTool(["openssl"] + arguments, in: folder)
    }
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
      "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=vidfetch test authority")
    func sign(_ name: String, _ names: String, days: String) throws -> TestCertificate {
      try "subjectAltName=\(names)\n".write(
        toFile: "\(folder)/\(name).ext", atomically: false, encoding: .utf8)
      try openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
        "\(name).key", "-out", "\(name).csr", "-subj", "/CN=vidfetch test server")
      try openssl(
        "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key",
        "-CAcreateserial", "-days", days, "-extfile", "\(name).ext", "-out", "\(name).pem")
      return TestCertificate(
        chainPath: "\(folder)/\(name).pem", keyPath: "\(folder)/\(name).key")
    }
    let names = "DNS:localhost,IP:127.0.0.1"
    good = try sign("good", names, days: "30")
    expired = try sign("expired", names, days: "-1")
    wrongHost = try sign("wrong", "DNS:other.example", days: "30")
  }
}
