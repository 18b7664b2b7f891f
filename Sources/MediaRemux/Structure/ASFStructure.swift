// ASF, the container of WMV and WMA (Advanced Systems Format Specification 01.20.03): the sizes of
// its top-level objects and what File Properties says.

import FetchCore

/// Identifiers of ASF objects, as the 16 bytes stand in the file.
enum ASFObject {
  static let header: [UInt8] = [
    0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C,
  ]
  static let data: [UInt8] = [
    0x36, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C,
  ]
  static let fileProperties: [UInt8] = [
    0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11, 0x8E, 0xE4, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65,
  ]
  static let contentEncryption: [UInt8] = [
    0xFB, 0xB3, 0x11, 0x22, 0x23, 0xBD, 0xD2, 0x11, 0xB4, 0xB7, 0x00, 0xA0, 0xC9, 0x55, 0xFC, 0x6E,
  ]
  static let extendedContentEncryption: [UInt8] = [
    0x14, 0xE6, 0x8A, 0x29, 0x22, 0x26, 0x17, 0x4C, 0xB9, 0x35, 0xDA, 0xE0, 0x7E, 0xE9, 0x28, 0x9C,
  ]

  /// The objects inside the Header object, at most 4096: identifier, offset, end.
  static func insideHeader(
    _ window: SourceWindow
  ) throws(FetchError) -> [(id: [UInt8], offset: Int64, end: Int64)] {
    guard let length = try window.little(at: 16, width: 8) else { return [] }
    let end = min(Int64(clamping: length), window.limit)
    var found: [(id: [UInt8], offset: Int64, end: Int64)] = []
    var position: Int64 = 30
    while position < end, found.count < 4096,
      let id = try window.bytes(at: position, count: 16),
      let size = try window.little(at: position + 16, width: 8), size >= 24
    {
      let next = position.clampedSum(size)
      found.append((id, position, next))
      position = next
    }
    return found
  }
}

/// Examines ASF files.
enum ASFStructure {
  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    let window = SourceWindow(reader, limit: size, blockSize: 4096)
    guard let headerLength = try window.little(at: 16, width: 8), headerLength >= 30 else {
      return .cut("the header", needs: 30, has: size)
    }
    let headerEnd = Int64(clamping: headerLength)
    guard headerEnd <= size else { return .cut("the header", needs: headerEnd, has: size) }
    var isBroadcast = false
    var declaredSize: Int64 = 0
    var packetSize: Int64 = 0
    let objects = try ASFObject.insideHeader(window)
    if let properties = objects.first(where: { $0.id == ASFObject.fileProperties }) {
      declaredSize = Int64(clamping: try window.little(at: properties.offset + 40, width: 8) ?? 0)
      isBroadcast = try (window.little(at: properties.offset + 88, width: 4) ?? 0) & 1 != 0
      packetSize = Int64(try window.little(at: properties.offset + 92, width: 4) ?? 0)
    }
    guard try window.bytes(at: headerEnd, count: 16) == ASFObject.data,
      let dataLength = try window.little(at: headerEnd + 16, width: 8),
      try window.byte(at: headerEnd + 49) != nil
    else { return .cut("the Data object", needs: 50, has: size - headerEnd) }

    if dataLength < 50 {
      // A live capture: packets of one size up to the end.
      let rest = size - headerEnd - 50
      if packetSize > 0, rest % packetSize != 0 {
        return .cut("the last packet", needs: packetSize, has: rest % packetSize)
      }
      return .noEndOfItsOwn
    }
    var position = headerEnd.clampedSum(dataLength)
    if position > size {
      return .cut("the Data object", needs: Int64(clamping: dataLength), has: size - headerEnd)
    }
    while size - position >= 24, let length = try window.little(at: position + 16, width: 8),
      length >= 24
    {
      let next = position.clampedSum(length)
      if next > size {
        return .cut("an index object", needs: Int64(clamping: length), has: size - position)
      }
      position = next
    }
    if !isBroadcast, declaredSize > size { return .cut("the file", needs: declaredSize, has: size) }
    return isBroadcast ? .noEndOfItsOwn : .proven
  }
}
