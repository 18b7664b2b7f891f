// Finds what somebody probably meant to type. Pure.

/// Comparison of words by the keystrokes between them.
package enum Spelling {
  /// The optimal string alignment distance: insertions, deletions, replacements, and swaps of
  /// neighbours, each counted 1.
  package static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left.unicodeScalars)
    let right = Array(right.unicodeScalars)
    if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 1...left.count {
      var current = [row]
      current.reserveCapacity(right.count + 1)
      for column in 1...right.count {
        let replaced = last[column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
        var best = min(replaced, last[column] + 1, current[column - 1] + 1)
        if row > 1, column > 1, left[row - 1] == right[column - 2],
          left[row - 2] == right[column - 1]
        {
          best = min(best, beforeLast[column - 2] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }

  /// The one of `candidates` that `word` is near to, or begins; nil where none is near enough.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    // Longer words would only cost time: nobody mistypes forty letters.
    guard !word.isEmpty, word.unicodeScalars.count <= 40 else { return nil }
    let begun = candidates.filter { $0.hasPrefix(word) }
    if begun.count == 1 { return begun.first }
    let limit = max(1, min(3, word.unicodeScalars.count / 3))
    let scored = candidates.map { (name: $0, distance: distance(word, $0)) }
    guard let best = scored.min(by: { $0.distance < $1.distance }), best.distance <= limit
    else { return nil }
    return best.name
  }
}
