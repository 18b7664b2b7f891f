// The fragments of an ISO source, walked box by box: how many samples they announce for each track,
// and which boxes at the top nobody carries. Reads headers only; the source must be whole.

import FetchCore

/// What stands at the top level of a whole ISO source.
struct FragmentWalk: Hashable {
  /// Samples that `trun` boxes announce, by track id.
  private(set) var samples: [Int: Int64] = [:]
  /// Types of boxes at the top that mean something to somebody, and that an export leaves behind.
  ///
  /// The first ones; a file can hold as many types as it likes.
  private(set) var foreignBoxes: Set<BoxType> = []

  /// Boxes at the top that stay true wherever they stand, whole, in their order: what cameras and
  /// editors say of the film (XMP in `uuid`, XML in `meta`).
  private(set) var carriedBoxes: [[UInt8]] = []

  static let mostForeignBoxes = 64
  private static let mostCarriedBytes: Int64 = 16 << 20

  private static let knownBoxes: Set<BoxType> = [
    "ftyp", "moov", "mdat", "free", "skip", "wide", "moof", "mfra", "sidx", "ssix", "styp", "prft",
    "emsg", "pdin", "pnot", "idat", "imda", "afra", "abst", "asrt",
  ]
  private static let largestFragmentHeader: Int64 = 16 << 20

  /// - Parameter cancellation: looked at now and then.
  init(_ source: SourceReader, size: Int64, cancellation: CancellationFlag) throws(FetchError) {
    let window = SourceWindow(source, limit: size, blockSize: 4096)
    var position: Int64 = 0
    for step in 0..<StructureVerdict.longestWalk {
      if step & 0xFFF == 0, cancellation.isCancelled { throw .cancelled }
      guard let box = try window.box(at: position, parentEnd: size), box.end <= size else { return }
      if box.type == "moof", box.size <= Self.largestFragmentHeader {
        count(try window.bytes(at: position, count: Int(box.size)) ?? [])
      } else if let bytes = try carried(box, window) {
        carriedBoxes.append(bytes)
      } else if !Self.knownBoxes.contains(box.type), foreignBoxes.count < Self.mostForeignBoxes {
        foreignBoxes.insert(box.type)
      }
      position = box.end
    }
  }

  /// A whole box that can be copied to another file; nil where it can't.
  private func carried(_ box: BoxHeader, _ window: SourceWindow) throws(FetchError) -> [UInt8]? {
    guard box.type == "uuid" || box.type == "meta" || box.type == "udta", !box.runsToEnd,
      box.payload - box.offset == 8, carriedBoxes.count < Self.mostForeignBoxes
    else { return nil }
    let carried = carriedBoxes.reduce(0) { $0 + $1.count }
    guard box.size <= Self.mostCarriedBytes - Int64(carried),
      let bytes = try window.bytes(at: box.offset, count: Int(box.size))
    else { return nil }
    // Items with a location say where they stand in the old file.
    let hasLocations =
      box.type == "meta" && bytes.count > 12
      && bytes.boxes(in: 12..<bytes.count).contains { $0.type == "iloc" }
    return hasLocations ? nil : bytes
  }

  /// Adds up the runs of a whole `moof` (ISO 14496-12 8.8.7 and 8.8.8).
  private mutating func count(_ moof: [UInt8]) {
    guard let whole = moof.boxes(in: 0..<moof.count).first else { return }
    for traf in moof.boxes(in: whole.payload) where traf.type == "traf" {
      let inner = moof.boxes(in: traf.payload)
      guard let head = inner.first(where: { $0.type == "tfhd" }) else { continue }
      let track = Int(moof.integer(head.payload.lowerBound + 4, 4))
      for run in inner where run.type == "trun" {
        let count = Int64(moof.integer(run.payload.lowerBound + 4, 4))
        // Hostile ids cost memory only up to what libavformat takes for streams.
        guard samples[track] != nil || samples.count < 256 else { continue }
        samples[track] = samples[track, default: 0].clampedSum(count)
      }
    }
  }
}
