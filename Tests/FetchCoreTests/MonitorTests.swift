import FetchCore
import Testing

@Suite struct MonitorTests {
  @Test func waiterSeesWhatAnotherThreadSays() throws {
    let monitor = Monitor(0)
    try WorkerThread.start("test-writer") {
      for _ in 0..<1000 { monitor.withLock { $0 += 1 } }
    }
    #expect(monitor.wait(timeout: .seconds(60)) { $0 == 1000 ? $0 : nil } == 1000)
  }

  @Test func waitEndsWithoutAnAnswerWhenItsTimeIsOver() {
    let monitor = Monitor(0)
    #expect(monitor.wait(timeout: .milliseconds(5)) { $0 == 1 ? true : nil } == nil)
    #expect(monitor.wait(timeout: .seconds(-1)) { $0 == 1 ? true : nil } == nil)
  }
}
