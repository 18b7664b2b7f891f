// Content-Range, which decides where bytes of a resource belong. Pure.

/// The value of a Content-Range field (RFC 9110 14.4), unit `bytes`.
package enum ContentRange: Sendable, Hashable {
  /// `bytes first-last/total`; `total` is nil for `*`.
  case bytes(first: Int64, last: Int64, total: Int64?)
  /// `bytes */total`, as a 416 says it.
  case unsatisfied(total: Int64)
  /// There is a field, but it says nothing usable: another unit, reversed, not below its total…
  case unreadable

  /// Reads a field's value.
  package init(_ text: String) {
    self = Self.parse(Array(text.utf8)) ?? .unreadable
  }

  /// How many bytes the range holds.
  package var count: Int64? {
    guard case .bytes(let first, let last, _) = self else { return nil }
    return last - first + 1
  }

  /// The size of the whole resource, where it is told.
  package var total: Int64? {
    switch self {
    case .bytes(_, _, let total): total
    case .unsatisfied(let total): total
    case .unreadable: nil
    }
  }

  private static func parse(_ bytes: [UInt8]) -> ContentRange? {
    let text = ASCII.trimmed(bytes)
    guard let space = text.firstIndex(where: ASCII.isSpace),
      text[..<space].map(ASCII.lowercased).elementsEqual("bytes".utf8)
    else { return nil }
    let rest = ASCII.trimmed(text[space...])
    guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let range = ASCII.trimmed(rest[..<slash])
    let size = ASCII.trimmed(rest[rest.index(after: slash)...])
    let star = "*".utf8
    if range.elementsEqual(star) {
      return ASCII.number(size).map { .unsatisfied(total: $0) }
    }
    guard let dash = range.firstIndex(of: UInt8(ascii: "-")),
      let first = ASCII.number(range[..<dash]),
      let last = ASCII.number(range[range.index(after: dash)...]), first <= last,
      last < Int64.max
    else { return nil }
    if size.elementsEqual(star) { return .bytes(first: first, last: last, total: nil) }
    guard let total = ASCII.number(size), last < total else { return nil }
    return .bytes(first: first, last: last, total: total)
  }
}
