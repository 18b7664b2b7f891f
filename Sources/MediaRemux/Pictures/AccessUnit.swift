// The NAL units of one H.264 picture, as far as they tell whether the picture order begins anew. Pure.

/// The bytes of one access unit (ITU-T H.264 7.4.1.2).
struct AccessUnit {
  private let bytes: UnsafeRawBufferPointer
  private let lengthSize: Int

  /// - Parameter lengthSize: bytes of each unit's length (ISO 14496-15 5.3.3); 0 for start codes.
  init(_ bytes: UnsafeRawBufferPointer, lengthSize: Int) {
    self.bytes = bytes
    self.lengthSize = lengthSize
  }

  /// Whether its first slice belongs to an IDR picture.
  var isIDR: Bool {
    lengthSize == 0 ? firstSliceAfterStartCodes == 5 : firstSliceAfterLengths == 5
  }

  private var firstSliceAfterStartCodes: UInt8? {
    var at = 0
    while at + 3 < bytes.count {
      guard bytes[at] == 0, bytes[at + 1] == 0, bytes[at + 2] == 1 else {
        at += 1
        continue
      }
      if let kind = Self.slice(bytes[at + 3]) { return kind }
      at += 4
    }
    return nil
  }

  private var firstSliceAfterLengths: UInt8? {
    var at = 0
    while at + lengthSize < bytes.count {
      var length = 0
      for offset in 0..<lengthSize { length = length << 8 | Int(bytes[at + offset]) }
      at += lengthSize
      if let kind = Self.slice(bytes[at]) { return kind }
      guard length > 0, length <= bytes.count - at else { return nil }
      at += length
    }
    return nil
  }

  /// 1 to 5 are slices, 5 those of an IDR picture (Table 7-1).
  private static func slice(_ header: UInt8) -> UInt8? {
    let kind = header & 0x1F
    return (1...5).contains(kind) ? kind : nil
  }
}
