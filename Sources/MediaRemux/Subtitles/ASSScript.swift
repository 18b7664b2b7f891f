// ASS is what libavcodec's text decoders give and its mov_text encoder takes. What comes from a file
// goes through here first: libavcodec's reader of ASS never ends on a style without a format line,
// gives up a text at a brace that it doesn't understand, and shows drawings as letters. Pure.

/// The styles of a script, as far as mov_text can show them.
struct ASSStyles: Hashable {
  struct Style: Hashable {
    var name = "Default"
    var font = "Arial"
    var size = 16.0
    /// Alpha, blue, green, red; an alpha of 0 is opaque.
    var colour: UInt32 = 0x00FF_FFFF
    var isBold = false
    var isItalic = false
    var isUnderlined = false
  }

  private static let most = 256
  private static let longestScript = 512 << 10
  /// The height that sizes are given for, where a script doesn't say; libavcodec's own.
  private static let usualHeight = 288.0

  private(set) var styles: [Style] = []
  /// How many pixels of the picture a script's unit is.
  private(set) var scale = 1.0

  /// - Parameters:
  ///   - script: the header of an ASS or SSA script; damaged parts are passed over.
  ///   - height: the picture's in pixels.
  init(_ script: some Collection<UInt8>, height: Int?) {
    var section = ""
    var order: [String] = []
    var scriptHeight: Double?
    for bytes in script.prefix(Self.longestScript).split(whereSeparator: { $0 == 10 || $0 == 13 }) {
      let line = String(decoding: bytes, as: UTF8.self)
      if line.hasPrefix("[") {
        section = String(line.dropFirst().prefix { $0 != "]" }).lowercased()
        order = []
        continue
      }
      guard let colon = line.firstIndex(of: ":") else { continue }
      let key = line[..<colon].trimmed.lowercased()
      let value = line[line.index(after: colon)...]
      switch (section, key) {
      case ("script info", "playresy"):
        scriptHeight = Double(value.trimmed).flatMap { $0 >= 1 && $0 <= 65_536 ? $0 : nil }
      case ("v4+ styles", "format"), ("v4 styles", "format"):
        order = value.split(separator: ",").map { $0.trimmed.lowercased() }
      case ("v4+ styles", "style"), ("v4 styles", "style"):
        let fields = value.split(separator: ",", omittingEmptySubsequences: false)
        if styles.count < Self.most { styles.append(Style(fields, order: order)) }
      default:
        break
      }
    }
    if let height, height > 0, height <= 65_536 {
      scale = Double(height) / (scriptHeight ?? Self.usualHeight)
    }
  }

  /// The style that the encoder is told for a name of the script.
  func encoderName(of name: some StringProtocol) -> String {
    // SSA writes an asterisk before the name of the default.
    let wanted = name.hasPrefix("*") ? String(name.dropFirst()) : String(name)
    guard let at = styles.lastIndex(where: { $0.name == wanted }) else { return "S0" }
    return "S\(at)"
  }

  /// A size in pixels, as the encoder's one byte holds it.
  func pixels(_ size: Double) -> Int { Int(min(max((size * scale).rounded(), 1), 255)) }

  /// A script header for the encoder.
  ///
  /// Its `Default`, which every text begins with, is plain: the encoder can only add to it.
  var header: String {
    var text = """
      [Script Info]
      ScriptType: v4.00+

      [V4+ Styles]
      Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, \
      Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, \
      Shadow, Alignment, MarginL, MarginR, MarginV, Encoding

      """
    let first = styles.first ?? Style()
    var plain = Style()
    plain.font = first.font
    plain.size = first.size
    plain.colour = first.colour
    text += line(plain, name: "Default")
    for (index, style) in (styles.isEmpty ? [plain] : styles).enumerated() {
      text += line(style, name: "S\(index)")
    }
    return text + "\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV,"
      + " Effect, Text\n"
  }

  private func line(_ style: Style, name: String) -> String {
    let colour = "&H" + String(style.colour, radix: 16)
    let flags = [style.isBold, style.isItalic, style.isUnderlined].map { $0 ? "-1" : "0" }
    return "Style: \(name),\(style.font),\(pixels(style.size)),\(colour),&Hffffff,&H0,&HFF000000,"
      + flags.joined(separator: ",") + ",0,100,100,0,0,1,1,0,2,10,10,10,1\n"
  }
}

extension ASSStyles.Style {
  private static let usualOrder = [
    "name", "fontname", "fontsize", "primarycolour", "secondarycolour", "outlinecolour",
    "backcolour", "bold", "italic", "underline",
  ]

  fileprivate init(_ fields: [Substring], order: [String]) {
    self.init()
    for (key, field) in zip(order.isEmpty ? Self.usualOrder : order, fields) {
      let value = field.trimmed
      switch key {
      case "name": name = value.hasPrefix("*") ? String(value.dropFirst()) : value
      case "fontname": font = ASSText.safeFont(value) ?? font
      case "fontsize": size = Double(value).flatMap { $0 > 0 && $0 <= 4_096 ? $0 : nil } ?? size
      case "primarycolour": colour = ASSText.colour(value) ?? colour
      case "bold": isBold = (Int(value) ?? 0) != 0
      case "italic": isItalic = (Int(value) ?? 0) != 0
      case "underline": isUnderlined = (Int(value) ?? 0) != 0
      default: break
      }
    }
  }
}

