// The items that failed, as a list that `-i` takes. Pure.

/// The form `failed-list`.
///
/// An item is its URL alone where that says all, or else a JSON object. Headers and credentials are
/// in no result, so that they have to be given again. A URL that had a secret in it is a comment.
package enum FailedList {
  /// The whole; empty where nothing failed.
  package static func text(_ contents: ReportContents) -> String {
    guard contents.failed > 0 else { return "" }
    var text = "# \(contents.headline)\n"
    for failures in contents.failures {
      let advice = failures.advice.map { ", \($0)" } ?? ""
      text += "# \(Printable.escape(failures.code)): \(failures.items.count)\(advice)\n"
      for item in failures.items { text += line(item) + "\n" }
    }
    return text
  }

  /// The line of one item.
  package static func line(_ item: RecordedResult) -> String {
    if let list = item.list, let line = item.line,
      item.url == ItemSource.place(list: list, line: Int(line))
    {
      let message = item.message.map { ": \(Printable.escape($0))" } ?? ""
      return "# \(origin(item)) can't be read\(message)"
    }
    if item.isRedacted ?? item.url.contains("…") {
      let url = Printable.escape(item.url)
      return "# secrets were taken out of \(url); fetch it again from \(origin(item))"
    }
    guard item.name != nil || item.format == "mov" || !isPlain(item.url) else { return item.url }
    var object = JSONObject()
    object.add("url", item.url)
    object.add("name", item.name)
    object.add("format", item.format)
    return object.encoded
  }

  private static func origin(_ item: RecordedResult) -> String {
    guard let list = item.list, let line = item.line else { return "where it came from" }
    return "line \(line) of \(Printable.escape(list))"
  }

  /// Whether a line with nothing but this text is read as this text.
  private static func isPlain(_ url: String) -> Bool {
    guard let first = url.unicodeScalars.first, let last = url.unicodeScalars.last else {
      return false
    }
    return !["#", "{"].contains(first) && !first.properties.isWhitespace
      && !last.properties.isWhitespace && !url.unicodeScalars.contains(where: Printable.isUnsafe)
  }
}
