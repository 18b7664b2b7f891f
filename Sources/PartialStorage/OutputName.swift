// Names for results, made of what a server, a URL or a person proposes. Pure.

package import FetchCore

/// Makes file names safe and distinct.
package enum OutputName {
  /// Room is left for a number and for the hidden names beside it; file systems allow 255 bytes.
  static let maximumBytes = 200

  /// The name of a result.
  ///
  /// - Parameters:
  ///   - proposals: in order of preference; the first that leaves a usable stem is taken. Whatever
  ///     path or extension they carry is taken off, since the container decides that.
  ///   - format: gives the extension.
  package static func name(
    from proposals: [String?], format: ContainerFormat
  ) -> String {
    stem(from: proposals) + "." + format.rawValue
  }

  /// The first usable stem; `video` where there is none.
  package static func stem(from proposals: [String?]) -> String {
    proposals.lazy.compactMap { $0 }.compactMap { stem(from: $0) }.first ?? "video"
  }

  /// The name with a number that tells it from others: `intro-2.mp4` for `intro.mp4`.
  package static func numbered(_ name: String, _ number: Int) -> String {
    guard number > 1 else { return name }
    let (stem, suffix) = split(name)
    return "\(stem)-\(number)\(suffix)"
  }

  /// Whether a name is another with or without a number: `intro.mp4` and `intro-2.mp4`.
  package static func isNumbered(_ name: String, of original: String) -> Bool {
    if name == original { return true }
    let (stem, suffix) = split(original)
    guard name.hasPrefix(stem + "-"), name.hasSuffix(suffix) else { return false }
    let digits = name.dropFirst(stem.count + 1).dropLast(suffix.count)
    return !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// The name beside a result under which its source is kept: `NAME.source.EXT`.
  ///
  /// - Parameter source: the name that the source came under; its extension is used if it is plain.
  package static func sourceName(for result: String, source: String) -> String {
    let (stem, _) = split(result)
    let (_, suffix) = split(lastComponent(of: source))
    let plain = suffix.dropFirst().utf8.allSatisfy { isASCIIAlphanumeric($0) }
    let ending = plain && (2...6).contains(suffix.utf8.count) ? suffix.lowercased() : ".bin"
    return stem + ".source" + ending
  }

  /// A safe stem; nil where nothing of the proposal is left.
  package static func stem(from proposal: String) -> String? {
    finished(withoutExtension(trimmed(safe(lastComponent(of: proposal)))))
  }

  /// A safe stem made of a text that is meant as one, so that `v1.cut` stays whole; nil where nothing
  /// of it is left.
  ///
  /// Separators in it become `-`.
  package static func component(_ text: String) -> String? {
    var whole = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { whole.append(isSeparator(scalar) ? "-" : scalar) }
    return finished(trimmed(safe(String(whole))))
  }

  // MARK: - Parts

  private static func safe(_ text: String) -> String {
    var safe = String.UnicodeScalarView()
    for scalar in text.unicodeScalars where isSafe(scalar) { safe.append(scalar) }
    return String(safe)
  }

  /// A name can't begin as a hidden file or an option does.
  private static func finished(_ name: String) -> String? {
    var stem = name
    while let first = stem.unicodeScalars.first, first == "." || first == "-" || first == " " {
      stem.unicodeScalars.removeFirst()
    }
    stem = trimmed(cut(stem, toBytes: maximumBytes))
    return stem.isEmpty ? nil : stem
  }

  /// Both count: a name made on Windows must not become a path when it is copied there.
  ///
  /// By scalars: a slash with an accent behind it is a slash for the system, and another Character.
  package static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "/" || scalar == "\\"
  }

  private static func lastComponent(of name: String) -> String {
    let scalars = name.unicodeScalars
    guard let separator = scalars.lastIndex(where: isSeparator) else { return name }
    return String(scalars[scalars.index(after: separator)...])
  }

  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator:
      false
    default:
      // What is left of bytes that were no text says nothing.
      scalar != "\u{FFFD}"
    }
  }

  /// Takes off what looks like an extension; `v1.2` and `Part 1. Intro` stay whole.
  private static func withoutExtension(_ name: String) -> String {
    let (stem, suffix) = split(name)
    let letters = suffix.dropFirst()
    let known = ["webm", "mpeg", "m2ts", "html", "xhtml"].contains(letters.lowercased())
    let looksLikeOne =
      (1...4).contains(letters.utf8.count)
      && letters.utf8.allSatisfy(isASCIIAlphanumeric)
      && letters.contains(where: \.isLetter)
    return known || looksLikeOne ? stem : name
  }

  /// Splits before the last dot; a leading dot does not count.
  private static func split(_ name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
    return (String(name[..<dot]), String(name[dot...]))
  }

  private static func trimmed(_ text: String) -> String {
    var text = Substring(text)
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    while let last = text.last, last.isWhitespace || last == "." { text.removeLast() }
    return String(text)
  }

  /// Cuts between characters, so that no letter loses its accent.
  private static func cut(_ text: String, toBytes limit: Int) -> String {
    var kept = ""
    var count = 0
    for character in text {
      count += character.utf8.count
      if count > limit { break }
      kept.append(character)
    }
    if kept.isEmpty, let first = text.unicodeScalars.first { kept.unicodeScalars.append(first) }
    return kept
  }

  private static func isASCIIAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }
}