/// The text of one dialogue, with the styles that mov_text can show.
struct ASSText: Hashable {
  /// For the encoder: each style in a block of its own, nothing that it would misread.
  private(set) var styled = ""
  private(set) var plain = ""
  /// Whether it draws shapes, which are left out.
  private(set) var hasDrawing = false

  private var isDrawing = false
  private var last: Unicode.Scalar?

  var isEmpty: Bool { plain.allSatisfy(\.isWhitespace) }

  /// - Parameter unescapes: whether a backslash is written twice, as libavcodec's decoder of plain
  ///   text does.
  init(_ text: String, styles: ASSStyles, unescapes: Bool = false) {
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          append(scalar)
          continue
        }
        apply(rest[..<end], styles)
        rest = rest[rest.index(after: end)...]
      case "\\":
        switch rest.first {
        case "N", "n":
          rest.removeFirst()
          breakLine()
        case "h":
          rest.removeFirst()
          append("\u{A0}")
        case "{", "}":
          append(rest.removeFirst())
        case "\\" where unescapes:
          append(rest.removeFirst())
        default:
          append(scalar)
        }
      case "\r": break
      case "\n": breakLine()
      default: append(scalar)
      }
    }
  }

  private mutating func append(_ scalar: Unicode.Scalar) {
    if isDrawing { return }
    // The encoder would take these two for a block, or for a line's end.
    if (last == "{" && scalar == "\\") || (last == "\\" && (scalar == "N" || scalar == "n")) {
      styled.unicodeScalars.append("\u{2060}")
    }
    styled.unicodeScalars.append(scalar)
    plain.unicodeScalars.append(scalar)
    last = scalar
  }

  private mutating func breakLine() {
    if isDrawing { return }
    styled += "\\N"
    plain += "\n"
    last = nil
  }

  private mutating func emit(_ code: String) {
    styled += "{\\\(code)}"
    last = nil
  }

  /// Takes the override codes of a block over that mov_text can show.
  private mutating func apply(_ block: Substring.UnicodeScalarView, _ styles: ASSStyles) {
    for part in Substring(block).split(separator: "\\", omittingEmptySubsequences: false)
      .dropFirst()
    {
      let code = part.trimmed
      if let value = code.value(after: "fs"), let size = Double(value), size > 0, size <= 4_096 {
        emit("fs\(styles.pixels(size))")
      } else if let value = code.value(after: "fn") {
        if let font = Self.safeFont(value) { emit("fn\(font)") }
      } else if let value = code.value(after: "1c") ?? code.value(after: "c") {
        if let colour = Self.colour(value) {
          // The encoder knows the letters' colour by its number only.
          emit("1c&H" + String(colour & 0xFF_FFFF, radix: 16) + "&")
        }
      } else if let value = code.value(after: "r") {
        emit("b0")
        emit("i0")
        emit("u0")
        emit("r" + (value.isEmpty ? "" : styles.encoderName(of: value)))
      } else if let value = code.value(after: "p"), let level = Int(value) {
        isDrawing = level > 0
        if isDrawing { hasDrawing = true }
      } else if let name = code.first, name == "b" || name == "i" || name == "u",
        let level = code.count == 1 ? 0 : Int(code.dropFirst())
      {
        // A weight from 600 on is bold.
        emit("\(name)\(level == 1 || level >= 600 ? 1 : 0)")
      }
    }
  }

  /// A colour as ASS (`&HAABBGGRR&`) or SSA (decimal) writes it.
  static func colour(_ text: some StringProtocol) -> UInt32? {
    if text.hasPrefix("&H") || text.hasPrefix("&h") {
      return UInt32(text.dropFirst(2).prefix { $0 != "&" }, radix: 16)
    }
    return Int64(text).map { UInt32(truncatingIfNeeded: $0) }
  }

  /// A font's name that can stand in a header, a block and a font table (one byte of length).
  static func safeFont(_ name: some StringProtocol) -> String? {
    let isSafe = name.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0 != "," && $0 != "{" && $0 != "}" && $0 != "\\"
    }
    return isSafe && !name.isEmpty && name.utf8.count < 64 ? String(name) : nil
  }
}

/// One dialogue as libavcodec's decoders give it: ReadOrder, Layer, Style, Name, MarginL, MarginR,
/// MarginV, Effect, Text.
struct ASSDialogue: Hashable {
  var style: String
  var text: String

  /// nil where fields are missing.
  init?(_ line: String) {
    let fields = line.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
    guard fields.count == 9 else { return nil }
    style = fields[2].trimmed
    text = String(fields[8])
  }

  /// A line for the encoder.
  static func line(style: String, text: String) -> String { "0,0,\(style),,0,0,0,,\(text)" }

  /// A line of `line(style:text:)` whose text begins with a line break.
  static func onNewLine(_ line: String) -> String {
    guard let dialogue = ASSDialogue(line) else { return line }
    return Self.line(style: dialogue.style, text: "\\N" + dialogue.text)
  }
}

extension StringProtocol {
  fileprivate var trimmed: String {
    var text = self[...]
    while let first = text.first, first.isWhitespace { text = text.dropFirst() }
    while let last = text.last, last.isWhitespace { text = text.dropLast() }
    return String(text)
  }

  /// What follows an override code's name.
  fileprivate func value(after name: String) -> SubSequence? {
    hasPrefix(name) ? dropFirst(name.count) : nil
  }
}
