// Which item of a batch begins next. Pure: times come from the caller, and what runs is somebody
// else's business.

/// The items that wait and the ones that run.
///
/// Items of one host begin in their order, and no host keeps the others waiting: where it has asked
/// for patience, or has as many items running as it may, those of the next one go first.
package struct BatchSchedule: Sendable {
  private struct Host: Sendable {
    /// In order; those before `first` have begun.
    var waiting: [Int] = []
    var first = 0
    var running = 0
    var pausedUntil: Duration?

    var next: Int? { first < waiting.count ? waiting[first] : nil }
    var isIdle: Bool { next == nil && running == 0 }

    mutating func takeNext() {
      first += 1
      running += 1
      // What has begun is dropped now and then, so that a long list leaves nothing behind.
      if first == waiting.count || first >= 1024 {
        waiting.removeFirst(first)
        first = 0
      }
    }
  }

  /// The most items that wait here; the rest of the list is not read yet.
  package static let window = 16_384
  /// So many times the limit may run where most of them only wait for a server's leave.
  private static let mostPatient = 4

  /// Items side by side.
  package var limit: Int
  private let limitPerHost: Int
  private var hosts: [String: Host] = [:]
  private var placeOfItem: [Int: (host: String, key: String)] = [:]
  /// What the running items share with nobody.
  private var keys: Set<String> = []
  private var patient: Set<Int> = []
  package private(set) var waitingCount = 0
  package private(set) var runningCount = 0

  /// - Parameters:
  ///   - limit: items side by side, at least 1.
  ///   - limitPerHost: items side by side at one host, at least 1.
  package init(limit: Int, limitPerHost: Int) {
    self.limit = max(1, limit)
    self.limitPerHost = max(1, limitPerHost)
  }

  /// Whether another item may be added.
  package var hasRoom: Bool { waitingCount < Self.window }

  /// Whether nothing waits and nothing runs.
  package var isIdle: Bool { waitingCount == 0 && runningCount == 0 }

  /// Adds an item behind the others of its host.
  ///
  /// - Parameters:
  ///   - host: empty for a local source, which has no limit.
  ///   - key: what it can't share with an item that runs, such as the source's partial file.
  package mutating func add(_ item: Int, host: String, key: String) {
    hosts[host, default: Host()].waiting.append(item)
    placeOfItem[item] = (host, key)
    waitingCount += 1
  }

  /// Says whether a running item does nothing but wait, as a server has asked it to.
  package mutating func setPatient(_ item: Int, _ isPatient: Bool) {
    if isPatient { patient.insert(item) } else { patient.remove(item) }
  }

  /// Whether the limit lets another item run.
  package var hasTurn: Bool {
    runningCount - patient.count < limit && runningCount < limit * Self.mostPatient
  }

  /// Takes the item that begins now; nil where none can.
  package mutating func next(at now: Duration) -> Int? {
    guard hasTurn else { return nil }
    var best: (item: Int, host: String)?
    for (name, host) in hosts {
      guard let item = host.next, name.isEmpty || host.running < limitPerHost,
        host.pausedUntil.map({ $0 <= now }) ?? true, best.map({ item < $0.item }) ?? true,
        placeOfItem[item].map({ !keys.contains($0.key) }) ?? true
      else { continue }
      best = (item, name)
    }
    guard let (item, name) = best else { return nil }
    hosts[name]?.takeNext()
    if let place = placeOfItem[item] { keys.insert(place.key) }
    waitingCount -= 1
    runningCount += 1
    return item
  }

  /// Takes back an item that ran.
  package mutating func ended(_ item: Int) {
    guard let (name, key) = placeOfItem.removeValue(forKey: item), var host = hosts[name] else {
      return
    }
    keys.remove(key)
    patient.remove(item)
    host.running -= 1
    runningCount -= 1
    hosts[name] = host.isIdle && host.pausedUntil == nil ? nil : host
  }

  /// Begins no item of this host before then.
  package mutating func pause(_ host: String, until end: Duration) {
    let present = hosts[host, default: Host()].pausedUntil ?? end
    hosts[host, default: Host()].pausedUntil = max(present, end)
  }

  /// When a host that items wait for may be asked again; nil where no pause holds up anything.
  package mutating func nextWake(after now: Duration) -> Duration? {
    var wake: Duration?
    for (name, host) in hosts {
      guard let end = host.pausedUntil else { continue }
      if end <= now {
        hosts[name]?.pausedUntil = nil
        if host.isIdle { hosts[name] = nil }
      } else if host.next != nil, hasTurn {
        wake = min(wake ?? end, end)
      }
    }
    return wake
  }

  /// Drops all that has not begun.
  package mutating func clear() {
    for (name, host) in hosts {
      for item in host.waiting[host.first...] { placeOfItem[item] = nil }
      hosts[name]?.waiting = []
      hosts[name]?.first = 0
    }
    waitingCount = 0
  }
}
