// `--report`: results files in, one document out. Main thread only.

import FetchCore
import Glibc

/// A run that reports on earlier ones.
package enum Report {
  private static let blockSize = 256 << 10

  /// Reads results files and writes a report on them to standard output.
  ///
  /// Lines that are no results are counted and named on standard error, and change nothing else. A
  /// file that can't be read ends the run before anything is written, since a report without it
  /// would be wrong.
  ///
  /// - Parameters:
  ///   - files: paths; `-` is standard input.
  ///   - width: of the screen, for a table.
  package static func write(
    files: [String], format: ReportFormat, terminal: Terminal, width: Int
  ) -> ProcessEnding {
    var merge = ResultsMerge(mostSuccesses: format == .html ? ReportPage.most : 0)
    for file in files {
      do throws(FetchError) {
        if let complaint = try read(file, into: &merge) { say(complaint, terminal) }
      } catch {
        say("\(file): \(error.message)\(error.recovery.map { "; \($0)" } ?? "")", terminal)
        return .exit(error.code.exitStatus)
      }
    }
    let document = document(merge.contents, format, width: width)
    guard let error = terminal.writeDocument(document) else { return .exit(0) }
    say("standard output: \(error.text)", terminal)
    return .exit(OutcomeCode.localIO.exitStatus)
  }

  private static func document(
    _ contents: ReportContents, _ format: ReportFormat, width: Int
  ) -> String {
    switch format {
    case .table: return ReportTable.text(contents, width: width)
    case .markdown: return ReportMarkdown.text(contents)
    case .failedList: return FailedList.text(contents)
    case .html:
      let posters = PosterSource()
      return ReportPage(contents, picture: posters.picture).text
    }
  }

  private static func say(_ text: String, _ terminal: Terminal) {
    terminal.writeLine("vidfetch: \(Printable.escape(text))")
  }

  /// Reads one file to its end.
  ///
  /// - Returns: a warning about lines that could not be read.
  private static func read(
    _ path: String, into merge: inout ResultsMerge
  ) throws(FetchError) -> String? {
    var number = 0
    var unreadable: (count: Int, first: Int)?
    var splitter = LineSplitter()
    func take(_ line: UnsafeRawBufferPointer?) {
      number += 1
      // Put in by a writer that found a torn line.
      if let line, line.allSatisfy({ $0 == 0x0D || $0 == 0x20 || $0 == 0x09 }) { return }
      guard !merge.add(line.map { RecordedLine($0) } ?? .unreadable) else { return }
      unreadable = unreadable.map { ($0.count + 1, $0.first) } ?? (1, number)
    }
    do throws(SystemError) {
      try readBlocks(path) { splitter.feed($0, take) }
    } catch {
      throw failure(error)
    }
    splitter.finish(take)
    guard let unreadable else { return nil }
    let what = unreadable.count == 1 ? "a line is" : "\(unreadable.count) lines are"
    let place = unreadable.count == 1 ? "line" : "the first is line"
    return "warning: \(path): \(what) no JSON of vidfetch (\(place) \(unreadable.first))"
  }

  /// Reads the lines of a results file that may not be there yet.
  static func readIfThere(
    _ path: String, _ body: (RecordedLine) -> Void
  ) throws(FetchError) {
    var splitter = LineSplitter()
    func take(_ line: UnsafeRawBufferPointer?) {
      body(line.map { RecordedLine($0) } ?? .unreadable)
    }
    do throws(SystemError) {
      try readBlocks(path) { splitter.feed($0, take) }
    } catch {
      guard error.isMissingFile else { throw error.fetchError("reading the results file \(path)") }
    }
    splitter.finish(take)
  }

  private static func readBlocks(
    _ path: String, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SystemError) {
    let isStandardInput = path == "-"
    let descriptor =
      isStandardInput
      ? STDIN_FILENO
      : try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
    defer { if !isStandardInput { close(descriptor) } }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
    defer { block.deallocate() }
    while true {
      let count = try retryingInterrupts("read") {
        Glibc.read(descriptor, block.baseAddress, block.count)
      }
      if count == 0 { return }
      body(UnsafeRawBufferPointer(rebasing: block[..<count]))
    }
  }

  /// The same outcomes as of a video's local source.
  private static func failure(_ error: SystemError) -> FetchError {
    if error.isMissingFile {
      return FetchError(.notFound, "there is no such file", recovery: "check the path")
    }
    if error.number == EISDIR {
      return FetchError(.refused, "it is a folder", recovery: "name the files in it")
    }
    return FetchError(
      error.isDenied ? .denied : .localIO, "it can't be read: \(error.text)",
      recovery: error.isDenied ? "check its permissions" : nil)
  }
}
