import FetchCore
import Testing

@testable import VidFetchKit

@Suite struct StatusLatchTests {
  private let session = VideoDownloadSession(CancellationFlag())

  private func progress(_ value: Double) -> VideoDownloaderStatus {
    .downloading(progress: value, session: session)
  }

  private func values(_ latch: StatusLatch) async -> [String] {
    var values: [String] = []
    while let status = await latch.take() {
      switch status {
      case .downloading(let progress, _): values.append("\(progress)")
      case .completed: values.append("completed")
      case .error: values.append("error")
      }
    }
    return values
  }

  @Test func slowReaderMissesOnlyProgressInBetween() async {
    let latch = StatusLatch()
    latch.put(progress(0))
    for step in 1...9 { latch.putProgress(progress(Double(step) / 10)) }
    latch.put(progress(1))
    latch.put(.error(.userCancelled))
    latch.close()
    latch.putProgress(progress(0.5))
    #expect(await values(latch) == ["0.0", "0.9", "1.0", "error"])
  }

  @Test func readerThatWaitsIsServed() async {
    let latch = StatusLatch()
    async let all = values(latch)
    for step in 0...3 { latch.put(progress(Double(step))) }
    latch.close()
    #expect(await all == ["0.0", "1.0", "2.0", "3.0"])
  }
}
