// The events of a batch, many jobs side by side.

import Foundation
import TestSupport
import Testing

@Suite("JSON events of a batch")
struct BatchEventTests {
  @Test func eachJobTellsItsStoryAndTheSummaryIsLast() throws {
    let shelf = try FilmShelf(6)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let list = try run.list([
      server.url("~rate=60000/film-0001.mp4"), server.url("~rate=60000/film-0002.mp4"),
      server.url("~drop=20000&times=1/~norange=1/film-0003.mp4"), server.url("nothing.mp4"),
      "not a url", server.url("~rate=60000/film-0001.mp4"),
      "\(server.url("~rate=90000&chunked=1/film-0004.mp4"))\tfourth",
      server.url("~status=503&times=1/film-0005.mp4"), server.url("~status=503/film-0006.mp4"),
    ])
    let outcome = try run.run([
      "-i", list, "-d", "out", "-j", "4", "--retries", "1", "--max-attempts", "2",
      "--progress", "json", "--json", "--results", "log",
    ])
    #expect(outcome.status == .exited(50), "\(outcome.stderr)")

    let lines = try BatchLine.all(in: outcome.stderr)
    #expect(lines.last?.event == "summary" && lines.count { $0.event == "summary" } == 1)
    #expect(lines.last?.job == "batch")
    let jobs = Dictionary(grouping: lines.dropLast(), by: \.job)
    #expect(jobs.keys.sorted() == (1...9).map(String.init))
    for (job, story) in jobs {
      #expect(story.count { $0.event == "result" } == 1, "job \(job)")
      #expect(story.last?.event == "result", "job \(job)")
      let starts = story.count { $0.event == "start" }
      // A bad line and a duplicate never start; a second attempt is the same job.
      #expect(starts == (["5", "6"].contains(job) ? 0 : 1), "job \(job): \(starts) starts")
      let fractions = story.compactMap(\.fraction)
      if starts > 0 { #expect(fractions.first == 0, "job \(job)") }
      #expect(fractions == fractions.sorted(), "job \(job): \(fractions)")
      let progress = story.filter { $0.event == "progress" }
      #expect(progress.allSatisfy { $0.fraction ?? 0 < 1 })
      if story.last?.code == "ok", story.last?.skipped == nil {
        #expect(story.last?.fraction == 1, "job \(job)")
      }
    }
    #expect(lines.contains { $0.event == "retry" } && lines.contains { $0.event == "restart" })
    try expectSchema(outcome.stderr + outcome.stdout, in: run)
    let log = String(decoding: fileBytes(run.file("log")), as: UTF8.self)
    try expectSchema(log, in: run, definition: "results_line")
  }

  /// python3-jsonschema is the judge, so that the schema is read as others read it.
  private func expectSchema(
    _ lines: String, in run: VidfetchRun, definition: String? = nil
  ) throws {
    try lines.write(toFile: run.file("lines"), atomically: false, encoding: .utf8)
    let script = """
      import json, sys, jsonschema
      schema = json.load(open(sys.argv[1]))
      if sys.argv[3:]: schema = {"$ref": "#/$defs/" + sys.argv[3], "$defs": schema["$defs"]}
      judge = jsonschema.Draft202012Validator(schema)
      for line in open(sys.argv[2]):
          for error in judge.iter_errors(json.loads(line)):
              print(line.strip(), error.message)
      """
    let complaints = try outputOfTool(
      [
        "/usr/bin/python3", "-c", script, "\(FixtureFile.packageRoot)/docs/json-events.schema.json",
        run.file("lines"),
      ] + (definition.map { [$0] } ?? []))
    #expect(complaints == "")
  }
}
