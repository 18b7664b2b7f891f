import FetchCLI
import Testing

@Suite struct LineCountTests {
  private func count(_ text: String) -> Int {
    var count = LineCount()
    count.add(text.utf8)
    count.endLine()
    return count.items
  }

  @Test func countsWhatTheReaderTakesForItems() {
    #expect(count("") == 0)
    #expect(count("a\nb") == 2)
    #expect(count("a\r\n\r\n# c\n \t\n  # d\nb # e\n{}\n") == 3)
    #expect(count("#\n##\n") == 0)
  }

  @Test func whatIsNoRegularFileIsNotCounted() {
    #expect(LineCount.of(path: "/dev/zero") == nil)
    #expect(LineCount.of(path: "/nonexistent") == nil)
    #expect(LineCount.of(path: "/") == nil)
  }
}
