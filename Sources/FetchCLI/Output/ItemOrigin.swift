// Where an item of a batch came from, for its result: so that a report can tell items apart, and name
// the line that a failed one stands in. Pure.

/// Keys of a result that its job doesn't know.
package struct ItemOrigin: Sendable, Hashable {
  /// 16 hex digits of the hash of the normalised URL, secrets and all.
  package var id: String?
  /// The name that the list gives to the item.
  package var name: String?
  /// The list as it was named, and the line in it, from 1.
  package var list: String?
  package var line: Int?
  /// Whether something was taken out of the URL before it was shown.
  package var isRedacted = false

  package init() {}

  func add(to object: inout JSONObject) {
    object.add("id", id)
    object.add("name", name)
    object.add("list", list)
    object.add("line", line)
    object.add("redacted", isRedacted ? true : nil)
  }
}
