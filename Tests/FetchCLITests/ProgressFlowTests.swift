import FetchCLI
import FetchCore
import Testing
import VidFetchKit

private func snapshot(
  _ fraction: Double?, bytes: Int64 = 0, stage: ProgressSnapshot.Stage = .transferring
) -> ProgressSnapshot {
  var snapshot = ProgressSnapshot()
  snapshot.fraction = fraction
  snapshot.bytes = bytes
  snapshot.stage = stage
  return snapshot
}

@Suite struct ProgressGateTests {
  @Test func firstOneIsAlwaysZero() {
    for first in [snapshot(0), snapshot(0.4), snapshot(nil), snapshot(.nan)] {
      var gate = ProgressGate()
      #expect(gate.admit(first, at: .zero).map(\.fraction) == [0])
    }
  }

  @Test func nothingIsLostBehindAnInventedFirst() {
    var gate = ProgressGate()
    _ = gate.admit(snapshot(0.4, bytes: 9), at: .zero)
    #expect(gate.hasPending)
    #expect(gate.release(at: .milliseconds(50)) == nil)
    #expect(gate.release(at: .milliseconds(100))?.bytes == 9)
    #expect(!gate.hasPending)
  }

  @Test func letsTenASecondPass() {
    var gate = ProgressGate()
    var shown = 0
    for step in 0..<1000 {
      shown += gate.admit(snapshot(0), at: .milliseconds(step)).count
    }
    #expect(shown == 10)
  }

  @Test func fractionNeverFallsAndStaysBelowOne() {
    var gate = ProgressGate()
    var last = 0.0
    for (step, fraction) in [0, 0.5, 0.2, 0.6, -3, 1, 0.1, 5, .infinity].enumerated() {
      for admitted in gate.admit(snapshot(fraction), at: .seconds(step)) {
        #expect(admitted.fraction.map { $0 >= last && $0 < 1 } == true)
        last = admitted.fraction ?? last
      }
    }
    #expect(gate.fraction == last)
  }

  @Test func unknownStaysUnknown() {
    var gate = ProgressGate()
    _ = gate.admit(snapshot(0), at: .zero)
    #expect(gate.admit(snapshot(nil, bytes: 5), at: .seconds(1)).map(\.fraction) == [nil])
  }
}

@Suite struct PlainProgressTests {
  @Test func writesALineEachTenth() {
    var plain = PlainProgress(title: "a.mp4", now: .zero)
    var lines: [String] = []
    for step in 0..<100 {
      let line = plain.line(
        for: snapshot(Double(step) / 100, bytes: Int64(step) * 1_000_000),
        at: .milliseconds(step * 10))
      if let line { lines.append(line) }
    }
    #expect(lines.count == 9)
    #expect(lines.first == "vidfetch: a.mp4: 10 %, 10.0 MB")
    #expect(lines.last == "vidfetch: a.mp4: 90 %, 90.0 MB")
  }

  @Test func isNeverSilentForLongerThanTenSeconds() {
    var plain = PlainProgress(title: "a.mp4", now: .zero)
    #expect(plain.line(for: snapshot(nil, bytes: 5000), at: .seconds(9)) == nil)
    #expect(
      plain.line(for: snapshot(nil, bytes: 5000), at: .seconds(10)) == "vidfetch: a.mp4: 5.0 kB")
    #expect(plain.line(for: snapshot(nil, bytes: 5000), at: .seconds(11)) == nil)
  }

  @Test func saysAllThatIsKnown() {
    var plain = PlainProgress(title: "a\u{1B}.mp4", now: .zero)
    var full = snapshot(0.456, bytes: 12_300_000)
    full.total = 45_600_000
    full.rate = 3_200_000
    full.eta = 12
    #expect(
      plain.line(for: full, at: .zero)
        == "vidfetch: a\\u{1b}.mp4: 45 %, 12.3 MB of 45.6 MB, 3.2 MB/s, 0:12 left")
  }
}

@Suite struct MessageTextTests {
  private let text = MessageText()

  private func result(_ error: FetchError) -> JobResult {
    var result = JobResult(url: "https://h/a.mp4", format: .mp4)
    result.code = error.code
    result.error = error
    return result
  }

  @Test func errorIsOneLineWithItemMessageAndRecovery() {
    let error = FetchError(
      .notFound, "the server says 404 (Not Found)", recovery: "check the address")
    #expect(
      text.error(result(error))
        == "vidfetch: https://h/a.mp4: the server says 404 (Not Found); check the address")
    #expect(
      text.error(result(FetchError(.damaged, "cut\r\nX\u{1B}c")))
        == "vidfetch: https://h/a.mp4: cut\\u{d}\\u{a}X\\u{1b}c")
    #expect(text.error(JobResult(url: "u", format: .mp4)) == nil)
  }

  @Test func coloursTheProgramsNameOnly() {
    #expect(
      MessageText(usesColor: true).error(result(FetchError(.tls, "m")))
        == "\u{1B}[31mvidfetch\u{1B}[0m: https://h/a.mp4: m")
  }

  @Test(
    arguments: [
      (
        .warning(FetchWarning(.streamDropped, stream: 2, "stream 2 is left out")), 0,
        "vidfetch: warning: stream 2 is left out"
      ),
      (
        .retry(attempt: 2, wait: .milliseconds(1300), error: FetchError(.network, "reset")), 0,
        "vidfetch: retrying in 1.3 s (attempt 2): reset"
      ),
      (
        .retry(attempt: 1, wait: .seconds(2), error: FetchError(.busy, "503", retryAfter: 2)), 0,
        "vidfetch: retrying in 2 s (attempt 1): 503"
      ),
      (
        .restart(reason: .remoteChanged, bytes: 1_200_000), 0,
        "vidfetch: starting over, the remote file has changed (1.2 MB dropped)"
      ),
      (
        .restart(reason: .rangeIgnored, bytes: 0), 0,
        "vidfetch: starting over, the server can't continue"
      ),
      (.log(level: 1, "x"), 0, nil), (.log(level: 1, "x"), 1, "vidfetch: x"),
      (.log(level: 2, "x"), 1, nil), (.log(level: 2, "x"), 2, "vidfetch: x"),
      (.warning(FetchWarning(.unusual, "w")), -1, nil),
      (.start(url: "u", target: nil), 2, nil),
    ] as [(JobEvent, Int, String?)])
  func saysWhatHappens(event: JobEvent, verbosity: Int, line: String?) {
    #expect(text.line(for: event, url: "u", verbosity: verbosity) == line)
  }

  @Test func namesTheItemWhereThereAreSeveral() {
    let text = MessageText(namesItems: true)
    #expect(
      text.line(for: .warning(FetchWarning(.unusual, "w")), url: "https://h/a", verbosity: 0)
        == "vidfetch: warning: https://h/a: w")
  }
}

@Suite struct ExitStatusTests {
  @Test(
    arguments: [
      ([], 0), ([.ok, .ok], 0), ([.notFound], 20), ([.ok, .notFound, .notFound], 20),
      ([.notFound, .damaged], 50), ([.notFound, .network], 10), ([.busy, .network, .tls], 10),
      ([.busy, .tls], 11), ([.diskFull, .network], 40), ([.localIO, .output, .busy], 41),
      ([.localIO, .notFound], 42), ([.internal, .notFound], 50), ([.signal, .ok], 128),
    ] as [([OutcomeCode], Int32)])
  func combinesByTheBatchRule(outcomes: [OutcomeCode], status: Int32) {
    #expect(ExitStatus.combined(outcomes) == status)
    #expect(ExitStatus.combined(outcomes.reversed()) == status)
  }
}
