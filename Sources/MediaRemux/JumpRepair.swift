// A broadcast's clock may jump: at a splice, at a lost signal, at a mad timestamp. Jumps are closed,
// for all streams by the same amount, so that sound and picture stay together. Pure.

/// The offsets that close the jumps of a source's clock.
///
/// Times are microseconds. Each stream changes over when its own packets cross the jump; the first
/// one says by how much, the others follow it.
struct JumpRepair: Hashable {
  private struct Stream: Hashable {
    var offset: Int64 = 0
    var expected: Int64?
    /// The latest time as the source has it.
    var source: Int64?
  }

  /// A pause up to this long is believed.
  private static let longestPause: Int64 = 10_000_000
  /// How far apart streams of one clock are interleaved.
  private static let interleaving: Int64 = 5_000_000
  /// Packets may be this much early, by rounding.
  private static let slack: Int64 = 100_000

  private var streams: [Stream]
  private var shared: Int64 = 0
  /// How many times the clock jumped.
  private(set) var jumps = 0

  init(streams count: Int) { streams = Array(repeating: Stream(), count: count) }

  /// What to add to the timestamps of a packet.
  ///
  /// - Parameters:
  ///   - dts: the packet's decoding time, as the source has it.
  ///   - duration: the packet's, 0 where it is unknown.
  mutating func offset(stream: Int, dts: Int64, duration: Int64) -> Int64 {
    guard streams.indices.contains(stream) else { return shared }
    if let expected = streams[stream].expected {
      let old = streams[stream].offset
      if !Self.fits(dts &+ old, expected) {
        if let offset = offsetOfCompany(stream, dts, expected) {
          streams[stream].offset = offset
        } else {
          if !Self.fits(dts &+ shared, expected) {
            shared = expected &- dts
            jumps += 1
          }
          streams[stream].offset = shared
        }
      }
    } else {
      streams[stream].offset = shared
    }
    let offset = streams[stream].offset
    streams[stream].source = dts
    streams[stream].expected = dts &+ offset &+ max(duration, 0)
    return offset
  }

  /// The offset of a stream that has come to the same time: then it is no jump of the clock, but a
  /// long pause of this stream alone.
  private func offsetOfCompany(_ stream: Int, _ dts: Int64, _ expected: Int64) -> Int64? {
    guard dts &+ streams[stream].offset > expected else { return nil }
    return streams.first { other in
      guard let source = other.source else { return false }
      return other.offset == streams[stream].offset
        && (source &- dts).magnitude < UInt64(Self.interleaving)
    }?.offset
  }

  private static func fits(_ time: Int64, _ expected: Int64) -> Bool {
    let delta = time &- expected
    return delta > -slack && delta < longestPause
  }
}
