// Which addresses a public resource may lead to. Pure, on the numeric address that a connection was
// made to, so that no spelling of a name or number can get around it.

import Glibc

/// What an IP address is for (IANA's special-purpose registries, RFC 6890).
package enum AddressClass: String, Sendable, Hashable, CaseIterable {
  case global
  case loopback
  /// RFC 1918, and IPv6 site-local.
  case privateUse = "private"
  case linkLocal = "link-local"
  /// RFC 4193.
  case uniqueLocal = "unique-local"
  /// RFC 6598.
  case carrierNAT = "carrier NAT"
  case multicast
  case unspecified
  /// Documentation, benchmarks, future use, and all that isn't assigned.
  case reserved

  /// Whether anybody may be sent there.
  package var isPublic: Bool { self == .global }

  /// Classifies a numeric address, IPv6 without brackets, a zone allowed; nil where it is none.
  package init?(_ text: String) {
    let bare =
      text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
    var v4 = in_addr()
    var v6 = in6_addr()
    if inet_pton(AF_INET, String(bare), &v4) == 1 {
      self = Self.classify(v4: UInt32(bigEndian: v4.s_addr))
    } else if inet_pton(AF_INET6, String(bare), &v6) == 1 {
      self = Self.classify(v6: withUnsafeBytes(of: v6) { Array($0) })
    } else {
      return nil
    }
  }

  private static func classify(v4 address: UInt32) -> AddressClass {
    func isIn(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ bits: UInt32) -> Bool {
      let network = a << 24 | b << 16 | c << 8 | d
      return (address ^ network) >> (32 - bits) == 0
    }
    if isIn(0, 0, 0, 0, 8) { return .unspecified }
    if isIn(127, 0, 0, 0, 8) { return .loopback }
    if isIn(10, 0, 0, 0, 8) || isIn(172, 16, 0, 0, 12) || isIn(192, 168, 0, 0, 16) {
      return .privateUse
    }
    if isIn(100, 64, 0, 0, 10) { return .carrierNAT }
    if isIn(169, 254, 0, 0, 16) { return .linkLocal }
    if isIn(224, 0, 0, 0, 4) { return .multicast }
    if isIn(192, 0, 0, 0, 24) || isIn(192, 0, 2, 0, 24) || isIn(198, 18, 0, 0, 15)
      || isIn(198, 51, 100, 0, 24) || isIn(203, 0, 113, 0, 24) || isIn(192, 88, 99, 0, 24)
      || isIn(240, 0, 0, 0, 4)
    {
      return .reserved
    }
    return .global
  }

  private static func classify(v6 bytes: [UInt8]) -> AddressClass {
    let groups = (0..<8).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
    func embedded(at group: Int) -> AddressClass {
      classify(v4: UInt32(groups[group]) << 16 | UInt32(groups[group + 1]))
    }
    if groups.allSatisfy({ $0 == 0 }) { return .unspecified }
    if groups[..<7].allSatisfy({ $0 == 0 }), groups[7] == 1 { return .loopback }
    // Addresses that carry an IPv4 address are what that is: compatible, mapped and translated
    // (RFC 4291 2.5.5, RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056).
    if groups[..<6].allSatisfy({ $0 == 0 }) { return embedded(at: 6) }
    if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF { return embedded(at: 6) }
    if groups[..<4].allSatisfy({ $0 == 0 }), groups[4] == 0xFFFF, groups[5] == 0 {
      return embedded(at: 6)
    }
    if groups[0] == 0x64, groups[1] == 0xFF9B {
      if groups[2..<6].allSatisfy({ $0 == 0 }) { return embedded(at: 6) }
      // The local-use prefix (RFC 8215) is somebody's own network by definition.
      return .privateUse
    }
    if groups[0] == 0x2002 { return embedded(at: 1) }
    if groups[0] == 0x2001, groups[1] == 0 {
      // Teredo (RFC 4380): the client's address is stored with all bits flipped.
      let client = classify(v4: ~(UInt32(groups[6]) << 16 | UInt32(groups[7])))
      return client.isPublic ? embedded(at: 2) : client
    }
    if groups[0] >> 6 == 0xFE80 >> 6 { return .linkLocal }
    if groups[0] >> 6 == 0xFEC0 >> 6 { return .privateUse }
    if groups[0] >> 9 == 0xFC00 >> 9 { return .uniqueLocal }
    if groups[0] >> 8 == 0xFF { return .multicast }
    guard groups[0] >> 13 == 1 else { return .reserved }
    // 2001::/23 is for protocols, 2001:db8::/32 and 3fff::/20 for documentation.
    if groups[0] == 0x2001, groups[1] < 0x200 || groups[1] == 0xDB8 { return .reserved }
    if groups[0] == 0x3FFF, groups[1] < 0x1000 { return .reserved }
    return .global
  }
}

/// Which addresses a job may connect to.
struct AddressPolicy: Sendable {
  /// Whether the job began at a public address; nil before its first connection.
  private(set) var startedPublic: Bool?
  let allowPrivate: Bool

  init(startedPublic: Bool?, allowPrivate: Bool) {
    self.startedPublic = startedPublic
    self.allowPrivate = allowPrivate
  }

  /// Whether a connection to `address` may be made, or used; changes nothing.
  func permits(_ address: AddressClass) -> Bool {
    allowPrivate || address.isPublic || startedPublic != true
  }

  /// Notes an address that is being used; the first one settles where the job began.
  mutating func note(_ address: AddressClass) {
    if startedPublic == nil { startedPublic = address.isPublic }
  }
}
