// What is known of one running item, so that it can be shown.

import FetchCore
import VidFetchKit

/// The state of one item's display.
struct ItemVoice {
  let job: Int
  /// Secrets removed.
  private(set) var url: String
  private(set) var title: String
  let began: Duration
  var gate = ProgressGate()
  var plain: PlainProgress
  var snapshot = ProgressSnapshot()
  /// Whether there has been a snapshot to show.
  var isShown = false
  private var hasStarted = false
  private(set) var tick = 0

  init(job: Int, url: String, at now: Duration) {
    self.job = job
    self.url = url
    title = Self.title(of: url)
    began = now
    plain = PlainProgress(title: title, now: now)
  }

  /// Takes in where it comes from and goes to; false where that was said before.
  mutating func start(url: String, target: String?) -> Bool {
    self.url = url
    title = Self.title(of: target ?? url)
    plain.title = title
    defer { hasStarted = true }
    return !hasStarted
  }

  mutating func advance() -> Int {
    tick += 1
    return tick
  }

  /// The last name of a path or URL, without a query; the whole where there is none.
  private static func title(of location: String) -> String {
    var path = Substring(location)
    if location.firstRange(of: "://") != nil {
      path = path.prefix { $0 != "?" && $0 != "#" }
    }
    return path.split(separator: "/").last.map(String.init) ?? location
  }
}
