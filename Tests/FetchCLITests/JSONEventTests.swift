import FetchCLI
import FetchCore
import Foundation
import TestSupport
import Testing
import VidFetchKit

/// A sample of each kind of event, with every key that it can have.
private let samples: [JSONObject] = {
  var progress = ProgressSnapshot()
  progress.stage = .transferring
  progress.fraction = 0.25
  progress.download = 0.3
  progress.export = 0.2
  progress.bytes = 300
  progress.total = 1000
  progress.rate = 123.4
  progress.eta = 5.67
  let events: [JobEvent] = [
    .start(url: "https://h/a.mp4", target: "/tmp/a.mp4"), .start(url: "u", target: nil),
    .retry(attempt: 1, wait: .milliseconds(1500), error: FetchError(.network, "reset")),
    .restart(reason: .remoteChanged, bytes: 77),
    .warning(FetchWarning(.streamDropped, stream: 2, "left out")),
    .warning(FetchWarning(.unusual, "odd")), .progress(progress), .progress(ProgressSnapshot()),
    .result(fullResult), .result(JobResult(url: "u", format: .mov)),
  ]
  var summary = BatchSummary()
  summary.count(fullResult)
  summary.count(JobResult(url: "u", format: .mp4))
  var origin = ItemOrigin()
  origin.id = "0123456789abcdef"
  origin.name = "film"
  origin.list = "films.txt"
  origin.line = 3
  origin.isRedacted = true
  var duplicate = JobResult(url: "u", format: .mp4)
  duplicate.skipped = .duplicate
  return events.compactMap { JSONEventWriter.object(of: $0, job: 1, exit: 11, fraction: 0.5) }
    + [JSONEventWriter.result(duplicate, job: 2, exit: 0, fraction: nil, origin: origin)]
    + [JSONEventWriter.summary(summary, exit: 11)]
}()

private let fullResult: JobResult = {
  var result = JobResult(url: "https://h/a.mp4", format: .mp4)
  result.code = .busy
  result.skipped = .exists
  result.path = "/tmp/a.mp4"
  result.bytes = 1000
  result.duration = 2.5
  result.completeBy = .framing
  result.warnings = [FetchWarning(.streamDropped, stream: 2, "left out")]
  result.timings = ["transferring": 1.25, "total": 2]
  result.attempts = 3
  result.part = "/tmp/.00.part"
  result.error = FetchError(.busy, "503", reason: "r", recovery: "wait", retryAfter: 9)
  var cover = StreamReport(
    index: 1, type: .video, codec: "mjpeg", action: .dropped, reason: "a picture")
  cover.language = "deu"
  cover.width = 640
  cover.height = 480
  cover.sampleRate = 48000
  cover.channels = 2
  cover.attachedPicture = true
  result.streams = [
    StreamReport(index: 0, type: .video, codec: "h264", action: .kept), cover,
  ]
  return result
}()

