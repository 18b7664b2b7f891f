// What `--print` writes for each item: a text with a result's keys in braces. Pure.

import FetchCore

/// A parsed `--print` template.
package struct ResultTemplate: Sendable, Hashable {
  private enum Piece: Sendable, Hashable {
    case text(String)
    case key(String)
  }

  private let pieces: [Piece]

  /// The keys that a template may name: those of a JSON result.
  package static let keys = JSONEventWriter.resultKeys

  /// The keys for the help, in braces.
  package static let keyList = keys.map { "{\($0)}" }.joined(separator: ", ")

  /// Parses a template, or says what is wrong with it.
  package init(_ text: String, option: String) throws(UsageError) {
    var pieces: [Piece] = []
    var literal = ""
    var rest = Substring(text)
    while let character = rest.popFirst() {
      switch character {
      case "\\":
        switch rest.popFirst() {
        case "n": literal += "\n"
        case "t": literal += "\t"
        case "\\": literal += "\\"
        case let other:
          throw UsageError(
            "\(option) knows \\n, \\t and \\\\, not '\\\(other.map(String.init) ?? "")'")
        }
      case "{" where rest.first == "{", "}" where rest.first == "}":
        rest.removeFirst()
        literal.append(character)
      case "}":
        throw UsageError("\(option) has a '}' without its '{'", didYouMean: "}}")
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          throw UsageError("\(option) has a '{' without its '}'", didYouMean: "{{")
        }
        let key = String(rest[..<end])
        guard Self.keys.contains(key) else {
          throw UsageError(
            "\(option) knows no key {\(key)}",
            didYouMean: Spelling.nearest(to: key, among: Self.keys).map { "{\($0)}" })
        }
        if !literal.isEmpty { pieces.append(.text(literal)) }
        literal = ""
        pieces.append(.key(key))
        rest = rest[rest.index(after: end)...]
      default:
        literal.append(character)
      }
    }
    if !literal.isEmpty { pieces.append(.text(literal)) }
    self.pieces = pieces
  }

  /// Whether it has a key in it.
  package func names(_ key: String) -> Bool { pieces.contains(.key(key)) }

  /// The text for one result; what the result doesn't have is empty.
  package func filled(with result: JSONObject) -> String {
    pieces.reduce(into: "") { text, piece in
      switch piece {
      case .text(let literal): text += literal
      case .key(let key):
        switch result[key] {
        case nil: break
        case .string(let string): text += string
        case .some(let value): text += value.encoded
        }
      }
    }
  }
}
