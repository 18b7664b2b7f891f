// Packets that are shown far ahead of their decoding. A picture may stand for half an hour, so that the
// one decoded next is far ahead; a mad stamp looks the same, until the packet behind it is seen. Runs on
// the remux thread.

import CFFmpeg
import FetchCore

extension PacketPipeline {
  /// Writes a packet; or holds it, and what follows it, until it is known whether it can be shown as
  /// far ahead as it says.
  @inline(__always)
  static func writeInTurn(
    _ packet: Packet, on track: inout Track, muxer: Muxer, log: AVLog
  ) throws(FetchError) {
    if track.held.isEmpty {
      let (pts, dts) = (try stamp(packet.pts, track), try stamp(packet.dts, track))
      guard track.repair.isFarAhead(pts: pts, dts: dts) else {
        return try write(packet, on: &track, muxer: muxer, log: log)
      }
    }
    let held = try Packet()
    av_packet_move_ref(held.pointer, packet.pointer)
    track.held.append(held)
    // Pictures from before a pause may stand between the one that is shown behind it and its neighbours.
    if try isJoined(0, in: track) || track.held.count > Int(track.repair.reordering) + 2 {
      try writeHeld(on: &track, muxer: muxer, log: log)
    }
  }

  /// Writes all packets that were held.
  static func writeHeld(
    on track: inout Track, muxer: Muxer, log: AVLog
  ) throws(FetchError) {
    var joined: [Bool] = []
    for at in track.held.indices { joined.append(try isJoined(at, in: track)) }
    let held = track.held
    track.held = []
    for (packet, isJoined) in zip(held, joined) {
      try write(packet, on: &track, isJoined: isJoined, muxer: muxer, log: log)
    }
  }

  /// Whether another of the held packets is shown near one of them.
  private static func isJoined(_ at: Int, in track: Track) throws(FetchError) -> Bool {
    guard let pts = try stamp(track.held[at].pts, track) else { return false }
    for other in track.held.indices where other != at {
      if let near = try stamp(track.held[other].pts, track), track.repair.areNear(pts, near) {
        return true
      }
    }
    return false
  }
}
