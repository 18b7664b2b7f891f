// What is known about a part: which resource it belongs to, and which of its bytes are there. A
// record never claims a byte that the part lacks. Pure; `PartialFile` does the writing.

package import FetchCore
import FoundationEssentials

/// The record beside a part, `.KEY.part.json`.
///
/// One JSON object on one line. Its last member, `checksum`, is the SHA-256 of all bytes before the
/// comma that precedes it; whatever follows the line's end is left over from a longer record and
/// means nothing, so that a record can be rewritten in place.
package struct ResumeRecord: Sendable, Hashable {
  /// Which output a part was being made into, noted before the output gets its name.
  ///
  /// Should the process die between that and the part's removal, the next run knows the work to be
  /// done.
  package struct Publication: Sendable, Hashable, Codable {
    /// The name that the output was about to get, in the part's folder.
    package var name: String
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    /// Modification time in nanoseconds.
    package var modified: Int64

    package init(name: String, _ status: FileStatus) {
      self.name = name
      device = status.device
      inode = status.inode
      size = status.size
      modified = status.modified
    }
  }

  package static let currentVersion = 1

  /// SHA-256 of the normalised URL, in full.
  package var resource: String
  /// Identifies the system's start in which `ranges` was written.
  package var bootID: String
  /// Who had the part when this was written; absent from records of version 0.1.
  package var holder: HostIdentity?
  package var strongETag: String?
  package var weakETag: String?
  package var lastModified: String?
  /// The Date of the response that `lastModified` came with.
  package var date: String?
  /// The resource's size, where the server told it.
  package var total: Int64?
  /// The file name that the server proposed, as it came.
  package var proposedName: String?
  /// Present now; the page cache may still hold some of it.
  package var ranges = ByteRangeSet()
  /// Present on the disk.
  package var synced = ByteRangeSet()
  package var publication: Publication?

  package init(resource: String, bootID: String) {
    self.resource = resource
    self.bootID = bootID
  }

  /// Whether a later run can prove that the part is still good.
  package var hasValidator: Bool { strongETag != nil || lastModified != nil }

  /// The record of a part whose bytes no other run may use.
  package var withoutClaims: ResumeRecord {
    var record = self
    record.ranges = ByteRangeSet()
    record.synced = ByteRangeSet()
    return record
  }

  /// What can be trusted in the given boot: everything after kill -9, what was synced after a
  /// power failure.
  package func trustedRanges(bootID current: String) -> ByteRangeSet {
    current == bootID && !current.isEmpty ? ranges : synced
  }
}

// MARK: - File content

extension ResumeRecord {
  private static let checksumMember = Array(#","checksum":""#.utf8)
  private static let closing = Array(#""}"#.utf8)

  /// What the decoder reads.
  ///
  /// Written by hand below, since a record is written for each mebibyte.
  private struct Wire: Codable {
    var v: Int
    var resource: String
    var boot: String
    var holder: HostIdentity?
    var etag: String?
    var weak_etag: String?
    var last_modified: String?
    var date: String?
    var total: Int64?
    var name: String?
    var publication: Publication?
    var ranges: [[Int64]]
    var synced: [[Int64]]
  }

  /// The record's file content, line break included.
  package func encoded() -> [UInt8] {
    var line = LineWriter()
    line.begin(version: ResumeRecord.currentVersion)
    line.member("resource", resource)
    line.member("boot", bootID)
    if let holder {
      line.raw(#","holder":{"machine":"\#(holder.machine)","boot":"\#(holder.boot)"}"#)
    }
    line.member("etag", strongETag)
    line.member("weak_etag", weakETag)
    line.member("last_modified", lastModified)
    line.member("date", date)
    line.member("total", total)
    line.member("name", proposedName)
    if let publication {
      line.raw(#","publication":{"device":\#(publication.device),"inode":\#(publication.inode)"#)
      line.member("name", publication.name)
      line.raw(#","size":\#(publication.size),"modified":\#(publication.modified)}"#)
    }
    line.member("ranges", ranges)
    line.member("synced", synced)
    let checksum = SHA256.hexDigest(of: line.bytes)
    return line.bytes + Self.checksumMember + Array(checksum.utf8) + Self.closing + [0x0A]
  }

  /// Reads a record; nil where it is damaged, of another version or of another resource.
  package init?(decoding content: [UInt8], resource: String) {
    guard let lineEnd = content.firstIndex(of: 0x0A) else { return nil }
    let tail = Self.checksumMember.count + 64 + Self.closing.count
    guard lineEnd > tail else { return nil }
    let body = Array(content[..<(lineEnd - tail)])
    let checksum = Array(SHA256.hexDigest(of: body).utf8)
    guard
      Array(content[(lineEnd - tail)..<lineEnd]) == Self.checksumMember + checksum + Self.closing,
      let wire = try? JSONDecoder().decode(Wire.self, from: Data(body + [0x7D])),
      wire.v == Self.currentVersion, wire.resource == resource,
      let ranges = Self.rangeSet(wire.ranges), let synced = Self.rangeSet(wire.synced)
    else { return nil }
    self.init(resource: wire.resource, bootID: wire.boot)
    holder = wire.holder
    strongETag = wire.etag
    weakETag = wire.weak_etag
    lastModified = wire.last_modified
    date = wire.date
    total = wire.total
    proposedName = wire.name
    publication = wire.publication
    self.ranges = ranges
    self.synced = synced
  }

  private static func rangeSet(_ pairs: [[Int64]]) -> ByteRangeSet? {
    var set = ByteRangeSet()
    for pair in pairs {
      guard pair.count == 2, let range = ByteRange(pair[0], pair[1]) else { return nil }
      set.insert(range)
    }
    return set
  }
}

/// Writes the members of one flat JSON object.
private struct LineWriter {
  private(set) var bytes: [UInt8] = []

  mutating func begin(version: Int) {
    bytes.reserveCapacity(512)
    raw(#"{"v":\#(version)"#)
  }

  mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func member(_ name: String, _ value: Int64?) {
    guard let value else { return }
    raw(#","\#(name)":\#(value)"#)
  }

  mutating func member(_ name: String, _ value: String?) {
    guard let value else { return }
    raw(#","\#(name)":""#)
    for byte in value.utf8 {
      switch byte {
      case 0x22, 0x5C:
        bytes.append(0x5C)
        bytes.append(byte)
      case 0..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        raw("\\u00")
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(0x22)
  }

  mutating func member(_ name: String, _ value: ByteRangeSet) {
    raw(#","\#(name)":["#)
    for (index, range) in value.ranges.enumerated() {
      if index > 0 { bytes.append(0x2C) }
      raw("[\(range.lowerBound),\(range.upperBound)]")
    }
    bytes.append(0x5D)
  }
}
