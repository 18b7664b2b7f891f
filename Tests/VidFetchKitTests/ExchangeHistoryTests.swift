import FetchCore
import HTTPTransfer
import Testing

@testable import VidFetchKit

@Suite struct ExchangeHistoryTests {
  private let settings: TransferSettings = {
    var settings = TransferSettings()
    settings.retries = 2
    return settings
  }()

  private func name(_ sequel: ExchangeHistory.Sequel) -> String {
    switch sequel {
    case .pause(_, let attempt, _): "pause \(attempt)"
    case .again: "again"
    case .restart(let reason): reason.rawValue
    case .giveUp(let error): error.code.rawValue
    }
  }

  private let reset = TransferFailure(.reset, FetchError(.network, "reset"))

  @Test func failuresAreCountedSinceTheLastNewByte() {
    var history = ExchangeHistory(present: 100)
    let presents: [Int64] = [100, 100, 101, 101, 101, 101]
    let sequels = presents.map { name(history.failed(reset, present: $0, settings)) }
    #expect(sequels == ["pause 1", "pause 2", "pause 1", "pause 2", "network", "network"])
  }

  @Test func bytesThatWereThereBeforeAreNotNew() {
    var history = ExchangeHistory(present: 100)
    _ = history.failed(reset, present: 100, settings)
    #expect(name(history.failed(reset, present: 50, settings)) == "pause 2")
    history.beginNewVersion()
    #expect(name(history.failed(reset, present: 50, settings)) == "pause 1")
  }

  @Test func aCancelledFetchIsNotRepeated() {
    var history = ExchangeHistory()
    history.isCancelled = true
    #expect(name(history.failed(reset, present: 0, settings)) == "signal")
  }

  @Test func changesAndRejectionsHaveAnEnd() {
    var history = ExchangeHistory()
    let changes = (0..<4).map { _ in name(history.remoteChanged(settings)) }
    #expect(changes == ["remote_changed", "remote_changed", "remote_changed", "network"])
    let rejections = (0..<4).map { _ in name(history.rejected("odd", settings)) }
    #expect(rejections == ["again", "range_ignored", "again", "damaged"])
  }

  @Test func aBodyThatBringsNothingNewIsNotAskedForForEver() {
    var history = ExchangeHistory()
    let presents: [Int64] = [10, 20, 20, 21]
    let worthAsking = presents.map { history.bodyEnded(present: $0) }
    #expect(worthAsking == [true, true, false, true])
  }
}
