// Whether what a decoder is set up with stays the same to the end: an ISO file says it once, at its
// beginning. Pure; looks at the first bytes of each packet, and trusts none of them.

/// The parameters of one stream, watched packet by packet.
enum ParameterWatch: Hashable {
  case adts(ADTSConfiguration?)
  case sets(ParameterSets)

  /// What a packet says of what was known.
  enum Finding: Hashable {
    case same
    /// Pictures from here on are decoded by other parameter sets, which stand among them.
    case newSets
    /// Sound from here on has another profile, rate or number of channels.
    case newConfiguration
  }

  /// nil for streams whose parameters are no part of their packets.
  init?(codec: String, form: PayloadForm) {
    switch (codec, form) {
    case ("aac", .adts): self = .adts(nil)
    case ("h264", .startCodes), ("h264", .lengths), ("hevc", .startCodes), ("hevc", .lengths):
      self = .sets(ParameterSets(isHEVC: codec == "hevc", form: form))
    default: return nil
    }
  }

  mutating func take(_ payload: UnsafeRawBufferPointer) -> Finding {
    switch self {
    case .adts(let known):
      guard let configuration = ADTSConfiguration(payload) else { return .same }
      self = .adts(configuration)
      return known == nil || known == configuration ? .same : .newConfiguration
    case .sets(var sets):
      self = .adts(nil)
      defer { self = .sets(sets) }
      return sets.take(payload) ? .newSets : .same
    }
  }
}

/// What an ADTS header says of every frame behind it (ISO 14496-3 1.A.2.2.1).
struct ADTSConfiguration: Hashable {
  private let profileAndRate: UInt8
  private let channels: UInt8

  /// nil where the bytes are no ADTS header.
  init?(_ frame: UnsafeRawBufferPointer) {
    guard frame.count >= 7, frame[0] == 0xFF, frame[1] & 0xF6 == 0xF0 else { return nil }
    profileAndRate = frame[2] & 0xFC
    channels = (frame[2] & 1) << 2 | frame[3] >> 6
  }
}

/// The parameter sets that a stream's pictures have been given so far, by kind and number.
struct ParameterSets: Hashable {
  private struct Name: Hashable {
    var kind: UInt8
    var number: UInt32
  }

  /// Sets are a few dozen bytes; a number above this is none that a decoder takes.
  private static let mostSets = 512
  private static let longestHead = 256

  private let isHEVC: Bool
  private let form: PayloadForm
  private var known: [Name: [UInt8]] = [:]

  init(isHEVC: Bool, form: PayloadForm) {
    self.isHEVC = isHEVC
    self.form = form
  }

  /// Takes note of the sets before a packet's first slice.
  ///
  /// - Returns: whether one of them takes the place of another.
  mutating func take(_ payload: UnsafeRawBufferPointer) -> Bool {
    switch form {
    case .startCodes: takeBehindStartCodes(payload)
    case .lengths(let size): takeBehindLengths(payload, size)
    default: false
    }
  }

  private mutating func takeBehindStartCodes(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var isNew = false
    var begin: Int?
    var at = 0
    while at + 3 < bytes.count {
      guard bytes[at] == 0, bytes[at + 1] == 0, bytes[at + 2] == 1 else {
        at += 1
        continue
      }
      if let begin, note(bytes[begin..<at]) { isNew = true }
      begin = nil
      at += 3
      switch kind(bytes[at]) {
      case .slice: return isNew
      case .set: begin = at
      case .other: break
      }
    }
    if let begin, note(bytes[begin...]) { isNew = true }
    return isNew
  }

  private mutating func takeBehindLengths(_ bytes: UnsafeRawBufferPointer, _ size: Int) -> Bool {
    var isNew = false
    var at = 0
    while size > 0, at + size < bytes.count {
      var length = 0
      for offset in 0..<size { length = length << 8 | Int(bytes[at + offset]) }
      at += size
      guard length > 0, length <= bytes.count - at else { return isNew }
      switch kind(bytes[at]) {
      case .slice: return isNew
      case .set: if note(bytes[at..<(at + length)]) { isNew = true }
      case .other: break
      }
      at += length
    }
    return isNew
  }

