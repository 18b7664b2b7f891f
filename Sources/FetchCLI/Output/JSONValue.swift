// JSON as a value with a stable order of keys, and its text (RFC 8259). Written by hand, since the
// order of keys and the form of numbers are part of what scripts compare. Pure.

/// One JSON value.
package enum JSONValue: Sendable, Hashable {
  case bool(Bool)
  case integer(Int64)
  /// Finite; `JSONObject` leaves other numbers out.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// The value's text, without any white space.
  package var encoded: String {
    var text = ""
    encode(into: &text)
    return text
  }

  fileprivate func encode(into text: inout String) {
    switch self {
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += "\(value)"
    case .number(let value): text += Self.number(value)
    case .string(let value): Self.encode(value, into: &text)
    case .array(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.encode(into: &text)
      }
      text += "]"
    case .object(let object): object.encode(into: &text)
    }
  }

  /// The shortest decimal text that reads back as the same number; whole ones without a fraction.
  private static func number(_ value: Double) -> String {
    if let whole = Int64(exactly: value) { return "\(whole)" }
    return value.isFinite ? "\(value)" : "0"
  }

  /// Escapes what JSON demands, and what a terminal would act on, so that a line that is shown
  /// raw does no harm.
  fileprivate static func encode(_ string: String, into text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        if Printable.isUnsafe(scalar) {
          for unit in String(scalar).utf16 {
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
          }
        } else {
          text.unicodeScalars.append(scalar)
        }
      }
    }
    text += "\""
  }
}

/// A JSON object that keeps its keys in the order in which they came.
///
/// Absent is unknown: a nil value and a number that isn't finite add no key.
package struct JSONObject: Sendable, Hashable {
  package private(set) var members: [Member] = []

  package struct Member: Sendable, Hashable {
    package let key: String
    package let value: JSONValue
  }

  package init() {}

  package subscript(key: String) -> JSONValue? {
    members.first { $0.key == key }?.value
  }

  package mutating func add(_ key: String, _ value: JSONValue?) {
    guard let value else { return }
    members.append(Member(key: key, value: value))
  }

  package mutating func add(_ key: String, _ value: String?) {
    add(key, value.map { JSONValue.string($0) })
  }

  package mutating func add(_ key: String, _ value: Bool?) {
    add(key, value.map { JSONValue.bool($0) })
  }

  package mutating func add(_ key: String, _ value: (some BinaryInteger)?) {
    add(key, value.map { JSONValue.integer(Int64(clamping: $0)) })
  }

  /// Adds a number rounded to so many decimals; what isn't finite is left out.
  package mutating func add(_ key: String, _ value: Double?, decimals: Int) {
    guard let value, value.isFinite else { return }
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let rounded = (value * scale).rounded() / scale
    add(key, JSONValue.number(rounded.isFinite ? rounded : value))
  }

  package var encoded: String {
    var text = ""
    encode(into: &text)
    return text
  }

  fileprivate func encode(into text: inout String) {
    text += "{"
    for (index, member) in members.enumerated() {
      if index > 0 { text += "," }
      JSONValue.encode(member.key, into: &text)
      text += ":"
      member.value.encode(into: &text)
    }
    text += "}"
  }
}
