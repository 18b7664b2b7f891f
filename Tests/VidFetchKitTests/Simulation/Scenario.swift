// A server's character and its misdeeds, all out of one seed.

import FetchCore
import HTTPTransfer
import TestSupport

/// One version of a resource.
struct Version {
  var bytes: [UInt8]
  /// Several where each node of a pool names the version its own way.
  var tags: [String]
  var lastModified: String?
}

/// What goes wrong with one exchange.
enum Fault: CaseIterable {
  case cut, reset, stall, emptyReply, refused
  case busy, busyFor, unavailable, forbidden
  case otherStart, otherTotal, noContentRange, otherTag, shorter, whole, several
  case none

  /// With which error a fetch may end that meets this.
  var allowed: Set<OutcomeCode> {
    switch self {
    case .cut, .reset, .stall, .emptyReply, .refused: [.network]
    case .busy, .busyFor, .unavailable: [.busy, .network]
    case .forbidden: [.denied]
    case .otherStart, .otherTotal, .noContentRange, .otherTag, .shorter, .whole, .several:
      [.damaged, .network]
    case .none: []
    }
  }
}

struct Scenario {
  enum Excess: CaseIterable { case busy, refused, silent }

  /// What versions are cut from.
  private static let noise: [UInt8] = {
    var random = SeededNumbers(seed: 1)
    return (0..<1 << 20).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }()

  var versions: [Version]
  /// When the second version takes the first one's place, in nanoseconds.
  var changesAfter: Int64?
  var knowsRanges = true
  var saysRanges: String?
  var framing: BodyFraming
  /// Connections that are served at a time, and what becomes of others.
  var connections: Int?
  var excess = Excess.busy
  /// Bytes a second, for each connection and for all.
  var rate: Double
  var linkRate: Double
  /// Nanoseconds.
  var latency: Int64
  var faults: [Fault] = []
  /// How likely each exchange meets one.
  var badness = 0.0

  init(seed: Int, isFaulty: Bool = true) {
    var random = SeededNumbers(seed: UInt64(seed))
    func isLuck(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &random) < chance }
    let size = Int.random(in: 1...(isLuck(0.2) ? 5_000 : 400_000), using: &random)
    let otherSize = isLuck(0.4) ? size : Int.random(in: 1...400_000, using: &random)
    let tagKind = Int.random(in: 0..<10, using: &random)
    let hasDate = isLuck(0.7)
    versions = [size, otherSize].enumerated().map { index, size in
      let start = Int.random(in: 0...Self.noise.count - size, using: &random)
      let bytes = Array(Self.noise[start..<start + size])
      let tags =
        switch tagKind {
        case 0: [String]()
        case 1: ["W/\"v\(index)\""]
        case 2: ["\"v\(index)-a\"", "\"v\(index)-b\""]
        default: ["\"v\(index)\""]
        }
      return Version(
        bytes: bytes, tags: tags,
        lastModified: hasDate ? "Sun, 06 Nov 1994 08:4\(index):37 GMT" : nil)
    }
    framing = isLuck(0.1) ? .chunked : .length(0)
    let speeds = [20e3, 100e3, 500e3, 2e6]
    rate = speeds.randomElement(using: &random) ?? 1e6
    linkRate = rate * Double([1, 2, 8, 100].randomElement(using: &random) ?? 1)
    latency = Int64.random(in: 1...200, using: &random) * 1_000_000
    if isLuck(0.2) { connections = Int.random(in: 1...4, using: &random) }
    excess = Excess.allCases.randomElement(using: &random) ?? .busy
    if isLuck(0.2) {
      knowsRanges = false
      saysRanges = isLuck(0.5) ? "none" : "bytes"
    } else if isLuck(0.5) {
      saysRanges = "bytes"
    }
    guard isFaulty else { return }
    if isLuck(0.3) { changesAfter = Int64.random(in: 0...10_000, using: &random) * 1_000_000 }
    let kinds = Fault.allCases.filter { $0 != .none && ($0 != .forbidden || isLuck(0.2)) }
    faults = (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in
      kinds.randomElement(using: &random)
    }
    badness = Double.random(in: 0.2...1, using: &random)
  }
}