@Suite struct JSONEventTests {
  @Test func writesEachEventInAStableForm() {
    #expect(
      samples.map(\.encoded) == [
        #"{"v":1,"event":"start","job":1,"url":"https://h/a.mp4","target":"/tmp/a.mp4"}"#,
        #"{"v":1,"event":"start","job":1,"url":"u"}"#,
        #"{"v":1,"event":"retry","job":1,"attempt":1,"wait":1.5,"code":"network","message":"reset"}"#,
        #"{"v":1,"event":"restart","job":1,"reason":"remote_changed","bytes":77}"#,
        #"{"v":1,"event":"warning","job":1,"warning":"stream_dropped","stream":2,"message":"left out"}"#,
        #"{"v":1,"event":"warning","job":1,"warning":"unusual","message":"odd"}"#,
        #"{"v":1,"event":"progress","job":1,"stage":"transferring","fraction":0.25,"#
          + #""download":0.3,"export":0.2,"bytes":300,"total":1000,"rate":123,"eta":5.7}"#,
        #"{"v":1,"event":"progress","job":1,"stage":"connecting","bytes":0}"#,
        #"{"v":1,"event":"result","job":1,"url":"https://h/a.mp4","code":"busy","exit":11,"#
          + #""fraction":0.5,"skipped":"exists","retryable":true,"path":"/tmp/a.mp4","bytes":1000,"#
          + #""duration":2.5,"format":"mp4","complete_by":"framing","streams":[{"index":0,"#
          + #""type":"video","codec":"h264","action":"kept"},{"index":1,"type":"video","#
          + #""codec":"mjpeg","action":"dropped","reason":"a picture","language":"deu","width":640,"#
          + #""height":480,"sample_rate":48000,"channels":2,"attached_picture":true}],"#
          + #""warnings":[{"warning":"stream_dropped","stream":2,"message":"left out"}],"#
          + #""timings":{"total":2,"transferring":1.25},"attempts":3,"part":"/tmp/.00.part","#
          + #""message":"503","reason":"r","recovery":"wait","retry_after":9}"#,
        #"{"v":1,"event":"result","job":1,"url":"u","code":"ok","exit":11,"fraction":1,"#
          + #""retryable":false,"format":"mov","streams":[],"warnings":[],"timings":{},"attempts":0}"#,
        #"{"v":1,"event":"result","job":2,"url":"u","id":"0123456789abcdef","name":"film","#
          + #""list":"films.txt","line":3,"redacted":true,"code":"ok","exit":0,"fraction":1,"#
          + #""skipped":"duplicate","retryable":false,"format":"mp4","streams":[],"warnings":[],"#
          + #""timings":{},"attempts":0}"#,
        #"{"v":1,"event":"summary","job":"batch","ok":1,"skipped":0,"failed":{"busy":1},"bytes":0,"#
          + #""seconds":0,"exit":11}"#,
      ])
  }

  @Test func logsAreNotPartOfTheFormat() {
    #expect(JSONEventWriter.object(of: .log(level: 1, "x"), job: 1) == nil)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, -1])
  func leavesOutNumbersThatAreNone(number: Double) throws {
    var progress = ProgressSnapshot()
    progress.rate = number
    progress.eta = number
    let object = try #require(JSONEventWriter.object(of: .progress(progress), job: 1))
    #expect(object["rate"] == nil && object["eta"] == nil)
  }

  @Test func fractionStaysBelowOneAfterRounding() throws {
    var progress = ProgressSnapshot()
    progress.fraction = 1.0.nextDown
    let object = try #require(JSONEventWriter.object(of: .progress(progress), job: 1))
    #expect(object["fraction"] == .number(0.999_999))
  }

  @Test func escapesSoThatReadersAndTerminalsAreSafe() throws {
    let url = "a\"b\\c\n\t\u{1B}\u{7F}\u{9B}\u{202E}\u{2028}\u{E0041}é視😀\u{FFFD}"
    let object = try #require(JSONEventWriter.object(of: .start(url: url, target: nil), job: 1))
    #expect(
      object.encoded.contains(
        #""a\"b\\c\n\t\u001b\u007f\u009b\u202e\u2028\udb40\udc41é視😀\#u{FFFD}""#))
    let read = try JSONSerialization.jsonObject(with: Data(object.encoded.utf8)) as? [String: Any]
    #expect(read?["url"] as? String == url)
  }

  @Test(arguments: [
    (0.1, "0.1"), (5, "5"), (1e-7, "1e-07"), (123_456_789.125, "123456789.125"), (-0.0, "0"),
    (1e300, "1e+300"),
  ])
  func writesNumbersThatReadBack(number: Double, text: String) {
    #expect(JSONValue.number(number).encoded == text)
    #expect(Double(text) == number)
  }
}

/// Enough of JSON Schema 2020-12 for our own schema: type, const, enum, required, properties,
/// additionalProperties, items, minimum, maximum, exclusiveMaximum, oneOf and $ref into $defs.
private struct Schema {
  let root: [String: Any]

  func problems(_ value: Any, _ schema: [String: Any], at path: String = "$") -> [String] {
    var problems: [String] = []
    if let reference = schema["$ref"] as? String {
      let name = reference.replacingOccurrences(of: "#/$defs/", with: "")
      guard let target = (root["$defs"] as? [String: Any])?[name] as? [String: Any] else {
        return ["\(path): no \(reference)"]
      }
      problems += self.problems(value, target, at: path)
    }
    if let types = schema["type"] {
      let names = types as? [String] ?? [types as? String ?? "?"]
      if !names.contains(where: { matches(value, $0) }) { problems.append("\(path): not \(names)") }
    }
    if let constant = schema["const"], !equal(constant, value) {
      problems.append("\(path): not \(constant)")
    }
    if let choices = schema["enum"] as? [Any], !choices.contains(where: { equal($0, value) }) {
      problems.append("\(path): \(value) is no choice")
    }
    if let number = value as? Double {
      if let limit = schema["minimum"] as? Double, number < limit {
        problems.append("\(path): low")
      }
      if let limit = schema["maximum"] as? Double, number > limit {
        problems.append("\(path): high")
      }
      if let limit = schema["exclusiveMaximum"] as? Double, number >= limit {
        problems.append("\(path): high")
      }
    }
    if let object = value as? [String: Any] {
      for key in schema["required"] as? [String] ?? [] where object[key] == nil {
        problems.append("\(path): no \(key)")
      }
      let properties = schema["properties"] as? [String: Any] ?? [:]
      for (key, member) in object {
        if let inner = properties[key] as? [String: Any] {
          problems += self.problems(member, inner, at: "\(path).\(key)")
        } else if let inner = schema["additionalProperties"] as? [String: Any] {
          problems += self.problems(member, inner, at: "\(path).\(key)")
        } else if !properties.isEmpty {
          // The schema lets readers skip what they don't know; what we write must be in it.
          problems.append("\(path): \(key) is not described")
        }
      }
    }
    if let values = value as? [Any], let inner = schema["items"] as? [String: Any] {
      for each in values { problems += self.problems(each, inner, at: path + "[]") }
    }
    if let choices = schema["oneOf"] as? [[String: Any]] {
      let results = choices.map { self.problems(value, $0, at: path) }
      if results.filter(\.isEmpty).count != 1 {
        problems += results.min { $0.count < $1.count } ?? []
      }
    }
    return problems
  }

  private func matches(_ value: Any, _ type: String) -> Bool {
    switch type {
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "boolean": (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? false
    case "integer": (value as? Double).map { $0.rounded() == $0 } ?? false
    case "number": value is Double
    default: false
    }
  }

  private func equal(_ left: Any, _ right: Any) -> Bool {
    if let left = left as? String { return left == right as? String }
    return (left as? Double) == (right as? Double)
  }
}

@Suite struct JSONSchemaTests {
  private func schema() throws -> Schema {
    let data = try Data(contentsOf: repositoryFile("docs/json-events.schema.json"))
    let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    return Schema(root: root)
  }

  @Test func everyEventKeepsToTheSchema() throws {
    let schema = try schema()
    for sample in samples {
      let value = try JSONSerialization.jsonObject(with: Data(sample.encoded.utf8))
      #expect(schema.problems(value, schema.root) == [], "\(sample.encoded)")
    }
  }

  @Test func schemaRefusesWhatLacksAKey() throws {
    let schema = try schema()
    for text in [
      #"{"v":1,"event":"start","job":1}"#, #"{"event":"start","job":1,"url":"u"}"#,
      #"{"v":2,"event":"start","job":1,"url":"u"}"#, #"{"v":1,"event":"start","url":"u"}"#,
      #"{"v":1,"event":"progress","job":1,"stage":"connecting","bytes":0,"fraction":1}"#,
    ] {
      let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
      #expect(schema.problems(value, schema.root) != [], "\(text)")
    }
  }

  @Test func aLineOfAResultsFileKeepsToItsDefinition() throws {
    let scratch = try ScratchDirectory()
    let file = try ResultsFile(path: scratch.file("results"))
    for sample in samples where sample["event"] == .string("result") {
      #expect(file.append(sample) == nil)
    }
    let schema = try schema()
    let definition = ["$ref": "#/$defs/results_line"]
    for line in fileBytes(scratch.file("results")).split(separator: 10) {
      let value = try JSONSerialization.jsonObject(with: Data(line))
      #expect(schema.problems(value, definition) == [])
      #expect(schema.problems(value, schema.root) == [])
    }
    let plain = try JSONSerialization.jsonObject(with: Data(samples[8].encoded.utf8))
    #expect(schema.problems(plain, definition) != [])
  }

  @Test func documentNamesEveryKey() throws {
    let text = try String(contentsOf: repositoryFile("docs/json-events.md"), encoding: .utf8)
    for sample in samples {
      for member in sample.members { #expect(text.contains("`\(member.key)`")) }
    }
  }
}
