// How a part is found again: a short name made of the address alone.

internal import CCrypto

/// The first 16 hex digits of the SHA-256 of a normalised URL (RFC 3986 6.2.2).
package struct ResourceKey: Sendable, Hashable, CustomStringConvertible {
  package let description: String
  /// All 64 digits, for the record, where the short form might stand for two addresses.
  package let digest: String

  package init(normalizedURL: String) {
    digest = SHA256.hexDigest(of: Array(normalizedURL.utf8))
    description = String(digest.prefix(16))
  }
}

/// SHA-256 by libcrypto's `EVP_Digest`.
package enum SHA256 {
  /// The digest as 64 lower-case hex digits.
  package static func hexDigest(of bytes: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha256(), nil)
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(64)
    for byte in digest {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
