// How many columns a text takes. Ours rather than wcwidth(3), which answers by the locale, and a
// container has none. Pure.

/// Columns of text on a terminal, never counted too low.
package enum DisplayWidth {
  /// The columns of a whole text.
  package static func of(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
  }

  /// The columns of a text with colours (ECMA-48 SGR) in it.
  package static func ofStyled(_ text: String) -> Int {
    var columns = 0
    var isInSequence = false
    for scalar in text.unicodeScalars {
      if isInSequence {
        isInSequence = scalar != "m"
      } else if scalar == "\u{1B}" {
        isInSequence = true
      } else {
        columns += Self.columns(of: scalar)
      }
    }
    return columns
  }

  /// The columns of one scalar: 0, 1 or 2.
  package static func columns(of scalar: Unicode.Scalar) -> Int {
    let value = scalar.value
    if value < 0x20 || value == 0x7F { return 0 }
    if value < 0x300 { return 1 }
    // Asks for a picture: the character before it may grow to two columns.
    if value == 0xFE0F { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // The vowels and finals of a Hangul syllable join the consonant before them.
    if (0x1160...0x11FF).contains(value) { return 0 }
    return isWide(value) || scalar.properties.isEmojiPresentation ? 2 : 1
  }

  /// The longest beginning of `text` that takes at most `columns`.
  package static func prefix(_ text: String, columns limit: Int) -> String {
    var used = 0
    var result = ""
    // By characters, so that a letter keeps its marks.
    for character in text {
      let width = of(String(character))
      if used + width > limit { break }
      used += width
      result.append(character)
    }
    return result
  }

  /// `text` cut in its middle to at most `columns`, with `...` where something is missing.
  package static func truncate(_ text: String, columns limit: Int) -> String {
    guard of(text) > limit else { return text }
    guard limit > 3 else { return String(repeating: ".", count: max(0, limit)) }
    let tailColumns = (limit - 3) / 2
    let head = prefix(text, columns: limit - 3 - tailColumns)
    var tail = ""
    var used = 0
    for character in text.reversed() {
      let width = of(String(character))
      if used + width > tailColumns { break }
      used += width
      tail.insert(character, at: tail.startIndex)
    }
    return head + "..." + tail
  }

  /// East Asian Wide and Fullwidth (UAX #11, Unicode 15), with small gaps closed: a character that
  /// is counted too wide leaves a column empty, one that is counted too narrow breaks the line.
  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x2614...0x2615, 0x2648...0x2653,
    0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
    0x16FE0...0x18D8F, 0x1AFF0...0x1B2FF, 0x1F004...0x1F004, 0x1F0CF...0x1F0CF,
    0x1F18E...0x1F19A, 0x1F1E6...0x1F2FF, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
    0x1F7E0...0x1F7F0, 0x1F900...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x2FFFD,
    0x30000...0x3FFFD,
  ]

  private static func isWide(_ value: UInt32) -> Bool {
    var low = 0
    var high = wideRanges.count
    while low < high {
      let middle = low + (high - low) / 2
      if wideRanges[middle].upperBound < value { low = middle + 1 } else { high = middle }
    }
    return low < wideRanges.count && wideRanges[low].contains(value)
  }
}
