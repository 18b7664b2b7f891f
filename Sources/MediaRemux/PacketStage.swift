// What stands between demuxer and muxer where a stream's packets are not simply copied. Lives on the
// remux thread.

import CFFmpeg
import FetchCore

/// A stream's packets on their way to others: as many, fewer or more, a bounded number of them later.
protocol PacketStage: AnyObject {
  /// The clock of the packets that come out.
  var timeBase: AVRational { get }

  /// Puts what the stream becomes into the description that was copied from its source.
  func describe(in parameters: UnsafeMutablePointer<AVCodecParameters>) throws(FetchError)

  /// Takes a packet of the source, which may be empty afterwards.
  ///
  /// - Parameter shift: the film's beginning in the source's time base: taken off every stamp.
  func take(_ packet: Packet, shift: Int64) throws(FetchError)

  /// No more packets come.
  func finish() throws(FetchError)

  /// Puts the next packet into `packet`, which must be clear.
  ///
  /// - Returns: false where there is none yet.
  func next(into packet: Packet) throws(FetchError) -> Bool

  /// What was lost or changed, for people.
  func warnings(stream: Int) -> [FetchWarning]
}
