import FetchCore
import Testing
import VidFetchKit

@testable import FetchCLI

@Suite struct HeldItemsTests {
  private func item(_ job: Int) -> BatchItem {
    BatchItem(job: job, url: "http://a.test/\(job)", content: .bad(.cancelled))
  }

  @Test func allAreLookedAtAgainAfterASecondThenLaterAndLater() {
    var held = HeldItems(patience: .seconds(60))
    #expect(held.isEmpty && held.due == nil && held.takeDue(at: .seconds(9)).isEmpty)
    #expect(held.hold(item(1), at: .zero))
    #expect(held.hold(item(2), at: .milliseconds(900)))
    #expect(held.takeDue(at: .milliseconds(999)).isEmpty && held.contains(2))
    #expect(held.takeDue(at: .seconds(1)).map(\.job) == [1, 2])
    #expect(held.isEmpty)
    var now = Duration.seconds(1)
    for wait in [2, 4, 8, 10, 10] {
      #expect(held.hold(item(1), at: now))
      #expect(held.due == now + .seconds(wait))
      now += .seconds(wait)
      #expect(held.takeDue(at: now).count == 1)
    }
  }

  @Test func patienceEnds() {
    var held = HeldItems(patience: .seconds(60))
    #expect(held.hold(item(1), at: .zero))
    _ = held.takeDue(at: .seconds(59))
    #expect(held.hold(item(1), at: .seconds(59)))
    _ = held.takeDue(at: .seconds(70))
    #expect(!held.hold(item(1), at: .seconds(70)))
    held.forget(1)
    #expect(held.hold(item(1), at: .seconds(70)), "another time is another matter")
  }
}
