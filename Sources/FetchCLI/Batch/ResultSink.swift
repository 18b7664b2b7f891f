// Where results go: standard output, and the results file. Main thread only.

import FetchCore
import VidFetchKit

/// The writer of results.
final class ResultSink {
  /// What went wrong, and the outcome that the run gets for it.
  struct Trouble {
    let code: OutcomeCode
    let text: String
    /// Whether nothing more should be begun.
    var endsRun = false
  }

  /// So many results are held back for the sake of their order before no other item begins.
  private static let mostHeld = 10_000

  private let terminal: Terminal
  private let style: OutputStyle
  private let file: ResultsFile?
  private let inOrder: Bool
  /// Items that have begun and whose results have not been written, in their order.
  private var order: [Int] = []
  private var first = 0
  private var held: [Int: String] = [:]
  private var fileHasFailed = false

  init(terminal: Terminal, style: OutputStyle, file: ResultsFile?, inOrder: Bool) {
    self.terminal = terminal
    self.style = style
    self.file = file
    self.inOrder = inOrder
  }

  /// Whether another item may begin.
  var hasRoom: Bool { !inOrder || order.count - first < Self.mostHeld }

  /// Notes an item whose result will come.
  func expect(_ job: Int) {
    if inOrder { order.append(job) }
  }

  /// Takes an outcome that isn't the item's last.
  func note(_ object: JSONObject, attempt: Int) -> Trouble? { append(object, attempt) }

  /// Takes an item's last outcome.
  func conclude(
    _ object: JSONObject, _ result: JobResult, job: Int, attempt: Int
  ) -> Trouble? {
    let trouble = append(object, attempt)
    let text = text(of: object, result)
    guard inOrder else { return text.flatMap { write($0, result) } ?? trouble }
    held[job] = text ?? ""
    return release() ?? trouble
  }

  /// Writes the summary.
  func conclude(_ summary: JSONObject) -> Trouble? {
    guard style.results == .json else { return nil }
    return terminal.writeRecord(summary.encoded, terminator: 10).map(Self.outputTrouble)
  }

  /// Writes what was held back, and waits until the results are on the disk.
  func flush() -> Trouble? {
    var trouble: Trouble?
    for job in order[first...] {
      guard let text = held[job], !text.isEmpty else { continue }
      trouble =
        terminal.writeRecord(text, terminator: style.terminator).map(Self.outputTrouble)
        ?? trouble
    }
    held = [:]
    return file?.finish().map(fileTrouble) ?? trouble
  }

  private func text(of object: JSONObject, _ result: JobResult) -> String? {
    switch style.results {
    case .json: object.encoded
    case .template(let template): template.filled(with: object)
    case .paths: result.code == .ok || result.code == .hookFailed ? result.path : nil
    }
  }

  private func write(_ text: String, _ result: JobResult) -> Trouble? {
    terminal.writeRecord(text, terminator: style.results == .json ? 10 : style.terminator)
      .map { Self.outputTrouble($0, fileIsInPlace: result.code == .ok) }
  }

  private func release() -> Trouble? {
    var trouble: Trouble?
    while first < order.count, let text = held.removeValue(forKey: order[first]) {
      first += 1
      guard !text.isEmpty else { continue }
      trouble =
        terminal.writeRecord(text, terminator: style.results == .json ? 10 : style.terminator)
        .map(Self.outputTrouble) ?? trouble
    }
    if first >= 1024 {
      order.removeFirst(first)
      first = 0
    }
    return trouble
  }

  private func append(_ object: JSONObject, _ attempt: Int) -> Trouble? {
    guard let file else { return nil }
    var object = object
    object.add("attempt", attempt > 0 ? attempt : nil)
    guard let error = file.append(object) else { return nil }
    // Said once: a disk that is full is full for the next result too.
    defer { fileHasFailed = true }
    return fileHasFailed ? Trouble(code: .localIO, text: "") : fileTrouble(error)
  }

  private func fileTrouble(_ error: SystemError) -> Trouble {
    let error = error.fetchError("writing the results file")
    return Trouble(code: error.code, text: error.message, endsRun: true)
  }

  private static func outputTrouble(_ error: SystemError) -> Trouble {
    outputTrouble(error, fileIsInPlace: false)
  }

  private static func outputTrouble(_ error: SystemError, fileIsInPlace: Bool) -> Trouble {
    let comfort = fileIsInPlace ? "; the file is in place all the same" : ""
    return Trouble(code: .localIO, text: "standard output: \(error.text)\(comfort)")
  }
}
