// Which proxy a request goes through, and which certificates are trusted: what the settings say, else
// the environment as libcurl and curl read it. Decided here rather than in libcurl so that it is known
// whether the address at the other end is the server's or the proxy's. Pure.

import Glibc

/// The variables that change how a transfer is made.
package struct TransferEnvironment: Sendable, Hashable {
  private let values: [String: String]

  static let names = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR",
  ]

  package init(_ values: [String: String] = [:]) { self.values = values }

  /// The process's own, as it is now.
  package static var current: TransferEnvironment {
    var values: [String: String] = [:]
    for name in names {
      if let value = getenv(name) { values[name] = String(cString: value) }
    }
    return TransferEnvironment(values)
  }

  /// The first of these variables that is set to something.
  func first(_ names: String...) -> String? {
    names.lazy.compactMap { values[$0] }.first { !$0.isEmpty }
  }

  /// The first of these variables that is set, perhaps to nothing.
  func firstSet(_ names: String...) -> String? { names.lazy.compactMap { values[$0] }.first }
}

enum ProxyPolicy {
  /// The proxy's URL for a request to `url`; nil for none.
  ///
  /// - Parameter setting: the person's own: a URL, an empty text for none, nil for the environment's.
  static func proxy(
    for url: HTTPURL, setting: String?, environment: TransferEnvironment
  ) -> String? {
    // `HTTP_PROXY` is left alone: a CGI script's client could set it (CVE-2016-5385 and kin).
    let named =
      setting
      ?? (url.origin.scheme == "https"
        ? environment.firstSet("https_proxy", "HTTPS_PROXY")
        : environment.firstSet("http_proxy")) ?? environment.firstSet("all_proxy", "ALL_PROXY")
    guard let named, !named.isEmpty else { return nil }
    let exceptions = environment.firstSet("no_proxy", "NO_PROXY") ?? ""
    return isExcepted(host: url.host, by: exceptions) ? nil : named
  }

  /// Whether `host` is on a `no_proxy` list: names with all their subdomains, addresses, blocks in
  /// CIDR notation, or `*`.
  static func isExcepted(host: String, by list: String) -> Bool {
    let host = withoutTrailingDot(host)
    let numeric = AddressBits(host)
    for entry in list.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
      if entry == "*" { return true }
      if let numeric {
        let parts = entry.split(separator: "/", maxSplits: 1)
        var text = String(parts[0])
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        guard let network = AddressBits(text) else { continue }
        let bits = parts.count == 2 ? Int(parts[1]) : network.count
        if let bits, (0...network.count).contains(bits), numeric.shares(bits, with: network) {
          return true
        }
      } else {
        let name = withoutTrailingDot(URLText.lowercased(String(entry.drop { $0 == "." })))
        if !name.isEmpty, host == name || host.hasSuffix("." + name) { return true }
      }
    }
    return false
  }

  private static func withoutTrailingDot(_ name: String) -> String {
    name.hasSuffix(".") ? String(name.dropLast()) : name
  }

  /// An address as bits.
  private struct AddressBits {
    let bytes: [UInt8]
    var count: Int { bytes.count * 8 }

    init?(_ text: String) {
      var v4 = in_addr()
      var v6 = in6_addr()
      if inet_pton(AF_INET, text, &v4) == 1 {
        bytes = withUnsafeBytes(of: v4) { Array($0) }
      } else if inet_pton(AF_INET6, text, &v6) == 1 {
        bytes = withUnsafeBytes(of: v6) { Array($0) }
      } else {
        return nil
      }
    }

    func shares(_ bits: Int, with other: AddressBits) -> Bool {
      guard bytes.count == other.bytes.count else { return false }
      return (0..<bits).allSatisfy { bit in
        (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
      }
    }
  }
}

/// Where trusted certificates come from.
struct TrustSource: Sendable, Hashable {
  /// A PEM file; nil for the library's own.
  var file: String?
  /// A folder of hashed certificates.
  var directory: String?

  /// The settings' file, else the environment's in the order of the curl tool.
  init(setting: String?, environment: TransferEnvironment) {
    if let setting {
      file = setting
    } else if let bundle = environment.first("CURL_CA_BUNDLE") {
      file = bundle
    } else {
      file = environment.first("SSL_CERT_FILE")
      directory = environment.first("SSL_CERT_DIR")
    }
  }
}
