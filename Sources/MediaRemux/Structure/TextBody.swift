// Bodies of text that arrive in place of a video: web pages, API answers, playlists, pointers. Works
// on ASCII in lower case, whatever the encoding was. Pure.

import FetchCore

/// The head of a body that is text.
struct TextBody {
  /// Printable characters in lower case; anything beyond ASCII is 0xFF.
  private let text: [UInt8]
  /// The same in the original case.
  private let original: [UInt8]
  /// Where the content begins, after white space and comments.
  private let start: Int
  /// Enough of it to be no accident.
  let isCertain: Bool

  /// Nil where the bytes are not text.
  init?(_ head: [UInt8]) {
    guard let decoded = Self.decoded(head) else { return nil }
    original = decoded
    text = decoded.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    start = Self.contentStart(text)
    isCertain = decoded.count >= 64
  }

  // MARK: What it is

  /// The error that says what the text is; no text is a video.
  var refusal: FetchError {
    if begins("#extm3u") {
      let isHLS = contains("#ext-x-") || contains("#extinf")
      return Self.error(
        isHLS
          ? "an HLS playlist, which vidfetch can't fetch yet"
          : "an M3U playlist, which vidfetch can't fetch yet",
        recovery: "give the address of a media file")
    }
    if begins("version https://git-lfs.github.com/spec/") {
      return Self.error(
        "a Git LFS pointer, not a video",
        recovery: "use the address that the hosting site gives for downloads of the file itself")
    }
    if begins("webvtt") || begins("[script info]") || contains(" --> ") && beginsWithDigit {
      return Self.error("subtitles, not a video", recovery: "give the address of the video")
    }
    if begins("[playlist]") {
      return Self.error(
        "a PLS playlist, which vidfetch can't fetch yet",
        recovery: "give the address of a media file")
    }
    if begins("{") || beginsJSONArray {
      return Self.error(
        "a JSON document, not a video",
        recovery: "check the address and whether a sign-in or a token is needed")
    }
    if begins("<") { return markup }
    if contains("<html") || contains("<!doctype html") { return Self.webPage }
    return Self.error(
      "plain text, not a video", reason: excerpt.map { "it begins with \"\($0)\"" },
      recovery: "check the address and whether a sign-in is needed")
  }

  private var markup: FetchError {
    let root = rootName
    if root == "mpd" {
      return Self.error(
        "a DASH manifest, which vidfetch can't fetch yet",
        recovery: "give the address of a media file")
    }
    if root == "smoothstreamingmedia" {
      return Self.error(
        "a Smooth Streaming manifest, which vidfetch can't fetch",
        recovery: "give the address of a media file")
    }
    if begins("<!doctype html") || Self.pageElements.contains(root) || contains("<html") {
      return Self.webPage
    }
    if root == "svg" { return Self.error("an SVG image, not a video", recovery: nil) }
    if root == "tt" {
      return Self.error("subtitles, not a video", recovery: "give the address of the video")
    }
    if root == "error" || root == "errorresponse", let code = errorCode {
      // What object stores answer for an address that is private or has expired.
      return Self.error(
        "an error document (\(code)), not a video",
        recovery: "sign in, or get a fresh address: this one is private or has expired")
    }
    return Self.error("an XML document, not a video", recovery: "check the address")
  }

  private static let webPage = error(
    "a web page, not a video (sign-in needed?)",
    recovery: "open the address in a browser and copy the address of the media file itself")

  private static func error(
    _ message: String, reason: String? = nil, recovery: String?
  ) -> FetchError {
    FetchError(.notMedia, message, reason: reason, recovery: recovery)
  }

  private static let pageElements: Set<String> = [
    "html", "head", "body", "title", "script", "meta", "link", "style", "div", "p", "h1", "h2",
    "h3",
    "center", "table", "span", "a", "br", "b", "font", "pre", "iframe", "frameset", "form", "main",
    "header", "section", "noscript", "base", "img", "hr",
  ]

  // MARK: Looking at it

  private func begins(_ prefix: String) -> Bool { text.has(Array(prefix.utf8), at: start) }

  private func contains(_ part: String) -> Bool { text.firstRange(of: Array(part.utf8)) != nil }

  private var beginsWithDigit: Bool {
    start < text.count && (0x30...0x39).contains(text[start])
  }

