// The fragments of an ISO source, walked box by box: how many samples they announce for each track,
// and which boxes at the top nobody carries. Reads headers only; the source must be whole.

import FetchCore

/// What stands at the top level of a whole ISO source.
struct FragmentWalk: Hashable {
  /// Samples that `trun` boxes announce, by track id.
  private(set) var samples: [Int: Int64] = [:]
  /// Types of boxes at the top that mean something to somebody, and that an export leaves behind.
  private(set) var foreignBoxes: Set<String> = []

  private static let knownBoxes: Set<String> = [
    "ftyp", "moov", "mdat", "free", "skip", "wide", "moof", "mfra", "sidx", "ssix", "styp", "prft",
    "emsg", "pdin", "pnot", "uuid", "meta", "udta", "idat", "imda", "afra", "abst", "asrt",
  ]
  private static let largestFragmentHeader = 16 << 20

  init(_ source: SourceBytes, size: Int64) throws(FetchError) {
    var at: Int64 = 0
    while at <= size - 8 {
      let header = try source.read(at: at, count: 16)
      guard header.count >= 8 else { return }
      let short = header.integer(0, 4)
      var length = Int64(clamping: short == 1 ? header.integer(8, 8) : short)
      if length == 0 { length = size - at }
      guard length >= 8, length <= size - at else { return }
      let type = header.fourCharacters(4)
      if type == "moof", length <= Self.largestFragmentHeader {
        count(try source.read(at: at, count: Int(length)))
      } else if !Self.knownBoxes.contains(type) {
        foreignBoxes.insert(type)
      }
      at += length
    }
  }

  /// Adds up the runs of a whole `moof` (ISO 14496-12 8.8.7 and 8.8.8).
  private mutating func count(_ moof: [UInt8]) {
    guard let whole = moof.boxes(in: 0..<moof.count).first else { return }
    for traf in moof.boxes(in: whole.payload) where traf.type == "traf" {
      let inner = moof.boxes(in: traf.payload)
      guard let head = inner.first(where: { $0.type == "tfhd" }) else { continue }
      let track = Int(moof.integer(head.payload.lowerBound + 4, 4))
      for run in inner where run.type == "trun" {
        samples[track, default: 0] += Int64(moof.integer(run.payload.lowerBound + 4, 4))
      }
    }
  }
}
