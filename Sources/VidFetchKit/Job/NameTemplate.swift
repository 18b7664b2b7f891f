// A result's name as a pattern: text with fields in braces. Pure.

package import FetchCore
import PartialStorage

/// A parsed `--name` template.
package struct NameTemplate: Sendable, Hashable {
  /// What is known of an item before anything is fetched.
  package struct Item: Sendable, Hashable {
    /// 16 hex digits of the source.
    package let id: String
    /// Empty for a local file.
    package let host: String
    package let format: ContainerFormat
    /// The item's place in its list, from 1.
    package let index: Int

    package init(_ source: SourceIdentity, _ format: ContainerFormat, index: Int) {
      id = source.key
      host = source.host
      self.format = format
      self.index = index
    }
  }

  private enum Piece: Sendable, Hashable {
    case text(String)
    case title, id, host, ext
    /// Filled up with zeros to so many digits.
    case index(digits: Int)
  }

  /// The fields that a template may name.
  package static let fields = ["title", "id", "host", "ext", "index"]
  /// No list has more lines than a number of so many digits counts.
  private static let mostDigits = 18

  private let pieces: [Piece]

  /// Parses a template.
  ///
  /// - Throws: `.usage`, whose message goes behind the name of the option.
  package init(_ text: String) throws(FetchError) {
    guard !text.unicodeScalars.contains(where: OutputName.isSeparator) else {
      throw Self.malformed("names a file, not a path", recovery: "name the folder by --directory")
    }
    var pieces: [Piece] = []
    var literal = ""
    var rest = Substring(text)
    while let character = rest.popFirst() {
      switch character {
      case "{" where rest.first == "{", "}" where rest.first == "}":
        rest.removeFirst()
        literal.append(character)
      case "}":
        throw Self.malformed("has a '}' without its '{'", recovery: "did you mean '}}'?")
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          throw Self.malformed("has a '{' without its '}'", recovery: "did you mean '{{'?")
        }
        if !literal.isEmpty { pieces.append(.text(literal)) }
        literal = ""
        pieces.append(try Self.field(rest[..<end]))
        rest = rest[rest.index(after: end)...]
      default:
        literal.append(character)
      }
    }
    if !literal.isEmpty { pieces.append(.text(literal)) }
    guard !pieces.isEmpty else { throw Self.malformed("is empty") }
    self.pieces = pieces
  }

  private static func field(_ text: Substring) throws(FetchError) -> Piece {
    switch text {
    case "title": return .title
    case "id": return .id
    case "host": return .host
    case "ext": return .ext
    case "index": return .index(digits: 1)
    default: break
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    if parts.count == 2, parts[0] == "index" {
      let isNumber = !parts[1].isEmpty && parts[1].utf8.allSatisfy { (0x30...0x39).contains($0) }
      guard isNumber, let digits = Int(parts[1]), (1...mostDigits).contains(digits) else {
        throw malformed(
          "knows {index} and, with zeros to so many digits, {index:05}; not {\(text)}")
      }
      return .index(digits: digits)
    }
    let known = fields.map { "{\($0)}" }.joined(separator: ", ")
    let meant = Spelling.nearest(to: String(parts.first ?? "").lowercased(), among: fields)
    throw malformed(
      "knows \(known), not {\(text)}", recovery: meant.map { "did you mean {\($0)}?" })
  }

  private static func malformed(_ message: String, recovery: String? = nil) -> FetchError {
    FetchError(.usage, message, recovery: recovery)
  }

  /// Whether the name waits for what the server says.
  package var namesTitle: Bool { pieces.contains(.title) }

  /// Whether items of one list can be told apart by it.
  package var namesItem: Bool {
    pieces.contains {
      switch $0 {
      case .title, .id, .index: true
      case .text, .host, .ext: false
      }
    }
  }

  /// The name of an item's result; it always ends in the format's extension.
  ///
  /// - Parameter title: a safe stem of the server's proposal, else the source's.
  package func name(of item: Item, title: String?) -> String {
    let text = pieces.reduce(into: "") { name, piece in
      switch piece {
      case .text(let text): name += text
      case .title: name += title ?? ""
      case .id: name += item.id
      case .host: name += item.host
      case .ext: name += item.format.rawValue
      case .index(let digits):
        let number = String(item.index)
        name += String(repeating: "0", count: max(0, digits - number.utf8.count)) + number
      }
    }
    let ending = "." + item.format.rawValue
    let stem = text.lowercased().hasSuffix(ending) ? String(text.dropLast(ending.count)) : text
    return (OutputName.component(stem) ?? "video") + ending
  }
}
