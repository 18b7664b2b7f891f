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
    let none = held.takeDue(at: .seconds(9))
    #expect(none.isEmpty && held.isEmpty && held.due == nil)
    let areHeld = [held.hold(item(1), at: .zero), held.hold(item(2), at: .milliseconds(900))]
    #expect(areHeld == [true, true])
    let early = held.takeDue(at: .milliseconds(999))
    #expect(early.isEmpty && held.hasHeld(2))
    let due = held.takeDue(at: .seconds(1))
    #expect(due.map(\.job) == [1, 2] && held.isEmpty)
    var now = Duration.seconds(1)
    for wait in [2, 4, 8, 10, 10] {
      let isHeld = held.hold(item(1), at: now)
      #expect(isHeld && held.due == now + .seconds(wait))
      now += .seconds(wait)
      let again = held.takeDue(at: now)
      #expect(again.count == 1)
    }
  }

  @Test func whatWaitsForItsTurnAgainStaysKnownUntilItsEnd() {
    var held = HeldItems(patience: .seconds(60))
    let isHeld = held.hold(item(1), at: .zero)
    let again = held.takeDue(at: .seconds(1))
    #expect(isHeld && again.count == 1 && held.isEmpty && held.hasHeld(1))
    #expect(!held.hasHeld(2))
    held.forget(1)
    #expect(!held.hasHeld(1))
    // And what comes then is looked at after a second again.
    _ = held.hold(item(2), at: .seconds(5))
    #expect(held.due == .seconds(6))
  }

  @Test func patienceEnds() {
    var held = HeldItems(patience: .seconds(60))
    func tries(_ seconds: Int) -> Bool {
      let isHeld = held.hold(item(1), at: .seconds(seconds))
      _ = held.takeDue(at: .seconds(seconds + 10))
      return isHeld
    }
    let first = [tries(0), tries(59), tries(70)]
    #expect(first == [true, true, false])
    held.forget(1)
    let another = tries(70)
    #expect(another, "another time is another matter")
  }
}