  private var beginsJSONArray: Bool {
    guard begins("[") else { return false }
    let next = text[(start + 1)...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    return next.map { Array("{[\"]-0123456789".utf8).contains($0) } ?? true
  }

  /// The name of the first element, without its prefix.
  private var rootName: String {
    guard start < text.count, text[start] == 0x3C else { return "" }
    var name = text[(start + 1)...].prefix(64).prefix { isNameByte($0) }
    if let colon = name.firstIndex(of: 0x3A) { name = name[(colon + 1)...] }
    return String(decoding: name, as: UTF8.self)
  }

  private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x61...0x7A, 0x30...0x39, 0x3A, 0x2D, 0x5F: true
    default: false
    }
  }

  /// The letters and digits inside the first `<Code>`.
  private var errorCode: String? {
    guard let found = text.firstRange(of: Array("<code>".utf8)) else { return nil }
    let code = original[found.upperBound...].prefix(40).prefix {
      isNameByte($0 | 0x20) && $0 != 0x3A
    }
    return code.isEmpty ? nil : String(decoding: code, as: UTF8.self)
  }

  /// The first words, where they are plain ASCII.
  private var excerpt: String? {
    let line = original[start...].prefix { $0 != 0x0A && $0 != 0x0D }.prefix(60)
    guard !line.isEmpty, line.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 }) else {
      return nil
    }
    return String(decoding: line, as: UTF8.self)
  }

  // MARK: Decoding

  /// One byte a character; nil where it is no text.
  private static func decoded(_ head: [UInt8]) -> [UInt8]? {
    if head.has([0xFF, 0xFE], at: 0) { return wide(head.dropFirst(2), highFirst: false) }
    if head.has([0xFE, 0xFF], at: 0) { return wide(head.dropFirst(2), highFirst: true) }
    if head.count >= 8, head[1] == 0, head[3] == 0, head[0] != 0, head[2] != 0 {
      return wide(head[...], highFirst: false)
    }
    if head.count >= 8, head[0] == 0, head[2] == 0, head[1] != 0, head[3] != 0 {
      return wide(head[...], highFirst: true)
    }
    let body = head.has([0xEF, 0xBB, 0xBF], at: 0) ? Array(head.dropFirst(3)) : head
    var plain = 0
    for byte in body {
      switch byte {
      case 0x20...0x7E, 0x09, 0x0A, 0x0D, 0x0C, 0x1B: plain += 1
      case 0x80...: break
      default: return nil
      }
    }
    // UTF-8 of any script is text; of the single-byte encodings only what is mostly ASCII.
    guard plain * 20 >= body.count * 19 || isUTF8(body) else { return nil }
    return body.map { $0 < 0x80 ? $0 : 0xFF }
  }

  private static func wide(_ bytes: ArraySlice<UInt8>, highFirst: Bool) -> [UInt8]? {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index + 1 < bytes.endIndex {
      let high = bytes[highFirst ? index : index + 1]
      let low = bytes[highFirst ? index + 1 : index]
      switch (high, low) {
      case (0, 0x20...0x7E), (0, 0x09), (0, 0x0A), (0, 0x0D): result.append(low)
      case (0, 0..<0x20): return nil
      default: result.append(0xFF)
      }
      index += 2
    }
    let plain = result.count { $0 != 0xFF }
    return !result.isEmpty && plain * 2 >= result.count ? result : nil
  }

  /// Whether the bytes are UTF-8; the last character may be cut.
  private static func isUTF8(_ bytes: [UInt8]) -> Bool {
    var body = bytes[...]
    for _ in 0..<3 {
      if String(validating: body, as: UTF8.self) != nil { return true }
      body = body.dropLast()
    }
    return String(validating: body, as: UTF8.self) != nil
  }

  /// Skips white space, XML declarations, processing instructions, comments and foreign doctypes.
  private static func contentStart(_ text: [UInt8]) -> Int {
    var position = 0
    while position < text.count {
      if [0x20, 0x09, 0x0A, 0x0D, 0x0C].contains(text[position])
        || text[position] == 0xFF
          && position == 0
      {
        position += 1
      } else if text.has(Array("<!--".utf8), at: position) {
        guard let end = end(of: "-->", in: text, after: position) else { return position }
        position = end
      } else if text.has(Array("<?".utf8), at: position) {
        guard let end = end(of: "?>", in: text, after: position) else { return position }
        position = end
      } else if text.has(Array("<!doctype".utf8), at: position),
        !text.has(Array("<!doctype html".utf8), at: position),
        let end = end(of: ">", in: text, after: position)
      {
        position = end
      } else {
        return position
      }
    }
    return 0
  }

  private static func end(of mark: String, in text: [UInt8], after position: Int) -> Int? {
    let pattern = Array(mark.utf8)
    var index = position
    while index < text.count {
      if text[index] == pattern[0], text.has(pattern, at: index) { return index + pattern.count }
      index += 1
    }
    return nil
  }
}
