import FetchCLI
import FetchCore
import Testing
import VidFetchKit

@Suite struct ProgressBarTests {
  private func snapshot(
    _ fraction: Double?, bytes: Int64 = 12_345_678, total: Int64? = 45_600_000,
    rate: Double? = 3_200_000, eta: Double? = 12, stage: ProgressSnapshot.Stage = .transferring
  ) -> ProgressSnapshot {
    var snapshot = ProgressSnapshot()
    snapshot.fraction = fraction
    snapshot.bytes = bytes
    snapshot.total = total
    snapshot.rate = rate
    snapshot.eta = eta
    snapshot.stage = stage
    return snapshot
  }

  private func line(
    _ snapshot: ProgressSnapshot, _ width: Int, title: String = "intro.mp4",
    phase: ProgressBar.Phase = .running(tick: 3)
  ) -> String {
    ProgressBar(title: title, snapshot: snapshot, phase: phase).line(width: width)
  }

  @Test func looksRightAt40Columns() {
    #expect(line(snapshot(0.27), 40) == " 27% [==>           ]   12.3 MB/ 45.6 MB")
  }

  @Test func looksRightAt80Columns() {
    #expect(
      line(snapshot(0.27), 80)
        == " 27% [===>           ]   12.3 MB/ 45.6 MB    3.2 MB/s  ETA     0:12  downloading")
  }

  @Test func looksRightAt120Columns() {
    #expect(
      line(snapshot(0.27), 120)
        == "intro.mp4   27% [==========>                                 ]   12.3 MB/ 45.6 MB    "
        + "3.2 MB/s  ETA     0:12  downloading")
  }

  @Test func looksRightAt200Columns() {
    let inner = 124
    #expect(
      line(snapshot(0.5, stage: .exporting), 200)
        == "intro.mp4   50% [" + String(repeating: "=", count: inner / 2 - 1) + ">"
        + String(repeating: " ", count: inner / 2)
        + "]   12.3 MB/ 45.6 MB    3.2 MB/s  ETA     0:12  exporting  ")
  }

  @Test func inventsNothingWhereTheSizeIsUnknown() {
    let text = line(snapshot(nil, total: nil, eta: nil), 80)
    #expect(!text.contains("%") && !text.contains("ETA"))
    #expect(text.contains("12.3 MB") && text.contains("3.2 MB/s") && text.contains("<=>"))
  }

  @Test func movesWhereTheSizeIsUnknown() {
    let unknown = snapshot(nil, total: nil)
    #expect(
      line(unknown, 80, phase: .running(tick: 1)) != line(unknown, 80, phase: .running(tick: 2)))
  }

  @Test func saysHundredOnlyWhenDone() {
    #expect(line(snapshot(1.0.nextDown), 80).hasPrefix(" 99%"))
    #expect(line(snapshot(1), 80).hasPrefix(" 99%"))
    #expect(line(snapshot(0.99), 80, phase: .done).hasPrefix("100%"))
    #expect(line(snapshot(0.99), 80, phase: .done).hasSuffix("done       "))
    #expect(line(snapshot(0.5), 80, phase: .failed).hasPrefix(" 50%"))
    #expect(line(snapshot(0.5), 80, phase: .failed).hasSuffix("failed     "))
  }

  /// What the engine should never send, and what it may.
  private var strangeSnapshots: [ProgressSnapshot] {
    let fractions: [Double?] = [nil, 0, 0.5, 1, -1, 7, .nan, .infinity, -.infinity]
    let rates: [Double?] = [nil, 0, 999_950, 1e30, .nan, -5, .infinity]
    let etas: [Double?] = [nil, 0, 59.6, 3599.7, 1e9, -3, .nan, .infinity]
    var all: [ProgressSnapshot] = []
    for (index, fraction) in fractions.enumerated() {
      for (other, rate) in rates.enumerated() {
        let eta = etas[(index + other) % etas.count]
        for (bytes, total) in [
          (0, nil), (Int64.max, Int64.max), (-1, -1), (999_999_999, 1_000_000_000),
        ] as [(Int64, Int64?)] {
          all.append(snapshot(fraction, bytes: bytes, total: total, rate: rate, eta: eta))
        }
      }
    }
    return all
  }

  @Test(arguments: [40, 41, 47, 48, 62, 75, 80, 89, 100, 133, 200])
  func fitsItsWidthExactly(width: Int) {
    let titles = ["", "a", "視頻動画한국어.mp4", "👩‍👩‍👧‍👦🏳️‍🌈e\u{301}.mov", String(repeating: "long", count: 99)]
    for title in titles {
      for snapshot in strangeSnapshots {
        for phase in [.running(tick: 7), .running(tick: -1), .done, .failed, .interrupted]
          as [ProgressBar.Phase]
        {
          let text = line(snapshot, width, title: title, phase: phase)
          let columns = DisplayWidth.of(text)
          // A title that can't be cut evenly leaves a column, which the bar takes.
          #expect(columns == width)
          #expect(!text.contains("nan") && !text.contains("inf") && !text.contains("-1"))
        }
      }
    }
  }

  @Test func neverWiderThanAnyWidth() {
    for width in 0..<40 {
      #expect(DisplayWidth.of(line(snapshot(0.27), width)) <= width)
    }
  }

  @Test func colourTakesNoColumns() {
    let bar = ProgressBar(
      title: "t", snapshot: snapshot(0.5), phase: .running(tick: 0), usesColor: true)
    let text = bar.line(width: 80)
    #expect(text.contains("\u{1B}[32m") && text.contains("\u{1B}[0m"))
    let plain = text.replacing("\u{1B}[32m", with: "").replacing("\u{1B}[0m", with: "")
    #expect(plain == line(snapshot(0.5), 80, title: "t", phase: .running(tick: 0)))
  }

  @Test func showsNoControlOfATitle() {
    let text = line(snapshot(0.1), 200, title: "a\u{1B}[2Jb\u{202E}c")
    #expect(text.hasPrefix("a\\u{1b}[2Jb\\u{202e}c  "))
  }
}