  private enum Kind { case slice, set, other }

  /// ITU-T H.264 Table 7-1, H.265 Table 7-1.
  private func kind(_ header: UInt8) -> Kind {
    if isHEVC {
      let type = header >> 1 & 0x3F
      return type < 32 ? .slice : (32...34).contains(type) ? .set : .other
    }
    let type = header & 0x1F
    return (1...5).contains(type) ? .slice : type == 7 || type == 8 ? .set : .other
  }

  private mutating func note(_ unit: Slice<UnsafeRawBufferPointer>) -> Bool {
    var unit = unit
    // Zero bytes behind a unit belong to the byte stream.
    while unit.last == 0 { unit = unit.dropLast() }
    guard let first = unit.first, let number = number(of: unit) else { return false }
    let name = Name(kind: isHEVC ? first >> 1 & 0x3F : first & 0x1F, number: number)
    let before = known[name]
    if let before, before.elementsEqual(unit) { return false }
    guard before != nil || known.count < Self.mostSets else { return false }
    known[name] = Array(unit)
    return before != nil
  }

  /// The number that slices call a set by (H.264 7.3.2.1, 7.3.2.2; H.265 7.3.2.1 to 7.3.2.3).
  private func number(of unit: Slice<UnsafeRawBufferPointer>) -> UInt32? {
    var bits = Bits(unit.prefix(Self.longestHead))
    guard isHEVC else {
      guard let type = bits.read(8) else { return nil }
      if type & 0x1F == 7 { _ = bits.skip(24) }
      return bits.unsignedCode()
    }
    guard let type = bits.read(16) else { return nil }
    switch type >> 9 & 0x3F {
    case 32: return bits.read(4)
    case 33:
      guard bits.skip(4), let sublayers = bits.read(3), bits.skip(1), bits.skip(96) else {
        return nil
      }
      guard sublayers > 0 else { return bits.unsignedCode() }
      var present = 0
      for layer in 0..<8 {
        guard let flags = bits.read(2) else { return nil }
        guard layer < sublayers else { continue }
        present += (flags & 2 != 0 ? 88 : 0) + (flags & 1 != 0 ? 8 : 0)
      }
      return bits.skip(present) ? bits.unsignedCode() : nil
    default: return bits.unsignedCode()
    }
  }
}

/// The bits of a NAL unit's head, without the bytes that only prevent start codes (H.264 7.4.1.1).
private struct Bits {
  private var bytes: [UInt8] = []
  private var at = 0

  init(_ unit: Slice<UnsafeRawBufferPointer>) {
    bytes.reserveCapacity(unit.count)
    var zeros = 0
    for byte in unit {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      bytes.append(byte)
    }
  }

  mutating func skip(_ count: Int) -> Bool {
    guard count <= bytes.count * 8 - at else { return false }
    at += count
    return true
  }

  /// At most 32 bits.
  mutating func read(_ count: Int) -> UInt32? {
    guard count <= bytes.count * 8 - at else { return nil }
    var value: UInt32 = 0
    for _ in 0..<count {
      value = value << 1 | UInt32(bytes[at / 8] >> (7 - UInt8(at % 8)) & 1)
      at += 1
    }
    return value
  }

  /// An Exp-Golomb code (H.264 9.1) of at most 32 bits.
  mutating func unsignedCode() -> UInt32? {
    var zeros = 0
    while let bit = read(1) {
      if bit == 1 { return read(zeros).map { (UInt32(1) << UInt32(zeros)) - 1 + $0 } }
      zeros += 1
      guard zeros < 16 else { return nil }
    }
    return nil
  }
}
