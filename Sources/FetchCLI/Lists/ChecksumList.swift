// A file of checksums as sha256sum(1) and its kin write it, in both of their forms. Pure.

package import FetchCore

/// The checksums of a SHA256SUMS file, by name.
package struct ChecksumList: Sendable {
  package enum Finding: Sendable, Hashable {
    case checksum(Checksum)
    case missing
    /// Several files of this name, in folders of their own, with different checksums.
    case ambiguous
  }

  private var byName: [String: Finding] = [:]

  /// Parses a whole file.
  ///
  /// - Throws: with the number of the first line that is none of a checksum.
  package init(_ bytes: [UInt8]) throws(UsageError) {
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    {
      guard let text = String(validating: line, as: UTF8.self) else {
        throw UsageError("line \(index + 1) is not valid UTF-8")
      }
      let stripped = text.hasSuffix("\r") ? String(text.unicodeScalars.dropLast()) : text
      if stripped.allSatisfy({ $0 == " " || $0 == "\t" }) || stripped.hasPrefix("#") { continue }
      guard let (name, checksum) = Self.entry(Substring(stripped)) else {
        throw UsageError("line \(index + 1) is not a checksum and a file name")
      }
      add(checksum, name)
    }
  }

  /// The checksum for a name, or for the last component of a URL's path, decoded.
  package func checksum(for name: String) -> Finding { byName[name] ?? .missing }

  package var isEmpty: Bool { byName.isEmpty }

  private mutating func add(_ checksum: Checksum, _ path: String) {
    let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    guard case .checksum(let other)? = byName[name] else {
      if byName[name] == nil { byName[name] = .checksum(checksum) }
      return
    }
    if other.algorithm == checksum.algorithm {
      if other != checksum { byName[name] = .ambiguous }
    } else if other.algorithm.digits < checksum.algorithm.digits {
      // Of several kinds the strongest counts.
      byName[name] = .checksum(checksum)
    }
  }

  private static func entry(_ line: Substring) -> (name: String, Checksum)? {
    var line = line
    // A backslash before the digest says that the name has escapes.
    let isEscaped = line.first == "\\"
    if isEscaped { line.removeFirst() }
    guard let (name, checksum) = plain(line) ?? tagged(line), !name.isEmpty else { return nil }
    guard isEscaped else { return (String(name), checksum) }
    return unescaped(name).map { ($0, checksum) }
  }

  /// `HEX  NAME`, or `HEX *NAME` for one that was read as binary.
  private static func plain(_ line: Substring) -> (Substring, Checksum)? {
    guard let space = line.firstIndex(of: " "),
      let checksum = Checksum(digest: line[..<space])
    else { return nil }
    let rest = line[line.index(after: space)...]
    guard let mark = rest.first, mark == " " || mark == "*" else { return nil }
    return (rest.dropFirst(), checksum)
  }

  /// `SHA256 (NAME) = HEX`.
  private static func tagged(_ line: Substring) -> (Substring, Checksum)? {
    guard let open = line.firstRange(of: " ("),
      let algorithm = Checksum.Algorithm(rawValue: line[..<open.lowerBound].lowercased()),
      let close = line.ranges(of: ") = ").last, close.lowerBound >= open.upperBound,
      let checksum = Checksum(algorithm, digest: line[close.upperBound...])
    else { return nil }
    return (line[open.upperBound..<close.lowerBound], checksum)
  }

  private static func unescaped(_ name: Substring) -> String? {
    var result = ""
    var rest = name
    while let character = rest.popFirst() {
      guard character == "\\" else {
        result.append(character)
        continue
      }
      switch rest.popFirst() {
      case "n": result.append("\n")
      case "r": result.append("\r")
      case "\\": result.append("\\")
      default: return nil
      }
    }
    return result
  }
}
