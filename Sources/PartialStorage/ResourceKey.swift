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
  /// The 32 bytes of the digest.
  package static func digest(of bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha256(), nil)
    return digest
  }

  /// The digest as 64 lower-case hex digits.
  package static func hexDigest(of bytes: [UInt8]) -> String { hexDigits(digest(of: bytes)) }
}

/// Lower-case hex digits, two a byte.
func hexDigits(_ bytes: some Collection<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  text.reserveCapacity(bytes.count * 2)
  for byte in bytes {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}