@Suite struct FiguresTests {
  @Test(
    arguments: [
      (0, "0 B"), (-5, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"),
      (999_950, "1.0 MB"), (45_600_000, "45.6 MB"), (1_000_000_000_000, "1.0 TB"),
      (Int64.max, "9.2 EB"),
    ] as [(Int64, String)])
  func writesSizes(bytes: Int64, text: String) {
    #expect(Figures.size(bytes) == text)
    #expect(Figures.sizeField(bytes).utf8.count == 8)
  }

  @Test(
    arguments: [
      (0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (3599, "59:59"), (3599.6, "1:00:00"),
      (359_999, "99:59:59"), (360_000, nil), (-1, nil), (.nan, nil), (.infinity, nil),
    ] as [(Double, String?)])
  func writesTimes(seconds: Double, text: String?) {
    #expect(Figures.time(seconds) == text)
  }

  @Test(
    arguments: [
      (0, 0), (0.999_999, 99), (1.0.nextDown, 99), (1, 100), (2, 100), (-1, 0), (.nan, nil),
    ] as [(Double, Int?)])
  func roundsPercentDown(fraction: Double, percent: Int?) {
    #expect(Figures.percent(fraction) == percent)
  }

  @Test(
    arguments: [
      (1300, "1.3 s"), (2000, "2 s"), (1960, "2 s"), (40, "40 ms"), (-3, "0 ms"), (100, "0.1 s"),
      (120_000, "120 s"),
    ] as [(Int64, String)])
  func writesWaits(milliseconds: Int64, text: String) {
    #expect(Figures.seconds(.milliseconds(milliseconds)) == text)
  }
}

@Suite struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("視頻", 4), ("한국", 4), ("ｱ", 1), ("Ａ", 2),
    ("😀", 2), ("⌚", 2), ("❤\u{FE0F}", 2), ("\u{200B}", 0), ("a\u{7}", 1), ("ไก่", 2), ("🇩🇪", 4),
  ])
  func countsColumns(text: String, columns: Int) {
    #expect(DisplayWidth.of(text) == columns)
  }

  @Test func cutsInTheMiddleBetweenCharacters() {
    #expect(DisplayWidth.truncate("abcdefghij", columns: 10) == "abcdefghij")
    #expect(DisplayWidth.truncate("abcdefghijk", columns: 10) == "abcd...ijk")
    #expect(DisplayWidth.truncate("視頻動画音声", columns: 10) == "視頻...声")
    #expect(DisplayWidth.truncate("abcdef", columns: 2) == "..")
  }
}

@Suite struct PrintableTests {
  @Test(arguments: [
    ("plain ünïcode 視頻 😀", "plain ünïcode 視頻 😀"), ("a\u{1B}[31mb", "a\\u{1b}[31mb"),
    ("a\nb\tc", "a\\u{a}b\\u{9}c"), ("\u{7F}\u{9B}2J", "\\u{7f}\\u{9b}2J"),
    ("\u{202E}gpj.exe", "\\u{202e}gpj.exe"), ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
    ("a\u{200B}b\u{FEFF}c\u{AD}d", "a\\u{200b}b\\u{feff}c\\u{ad}d"),
    ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"), ("\u{E0041}", "\\u{e0041}"),
    ("\r\n", "\\u{d}\\u{a}"), (String(decoding: [0x61, 0xFF], as: UTF8.self), "a\u{FFFD}"),
  ])
  func escapesWhatATerminalActsOn(text: String, printable: String) {
    #expect(Printable.escape(text) == printable)
  }
}
