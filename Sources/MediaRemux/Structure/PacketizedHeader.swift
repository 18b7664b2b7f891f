// The header of a packet of an elementary stream (ISO/IEC 13818-1, 2.4.3.6), as far as it says whether
// time stamps stand in it. Pure.

/// The header of a PES packet at the beginning of a transport packet's payload.
struct PacketizedHeader: Hashable {
  /// `PTS_DTS_flags`: 2 announces a pts, 3 a dts as well.
  var stampFlags: UInt8
  /// `PES_header_data_length`: how many bytes of fields follow.
  var fieldLength: UInt8

  /// How many bytes of a source show the header of a PES packet: a transport packet with the four
  /// bytes that M2TS puts before it.
  static let reach = 192

  /// Reads the header behind `bytes`' first byte, where a transport packet begins.
  ///
  /// - Returns: nil where no PES packet with such a header begins there.
  init?(transportPacket bytes: [UInt8]) {
    guard let sync = [0, 4].first(where: { $0 < bytes.count && bytes[$0] == 0x47 }) else {
      return nil
    }
    let packet = bytes[sync...].prefix(188)
    guard packet.count > 5, packet[sync + 1] & 0x40 != 0 else { return nil }
    var payload = sync + 4
    switch packet[sync + 3] >> 4 & 3 {
    case 1: break
    case 3: payload += 1 + Int(packet[payload])
    default: return nil
    }
    guard payload + 9 <= packet.endIndex, packet[payload...].starts(with: [0, 0, 1]),
      packet[payload + 6] >> 6 == 2
    else { return nil }
    stampFlags = packet[payload + 7] >> 6
    fieldLength = packet[payload + 8]
  }

  /// Whether it announces stamps that it has no room for.
  var lacksItsStamps: Bool {
    switch stampFlags {
    case 2: fieldLength < 5
    case 3: fieldLength < 10
    default: false
    }
  }
}
