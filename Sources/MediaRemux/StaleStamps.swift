// Stamps that libavformat gives for packets of a transport stream, and that do not stand in them. Runs
// on the remux thread.

import CFFmpeg
import FetchCore

extension PacketPipeline {
  /// Takes away stamps that do not stand in the source.
  ///
  /// libavformat 59 believes the flags of a PES header without a look at its length: where there is no
  /// room for stamps, it takes what an earlier header left in its buffer, or zero. Such stamps do not
  /// rise, or are a stream's first.
  @inline(__always)
  static func forgetStaleStamps(
    of packet: Packet, on track: inout Track, _ headers: SourceReader
  ) throws(FetchError) {
    guard let dts = packet.dts else { return }
    let last = track.lastSourceDTS
    track.lastSourceDTS = dts
    guard dts <= last ?? .max, let position = packet.position,
      PacketizedHeader(
        transportPacket: try headers.read(at: position, count: PacketizedHeader.reach))?
        .lacksItsStamps == true
    else { return }
    track.lastSourceDTS = last
    packet.pointer.pointee.pts = cff_no_timestamp
    packet.pointer.pointee.dts = cff_no_timestamp
  }
}
