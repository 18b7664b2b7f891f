// What somebody else says that a file's bytes hash to. Pure.

/// A checksum: an algorithm and the digest that is expected of it.
package struct Checksum: Sendable, Hashable {
  package enum Algorithm: String, Sendable, Hashable, CaseIterable {
    case md5, sha1, sha256, sha512

    /// How many hex digits its digest has.
    package var digits: Int {
      switch self {
      case .md5: 32
      case .sha1: 40
      case .sha256: 64
      case .sha512: 128
      }
    }
  }

  /// Why a text is no checksum.
  package struct Malformed: Error, Sendable, Hashable {
    /// Goes behind the name of what was read, such as "--checksum".
    package let message: String
  }

  package let algorithm: Algorithm
  /// Lower-case hex digits, as many as the algorithm gives.
  package let digest: String

  /// - Returns: nil where the digest is none of this algorithm.
  package init?(_ algorithm: Algorithm, digest: some StringProtocol) {
    guard digest.utf8.count == algorithm.digits, digest.utf8.allSatisfy(Self.isHexDigit) else {
      return nil
    }
    self.algorithm = algorithm
    self.digest = digest.lowercased()
  }

  /// Takes a digest alone, whose length tells the algorithm.
  package init?(digest: some StringProtocol) {
    let count = digest.utf8.count
    guard let algorithm = Algorithm.allCases.first(where: { $0.digits == count }) else {
      return nil
    }
    self.init(algorithm, digest: digest)
  }

  /// Parses `ALG:HEX`, in whatever case.
  package init(_ text: String) throws(Malformed) {
    let names = Algorithm.allCases.map(\.rawValue)
    guard let colon = text.firstIndex(of: ":") else {
      throw Malformed(
        message: "needs ALGORITHM:DIGEST with one of \(names.joined(separator: ", "))")
    }
    let name = text[..<colon].lowercased()
    guard let algorithm = Algorithm(rawValue: name) else {
      throw Malformed(message: "knows \(names.joined(separator: ", ")), not '\(name)'")
    }
    guard let checksum = Checksum(algorithm, digest: text[text.index(after: colon)...]) else {
      throw Malformed(message: "needs \(algorithm.digits) hex digits behind '\(name):'")
    }
    self = checksum
  }

  /// As it is typed.
  package var text: String { "\(algorithm.rawValue):\(digest)" }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
