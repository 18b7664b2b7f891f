// The parameter sets of an HEVC stream that keeps them among its pictures only, put into the
// configuration where players look first (ISO 14496-15 8.3.3.1). Pure.

enum HEVCParameterSets {
  private static let kinds: [UInt8] = [32, 33, 34]

  /// The VPS, SPS and PPS units of a length-prefixed sample, by NAL unit type; each once.
  static func find(in sample: UnsafeRawBufferPointer, lengthSize: Int) -> [UInt8: [[UInt8]]] {
    var found: [UInt8: [[UInt8]]] = [:]
    var at = 0
    while at + lengthSize < sample.count {
      var length = 0
      for index in 0..<lengthSize { length = length << 8 | Int(sample[at + index]) }
      at += lengthSize
      guard length >= 2, length <= sample.count - at else { break }
      let kind = sample[at] >> 1 & 0x3F
      if kinds.contains(kind), length <= Int(UInt16.max) {
        let unit = Array(sample[at..<(at + length)])
        if found[kind]?.contains(unit) != true { found[kind, default: []].append(unit) }
      }
      at += length
    }
    return found
  }

  /// A whole `hvcC` box with the sets of `units`, in place of one that has none.
  ///
  /// - Returns: nil where a kind is missing or the given configuration is no `hvcC` payload.
  static func configuration(from payload: [UInt8], units: [UInt8: [[UInt8]]]) -> [UInt8]? {
    guard payload.count >= 23, payload[0] == 1 else { return nil }
    var bytes = Array(payload[..<22])
    bytes.append(UInt8(kinds.count))
    for kind in kinds {
      guard let sets = units[kind], !sets.isEmpty else { return nil }
      // Completeness stays 0: the units are in the samples as well.
      bytes.append(kind)
      bytes.append(UInt16(truncatingIfNeeded: sets.count), bytes: 2)
      for set in sets {
        bytes.append(UInt16(truncatingIfNeeded: set.count), bytes: 2)
        bytes += set
      }
    }
    return .box("hvcC", bytes)
  }
}
