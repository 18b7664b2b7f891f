// One line of a results file, read back. Pure. The file may come from other machines, other versions
// and dead writers, so that nothing in it is taken for granted.

import FoundationEssentials

/// What a report needs of a `result` object.
package struct RecordedResult: Sendable, Hashable {
  package var url: String
  package var code: String
  package var format: String?
  /// Of the normalised URL: tells items apart whose URLs look the same without their secrets.
  package var id: String?
  /// The one that the list gave.
  package var name: String?
  package var exit: Int32?
  package var skipped: String?
  /// Which attempt at the item this was, from 1; nil where nothing was attempted.
  package var attempt: Int64?
  package var path: String?
  package var bytes: Int64?
  package var duration: Double?
  package var message: String?
  package var reason: String?
  package var recovery: String?
  package var poster: String?
  package var time: Timestamp?
  package var host: String?
  /// Where the item came from: a list, and the line in it.
  package var list: String?
  package var line: Int64?
  /// Whether something was taken out of the URL before it was shown.
  package var isRedacted: Bool?

  package init(url: String, code: String) {
    self.url = url
    self.code = code
  }
}

/// A line of a results file.
package enum RecordedLine: Sendable, Hashable {
  case result(RecordedResult)
  /// Another event of the same format, as in a log of `--progress=json`.
  case otherEvent
  case unreadable

  /// Reads a line without its line feed.
  package init(_ line: UnsafeRawBufferPointer) {
    let data = Data(line)
    self = (try? JSONDecoder().decode(Decoded.self, from: data))?.line ?? .unreadable
  }
}

/// The decoder's view of a line.
private struct Decoded: Decodable {
  let line: RecordedLine

  enum Key: String, CodingKey {
    case v, event, url, code, format, id, name, exit, skipped, path, bytes, duration, message
    case reason, recovery, poster, time, host, list, line, redacted, attempt
  }

  init(from decoder: any Decoder) throws {
    let keys = try decoder.container(keyedBy: Key.self)
    guard try keys.decode(Int.self, forKey: .v) == JSONEventWriter.version else {
      line = .unreadable
      return
    }
    guard try keys.decode(String.self, forKey: .event) == "result" else {
      line = .otherEvent
      return
    }
    var result = RecordedResult(
      url: try keys.decode(String.self, forKey: .url),
      code: try keys.decode(String.self, forKey: .code))
    // Of the rest, a value of an unexpected type counts as absent.
    func text(_ key: Key) -> String? {
      (try? keys.decodeIfPresent(String.self, forKey: key)) ?? nil
    }
    func whole(_ key: Key) -> Int64? {
      ((try? keys.decodeIfPresent(Int64.self, forKey: key)) ?? nil).flatMap { $0 < 0 ? nil : $0 }
    }
    result.format = text(.format)
    result.id = text(.id)
    result.name = text(.name)
    result.exit = whole(.exit).flatMap { Int32(exactly: $0) }
    result.skipped = text(.skipped)
    result.path = text(.path)
    result.bytes = whole(.bytes)
    result.duration = (try? keys.decodeIfPresent(Double.self, forKey: .duration)) ?? nil
    result.message = text(.message)
    result.reason = text(.reason)
    result.recovery = text(.recovery)
    result.poster = text(.poster)
    result.time = text(.time).flatMap { Timestamp($0) }
    result.host = text(.host)
    result.list = text(.list)
    result.line = whole(.line)
    result.attempt = whole(.attempt)
    result.isRedacted = (try? keys.decodeIfPresent(Bool.self, forKey: .redacted)) ?? nil
    line = .result(result)
  }
}
