import FetchCore
import Testing

@testable import VidFetchKit

@Suite struct ProgressModelTests {
  private func snapshot(
    _ model: inout ProgressModel, at seconds: Double, present: Int64, total: Int64?,
    position: Int64 = 0, received: Int64? = nil
  ) -> ProgressSnapshot {
    model.snapshot(
      stage: .transferring, time: .seconds(seconds), present: present,
      received: received ?? present, total: total, position: position)
  }

  @Test func fractionIsTheMeanOfBothHalves() {
    var model = ProgressModel()
    let half = snapshot(&model, at: 1, present: 60, total: 100, position: 20)
    #expect(half.download == 0.6 && half.export == 0.2 && half.fraction == 0.4)
  }

  @Test func fractionStaysBelowOneUntilTheFileIsInPlace() throws {
    var model = ProgressModel()
    let end = snapshot(&model, at: 1, present: 100, total: 100, position: 100)
    let fraction = try #require(end.fraction)
    #expect(fraction < 1 && fraction > 0.99)
  }

  @Test func standsStillAfterARestartUntilItIsPassedAgain() {
    var model = ProgressModel()
    _ = snapshot(&model, at: 1, present: 60, total: 100, position: 60)
    let restarted = snapshot(&model, at: 2, present: 0, total: 100, received: 60)
    #expect(restarted.fraction == 0.6 && restarted.bytes == 0)
    #expect(snapshot(&model, at: 3, present: 90, total: 100, received: 150).fraction == 0.75)
  }

  @Test func inventsNothingForAnUnknownSize() {
    var model = ProgressModel()
    _ = snapshot(&model, at: 0, present: 0, total: nil)
    let unknown = snapshot(&model, at: 2, present: 1000, total: nil, position: 500)
    #expect(unknown.fraction == nil && unknown.download == nil && unknown.export == nil)
    #expect(unknown.eta == nil && unknown.rate == 500 && unknown.bytes == 1000)
  }

  @Test func neverShowsMoreBytesThanThereAre() {
    var model = ProgressModel()
    let snapshot = snapshot(&model, at: 1, present: 120, total: 100)
    #expect(snapshot.bytes == 100 && snapshot.download == 1)
  }

  @Test func rateCountsWhatCameInTheWindowOnly() {
    var model = ProgressModel()
    // Resumed: 900 bytes were there before.
    for second in 0...20 {
      _ = snapshot(
        &model, at: Double(second), present: 900 + Int64(second), total: 2000,
        received: Int64(second))
    }
    let steady = snapshot(&model, at: 21, present: 921, total: 2000, received: 21)
    #expect(steady.rate == 1)
    #expect(steady.eta == 1079)
  }

  @Test func stalledTransferHasNoTimeLeft() {
    var model = ProgressModel()
    _ = snapshot(&model, at: 0, present: 10, total: 100)
    let stalled = snapshot(&model, at: 30, present: 10, total: 100)
    #expect(stalled.rate == 0 && stalled.eta == nil)
  }

  @Test func emptySourceDoesNotDivideByZero() {
    var model = ProgressModel()
    let empty = snapshot(&model, at: 1, present: 0, total: 0)
    #expect(empty.fraction == nil && empty.eta == nil)
  }
}
