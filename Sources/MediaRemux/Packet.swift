// One AVPacket, reused for every packet of a remux: moving millions of packets allocates nothing on
// Swift's side. Lives on the remux thread.

import CFFmpeg
import FetchCore

/// The owner of one AVPacket.
final class Packet {
  let pointer: UnsafeMutablePointer<AVPacket>

  init() throws(FetchError) {
    guard let pointer = av_packet_alloc() else {
      throw AVError(code: cff_error_no_memory).fetchError(.opening, evidence: nil)
    }
    self.pointer = pointer
  }

  deinit {
    var owned: UnsafeMutablePointer<AVPacket>? = pointer
    av_packet_free(&owned)
  }

  /// Lets the payload go.
  ///
  /// Wraps `av_packet_unref`.
  @inline(__always)
  func clear() { av_packet_unref(pointer) }

  @inline(__always)
  var stream: Int { Int(pointer.pointee.stream_index) }
  @inline(__always)
  var size: Int32 { pointer.pointee.size }
  /// The bytes; valid until the packet is cleared or written.
  @inline(__always)
  var payload: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: pointer.pointee.data, count: Int(max(pointer.pointee.size, 0)))
  }
  @inline(__always)
  var flags: Int32 { pointer.pointee.flags }
  @inline(__always)
  var duration: Int64 { pointer.pointee.duration }

  /// Presentation time in the stream's time base; nil where the source has none.
  @inline(__always)
  var pts: Int64? { optional(pointer.pointee.pts) }
  /// Decoding time in the stream's time base; nil where the source has none.
  @inline(__always)
  var dts: Int64? { optional(pointer.pointee.dts) }
  /// Where the packet begins in the source; nil where the demuxer doesn't know.
  @inline(__always)
  var position: Int64? { pointer.pointee.pos >= 0 ? pointer.pointee.pos : nil }

  @inline(__always)
  private func optional(_ timestamp: Int64) -> Int64? {
    timestamp == cff_no_timestamp ? nil : timestamp
  }

  /// Whether stamps and duration are small enough to reckon with; see `MediaTime`.
  @inline(__always)
  var hasSaneTimes: Bool {
    let packet = pointer.pointee
    return (packet.pts == cff_no_timestamp || MediaTime.isSane(packet.pts))
      && (packet.dts == cff_no_timestamp || MediaTime.isSane(packet.dts))
      && MediaTime.isSane(packet.duration)
  }

  /// How many samples are to be hidden from the packet's start on, where the demuxer says so.
  ///
  /// `AV_PKT_DATA_SKIP_SAMPLES` begins with that count, 32 bits, little-endian.
  var skippedAtStart: Int64? {
    var size = 0
    guard
      let data = av_packet_get_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, &size), size >= 4,
      cff_le32(data) > 0
    else { return nil }
    return Int64(cff_le32(data))
  }
}
