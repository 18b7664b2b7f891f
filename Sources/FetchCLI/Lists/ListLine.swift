// One line of a list: `URL`, `URL<TAB>NAME`, or a JSON object; `#` begins a comment. Lines are data:
// nothing in them is an option, names a file to read values from, or is run. Pure.

import FetchCore

/// What one line of a list is.
package enum ListLine: Sendable, Hashable {
  /// A blank line or a comment.
  case nothing
  case item(ListEntry)
  /// What is wrong with it, in one line without a full stop.
  case bad(String)

  /// The longest line that is read.
  package static let longest = 1 << 20

  /// What is said of a longer one.
  package static let tooLong = bad("the line is longer than \(longest >> 20) MiB")

  /// Reads a line.
  ///
  /// - Parameters:
  ///   - bytes: without the line feed; a carriage return before it doesn't count.
  ///   - number: from 1; a byte order mark may stand on the first line.
  package static func parse(_ bytes: ArraySlice<UInt8>, number: Int) -> ListLine {
    var bytes = bytes
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    if number == 1, bytes.starts(with: byteOrderMark) { bytes.removeFirst(byteOrderMark.count) }
    guard let first = bytes.first(where: { !isBlank($0) }), first != UInt8(ascii: "#") else {
      return .nothing
    }
    if bytes.count > longest { return tooLong }
    if bytes.contains(0) { return .bad("the line has a NUL byte") }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return .bad("the line is not valid UTF-8")
    }
    do throws(UsageError) {
      return .item(
        first == UInt8(ascii: "{") ? try ListObject.entry(text) : try columns(Substring(text)))
    } catch {
      return .bad(error.suggestion.map { "\(error.message); did you mean \($0)?" } ?? error.message)
    }
  }

  private static func columns(_ text: Substring) throws(UsageError) -> ListEntry {
    let columns = text.split(separator: "\t", omittingEmptySubsequences: false)
      .map { String(trimmed($0)) }
    guard columns.dropFirst(2).allSatisfy(\.isEmpty) else {
      throw UsageError("the line has more than the two columns URL and NAME")
    }
    guard let source = columns.first, !source.isEmpty else {
      throw UsageError("the line has no URL before its tab")
    }
    if RequestText.hasControls(source) { throw UsageError("the URL has control characters") }
    var entry = ListEntry(source: source)
    if columns.count > 1, !columns[1].isEmpty {
      let name = try ListName(columns[1])
      entry.name = name
      entry.format = name.format
    }
    return entry
  }

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.utf8.first == 0x20 { text = text.dropFirst() }
    while text.utf8.last == 0x20 { text = text.dropLast() }
    return text
  }
}
