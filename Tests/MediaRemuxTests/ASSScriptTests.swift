// ASS from outside, made safe for libavcodec's encoder: a table.

import Testing

@testable import MediaRemux

@Suite("ASS script")
struct ASSScriptTests {
  private static let script = """
    [Script Info]
    PlayResY: 540
    [V4+ Styles]
    Format: Name, Fontname, Fontsize, PrimaryColour, Bold, Italic
    Style: Main, Noto Sans, 27, &H0000FFFF, -1, 0
    Style: Sign,Serif,10,255,0,1
    """

  private static let styles = ASSStyles(Array(script.utf8), height: 1080)

  @Test func readsStylesByTheirFormat() throws {
    let main = try #require(Self.styles.styles.first)
    #expect(main.font == "Noto Sans" && main.size == 27 && main.isBold && !main.isItalic)
    #expect(main.colour == 0x00FFFF)
    #expect(Self.styles.styles.last?.colour == 255)
    #expect(Self.styles.encoderName(of: "Sign") == "S1")
    #expect(Self.styles.encoderName(of: "*Main") == "S0")
    #expect(Self.styles.encoderName(of: "unknown") == "S0")
    #expect(Self.styles.pixels(27) == 54)
    #expect(Self.styles.pixels(4000) == 255)
  }

  @Test func theEncodersHeaderIsOurOwn() {
    let header = Self.styles.header
    #expect(header.contains("Style: S0,Noto Sans,54,&Hffff,"))
    #expect(header.contains("Style: Default,Noto Sans,54,&Hffff,&Hffffff,&H0,&HFF000000,0,0,0,"))
  }

  @Test(arguments: [
    "", "[V4+ Styles]\nStyle: A,B,C", "[V4+ Styles]\nFormat:\nStyle:", "\u{0}\u{FF}", "Style: x",
    "[V4+ Styles]\nStyle: x{\\,\u{1},-5,&HZZ",
  ])
  func survivesWhatIsNoScript(script: String) {
    let styles = ASSStyles(Array(script.utf8), height: nil)
    #expect(styles.header.contains("Style: S0,"))
    #expect(styles.header.split(separator: "\n").filter { $0.hasPrefix("Format:") }.count == 2)
  }

  @Test(arguments: [
    ("plain", "plain", "plain"),
    ("a\\Nb\\nc\\hd", "a\\Nb\\Nc\u{A0}d", "a\nb\nc\u{A0}d"),
    ("{\\i1}a{\\i0}b", "{\\i1}a{\\i0}b", "ab"),
    ("{\\b700}a{\\b}b", "{\\b1}a{\\b0}b", "ab"),
    ("{\\an8\\pos(1,2)\\i1 note}a", "a", "a"),
    ("{a comment}a", "a", "a"),
    ("{\\fs20\\fscx120}a", "{\\fs40}a", "a"),
    ("{\\1c&H0000FF&\\3c&H1&}a", "{\\1c&Hff&}a", "a"),
    ("{\\c&H0000FF&}a", "{\\1c&Hff&}a", "a"),
    ("{\\rSign}a", "{\\b0}{\\i0}{\\u0}{\\rS1}a", "a"),
    ("an open { brace", "an open { brace", "an open { brace"),
    ("\\{x\\}", "{x}", "{x}"),
    ("{\\p1}m 0 0 l 9 9{\\p0}a", "a", "a"),
    ("a{\\p1}m 0 0", "a", "a"),
    ("C:\\dir", "C:\\dir", "C:\\dir"),
  ])
  func keepsTextAndPlainStyles(source: String, styled: String, plain: String) {
    let text = ASSText(source, styles: Self.styles)
    #expect(text.styled == styled)
    #expect(text.plain == plain)
    #expect(text.hasDrawing == source.contains("p1"))
  }

  @Test func plainTextIsTakenAtItsWord() {
    let text = ASSText("C:\\\\New \\{\\\\i1\\}", styles: Self.styles, unescapes: true)
    #expect(text.plain == "C:\\New {\\i1}")
    // What the encoder could take for codes is kept apart.
    #expect(text.styled == "C:\\\u{2060}New {\u{2060}\\i1}")
  }

  @Test func aTextIsEmptyWhereNothingIsToBeRead() {
    #expect(ASSText("{\\p1}m 0 0 l 1 1", styles: Self.styles).isEmpty)
    #expect(ASSText(" \\N\\h", styles: Self.styles).isEmpty)
    #expect(!ASSText("-", styles: Self.styles).isEmpty)
  }

  @Test func takesADialogueApart() {
    let dialogue = ASSDialogue("3,0,Sign,Someone,0,0,0,,Hello, world")
    #expect(dialogue?.style == "Sign")
    #expect(dialogue?.text == "Hello, world")
    #expect(ASSDialogue("3,0,Sign") == nil)
    #expect(
      ASSDialogue.onNewLine(ASSDialogue.line(style: "S0", text: "a, b"))
        == "0,0,S0,,0,0,0,,\\Na, b")
  }
}
