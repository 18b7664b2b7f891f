import FetchCLI
import Foundation
import Testing
import VidFetchKit

@Suite struct BatchBarTests {
  private var progress: BatchProgress {
    var progress = BatchProgress()
    progress.ended = 12
    progress.failed = 3
    progress.total = 1000
    progress.runningFraction = 1.5
    progress.bytes = 1_234_567_890
    progress.rate = 12_345_678
    progress.elapsed = .seconds(60)
    return progress
  }

  private func snapshot(
    _ fraction: Double?, _ bytes: Int64, _ total: Int64?, _ stage: ProgressSnapshot.Stage
  ) -> ProgressSnapshot {
    var snapshot = ProgressSnapshot()
    snapshot.stage = stage
    snapshot.fraction = fraction
    snapshot.bytes = bytes
    snapshot.total = total
    snapshot.rate = 1_000_000
    return snapshot
  }

  private var items: [(title: String, snapshot: ProgressSnapshot)] {
    [
      ("intro.mp4", snapshot(0.42, 4_200_000, 10_000_000, .transferring)),
      ("a-very-long-name-that-fits-nowhere-at-all.mkv", snapshot(nil, 500, nil, .connecting)),
      ("東京の映画.mov", snapshot(0.999, 10_000_000, 10_000_000, .publishing)),
    ]
  }

  @Test(arguments: [40, 80, 200])
  func linesFitTheScreenAndLookLikeThis(_ width: Int) throws {
    let lines = BatchBar.lines(progress, items: items, width: width, rows: 10)
    #expect(lines.allSatisfy { DisplayWidth.of($0) <= width })
    let text = lines.map { $0 + "|\n" }.joined()
    let file = repositoryFile("Tests/FetchCLITests/Snapshots/batch-\(width).txt")
    #expect(text == (try String(contentsOf: file, encoding: .utf8)), "\(text)")
  }

  @Test func everyWidthHolds() {
    for width in 0...220 {
      let lines = BatchBar.lines(progress, items: items, width: width, rows: 4)
      #expect(lines.allSatisfy { DisplayWidth.of($0) <= width })
      #expect(lines.count == 4)
    }
  }

  @Test func whatDoesNotFitIsCounted() {
    let many = Array(repeating: items[0], count: 20)
    let lines = BatchBar.lines(progress, items: many, width: 80, rows: 6)
    #expect(lines.count == 6)
    #expect(lines.last == "  and 16 more")
    #expect(BatchBar.lines(progress, items: many, width: 80, rows: 1).count == 1)
  }

  @Test func anUnknownNumberOfItemsHasNoPercentage() {
    var unknown = progress
    unknown.total = nil
    let line = BatchBar.total(unknown, width: 80)
    #expect(line.hasPrefix("12 items ["))
    #expect(!line.contains("%") && !line.contains("ETA"))
  }

  @Test func theFractionIsOverEverything() {
    #expect(progress.fraction == 0.0135)
    var all = progress
    all.ended = 1000
    all.runningFraction = 0
    #expect(all.fraction == 1 && all.eta == nil)
  }
}
