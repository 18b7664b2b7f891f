// A run of `--history`: lists what an archive remembers.

import FetchCore
import Glibc
import VidFetchKit

extension Command {
  /// Lists the archive; the words of the command line, where there are any, say which videos.
  func history(_ settings: inout Settings) -> ProcessEnding {
    do throws(FetchError) {
      // Who only looks makes none.
      if let path = settings.archivePath, access(path, F_OK) != 0 {
        throw FetchError(
          .notFound, "there is no archive \(path)", recovery: "check the path")
      }
      try settings.openArchive()
    } catch {
      terminal.writeLine("vidfetch: \(Printable.escape(error.text))")
      return .exit(error.code.exitStatus)
    }
    guard let archive = settings.request.archive else { return .exit(OutcomeCode.usage.exitStatus) }
    defer { archive.close() }
    let wanted = Set(
      settings.items.arguments.flatMap { [$0.lowercased(), SourceIdentity($0).key] })
    let asJSON =
      settings.style.results == .json || !environment.standardOutputIsTerminal
    let width = terminal.width
    var failure: SystemError?
    var count = 0
    do throws(FetchError) {
      try archive.forEach { video in
        guard failure == nil, wanted.isEmpty || wanted.contains(video.id) else { return }
        count += 1
        let text =
          asJSON ? HistoryText.object(video).encoded : HistoryText.line(video, width: width)
        failure = terminal.writeRecord(text, terminator: UInt8(ascii: "\n"))
      }
    } catch {
      terminal.writeLine("vidfetch: \(Printable.escape(error.text))")
      return .exit(error.code.exitStatus)
    }
    if let failure {
      terminal.writeLine("vidfetch: standard output: \(failure.text)")
      return .exit(OutcomeCode.localIO.exitStatus)
    }
    if count == 0, !wanted.isEmpty {
      terminal.writeLine("vidfetch: the archive has none of these")
      return .exit(OutcomeCode.notFound.exitStatus)
    }
    return .exit(0)
  }
}

/// How a finished video is listed.
enum HistoryText {
  /// One line: when, how large, how long, whether it is still there, and its path.
  static func line(_ video: FinishedVideo, width: Int) -> String {
    let when = Timestamp(milliseconds: video.finished * 1000).minute
    let state = access(video.path, F_OK) == 0 ? " " : "!"
    let head =
      "\(when.date) \(when.time)  \(Figures.sizeField(video.bytes))  "
      + "\(Figures.padded(Figures.time(video.duration) ?? "", to: 8))  \(state) "
    let room = max(12, width - head.utf8.count)
    return head + DisplayWidth.truncate(Printable.escape(video.path), columns: room)
  }

  /// The same as a JSON object.
  static func object(_ video: FinishedVideo) -> JSONObject {
    var object = JSONObject()
    object.add("v", JSONEventWriter.version)
    object.add("event", "video")
    object.add("id", video.id)
    object.add("url", video.url)
    object.add("title", video.title)
    object.add("path", video.path)
    object.add("exists", access(video.path, F_OK) == 0)
    object.add("format", video.format)
    object.add("bytes", video.bytes)
    object.add("duration", video.duration, decimals: 6)
    object.add("width", video.width)
    object.add("height", video.height)
    object.add("sha256", video.sha256)
    object.add("finished", Timestamp(milliseconds: video.finished * 1000).text)
    return object
  }
}
