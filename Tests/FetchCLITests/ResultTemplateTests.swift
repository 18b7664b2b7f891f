import FetchCLI
import FetchCore
import Testing
import VidFetchKit

@Suite struct ResultTemplateTests {
  private var object: JSONObject {
    var result = JobResult(url: "https://h/a", format: .mov)
    result.path = "/tmp/a b.mov"
    result.bytes = 123
    result.duration = 1.5
    result.streams = [StreamReport(index: 0, type: .video, codec: "h264", action: .kept)]
    return JSONEventWriter.result(result, job: 1, exit: 0, fraction: nil)
  }

  @Test(arguments: [
    ("{path}", "/tmp/a b.mov"), ("{code} {exit}\\t{bytes}\\n", "ok 0\t123\n"),
    ("{{{url}}}", "{https://h/a}"), ("{duration}{format}", "1.5mov"), ("{message}|", "|"),
    ("{retryable}", "false"), ("\\\\", "\\"), ("plain", "plain"), ("", ""),
    ("{streams}", #"[{"index":0,"type":"video","codec":"h264","action":"kept"}]"#),
  ])
  func fillsInTheResultsKeys(text: String, filled: String) throws {
    #expect(try ResultTemplate(text, option: "--print").filled(with: object) == filled)
  }

  @Test(arguments: ["{pat}", "{", "}", "{path", "\\x", "\\", "{}", "{ path }"])
  func refusesWhatItDoesNotKnow(text: String) {
    #expect(throws: UsageError.self) { try ResultTemplate(text, option: "--print") }
  }

  @Test func everyKeyIsAKeyOfTheResult() throws {
    var result = JobResult(url: "u", format: .mp4)
    result.skipped = .exists
    result.path = "p"
    result.bytes = 1
    result.duration = 1
    result.completeBy = .structure
    result.part = "p"
    result.sha256 = "s"
    result.error = FetchError(.busy, "m", reason: "r", recovery: "r", retryAfter: 1)
    var origin = ItemOrigin()
    (origin.id, origin.name, origin.list, origin.line) = ("i", "n", "l", 1)
    origin.isRedacted = true
    let object = JSONEventWriter.result(
      result, job: 1, exit: 0, fraction: nil, origin: origin)
    let keys = object.members.map(\.key)
    #expect(keys == ["v", "event", "job"] + JSONEventWriter.resultKeys)
  }
}
