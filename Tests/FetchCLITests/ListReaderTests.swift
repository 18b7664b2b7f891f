import FetchCLI
import FetchCore
import Glibc
import TestSupport
import Testing

@Suite struct ListReaderTests {
  private func lines(_ reader: ListReader) throws -> [String] {
    var lines: [String] = []
    while let (number, line) = try reader.next() {
      switch line {
      case .nothing: lines.append("\(number) nothing")
      case .item(let entry): lines.append("\(number) \(entry.source)")
      case .bad(let message): lines.append("\(number) bad: \(message)")
      }
    }
    return lines
  }

  private func lines(_ text: String) throws -> [String] {
    let scratch = try ScratchDirectory()
    return try lines(ListReader(path: scratch.write("list", text)))
  }

  @Test func linesKeepTheirNumbersWhateverEndsThem() throws {
    #expect(try lines("") == [])
    #expect(try lines("\n\n") == [])
    #expect(try lines("https://a/1") == ["1 https://a/1"])
    #expect(
      try lines("\u{FEFF}https://a/1\r\n\r\n# x\n  \nhttps://a/2\n{\"url\":\"https://a/3\"}")
        == ["1 https://a/1", "5 https://a/2", "6 https://a/3"])
    #expect(try lines("a\n{\n") == ["1 a", "2 bad: the line is not a valid JSON object"])
  }

  @Test func linesThatCrossBlocksAreWhole() throws {
    let sources = (0..<5000).map { "https://a/\($0)/" + String(repeating: "x", count: $0 % 97) }
    #expect(
      try lines(sources.joined(separator: "\n"))
        == sources.enumerated().map { "\($0 + 1) \($1)" })
  }

  @Test func overlongLineIsBadAndTheNextIsRead() throws {
    let limit = ListLine.longest
    for (count, isBad) in [(limit, false), (limit + 1, true), (3 * limit, true)] {
      let long = String(repeating: "x", count: count)
      for text in ["a\n\(long)\nb\n", "a\n\(long)"] {
        let found = try lines(text)
        #expect(found[0] == "1 a")
        #expect(found[1] == (isBad ? "2 bad: the line is longer than 1 MiB" : "2 \(long)"))
        #expect(found.dropFirst(2).elementsEqual(text.hasSuffix("b\n") ? ["3 b"] : []))
      }
    }
  }

  @Test func aPipesLinesAreReadAsTheyCome() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let reader = ListReader(descriptor: ends[0], owns: true)
    for number in 1...3 {
      let line = "https://a/\(number)\n"
      #expect(write(ends[1], line, line.utf8.count) == line.utf8.count)
      // The writer still holds the pipe open: nothing but what is there is waited for.
      #expect(try reader.next()?.number == number)
    }
    close(ends[1])
    let end = try reader.next()
    #expect(end == nil)
  }

  @Test func noMoreThanOneBlockIsReadAhead() throws {
    let scratch = try ScratchDirectory()
    let line = "https://a/\(String(repeating: "x", count: 89))\n"
    let path = try scratch.write("list", String(repeating: line, count: 10_000))
    let descriptor = open(path, O_RDONLY)
    let reader = ListReader(descriptor: descriptor, owns: true)
    _ = try reader.next()
    #expect(lseek(descriptor, 0, SEEK_CUR) == 65536)
  }

  @Test func whatCannotBeReadIsToldAsTheSystemSaysIt() throws {
    let scratch = try ScratchDirectory()
    #expect(throws: SystemError("open", errno: ENOENT)) {
      _ = try ListReader(path: scratch.file("none"))
    }
    #expect(throws: SystemError("read", errno: EISDIR)) {
      _ = try ListReader(path: scratch.path).next()
    }
  }
}
