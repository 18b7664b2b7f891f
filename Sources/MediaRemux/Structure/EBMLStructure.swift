// Matroska and WebM (RFC 8794, RFC 9559): the walk along Segment and its top-level elements.

import FetchCore

/// An EBML element's place, as its header says.
struct EBMLElement: Hashable, Sendable {
  var id: UInt32
  var offset: Int64
  var payload: Int64
  /// One past its last byte; nil where the size is unknown.
  var end: Int64?
}

extension SourceWindow {
  /// The element at `offset`; nil where its header is cut or no EBML (see `headerFits`).
  func element(at offset: Int64) throws(FetchError) -> EBMLElement? {
    guard let first = try byte(at: offset), first != 0 else { return nil }
    let idWidth = first.leadingZeroBitCount + 1
    guard idWidth <= 4, let id = try big(at: offset, width: idWidth) else { return nil }
    let sizeAt = offset + Int64(idWidth)
    guard let sizeFirst = try byte(at: sizeAt), sizeFirst != 0 else { return nil }
    let sizeWidth = sizeFirst.leadingZeroBitCount + 1
    guard let coded = try big(at: sizeAt, width: sizeWidth) else { return nil }
    let mask: UInt64 = (1 << UInt64(7 * sizeWidth)) - 1
    let value = coded & mask
    let payload = sizeAt + Int64(sizeWidth)
    return EBMLElement(
      id: UInt32(truncatingIfNeeded: id), offset: offset, payload: payload,
      end: value == mask ? nil : payload.clampedSum(value))
  }
}

/// Element identifiers of Matroska that the walk knows.
enum MatroskaID {
  static let header: UInt32 = 0x1A45_DFA3
  static let segment: UInt32 = 0x1853_8067
  static let seekHead: UInt32 = 0x114D_9B74
  static let seek: UInt32 = 0x4DBB
  static let seekPosition: UInt32 = 0x53AC
  static let info: UInt32 = 0x1549_A966
  static let tracks: UInt32 = 0x1654_AE6B
  static let cluster: UInt32 = 0x1F43_B675
  static let cues: UInt32 = 0x1C53_BB6B
  static let chapters: UInt32 = 0x1043_A770
  static let tags: UInt32 = 0x1254_C367
  static let attachments: UInt32 = 0x1941_A469

  /// Elements that only stand in a Segment, so that one of them ends a Cluster of unknown size.
  static let topLevel: Set<UInt32> = [
    header, segment, seekHead, info, tracks, cluster, cues, chapters, tags, attachments,
  ]
}

/// Examines Matroska and WebM files.
struct EBMLStructure {
  private let window: SourceWindow
  private let size: Int64
  private var segments = 0
  private var clusters = 0
  private var hasUnknownSize = false
  private var seekTargets: Int64 = 0
  private var steps = 0

  static func examine(
    _ reader: SourceReader, size: Int64
  ) throws(FetchError) -> StructureVerdict {
    var structure = EBMLStructure(window: SourceWindow(reader, limit: size), size: size)
    return try structure.walk()
  }

  private init(window: SourceWindow, size: Int64) {
    self.window = window
    self.size = size
  }

  private mutating func walk() throws(FetchError) -> StructureVerdict {
    var position: Int64 = 0
    while position < size {
      steps += 1
      guard steps < StructureVerdict.longestWalk else { return .endlessWalk }
      guard let element = try window.element(at: position) else {
        if segments > 0, !hasUnknownSize {
          // Behind a whole Segment anything may have been appended.
          break
        }
        return try endOfSense(at: position)
      }
      guard element.id == MatroskaID.segment else {
        guard let end = element.end else { return .incomplete(Self.notElement(position)) }
        if element.id == MatroskaID.cluster {
          // The Segment went on after its size was written.
          clusters += 1
          hasUnknownSize = true
        }
        if segments > 0, !hasUnknownSize, end > size { break }
        if end > size { return cut(element) }
        position = end
        continue
      }
      segments += 1
      if let end = element.end, end > size { return cut(element) }
      if let verdict = try walkSegment(element) { return verdict }
      guard let end = element.end else { break }
      position = end
    }
    guard segments > 0 else {
      return .incomplete("cut: the file ends before its Segment")
    }
    guard clusters > 0 || !hasUnknownSize else {
      return .incomplete("cut: the header is there, no Cluster follows it")
    }
    return hasUnknownSize ? .noEndOfItsOwn : .proven
  }

  /// Walks the children of a Segment; nil where nothing is wrong with them.
  private mutating func walkSegment(
    _ segment: EBMLElement
  ) throws(FetchError) -> StructureVerdict? {
    let end = segment.end ?? size
    if segment.end == nil { hasUnknownSize = true }
    var position = segment.payload
    while position < end {
      steps += 1
      guard steps < StructureVerdict.longestWalk else { return .endlessWalk }
      guard let element = try window.element(at: position) else {
        return try endOfSense(at: position)
      }
      if element.id == MatroskaID.cluster { clusters += 1 }
      guard let elementEnd = element.end else {
        // Only Segment and Cluster may have an unknown size (RFC 9559, 4.5): go on with the
        // Cluster's children, which are then met here one by one.
        guard element.id == MatroskaID.cluster || element.id == MatroskaID.segment else {
          return .incomplete(Self.notElement(position))
        }
        hasUnknownSize = true
        position = element.payload
        continue
      }
      if elementEnd > end { return cut(element) }
      if element.id == MatroskaID.seekHead {
        try readSeekHead(element, segment: segment)
      }
      position = elementEnd
    }
    if seekTargets > size, segment.end == nil {
      return .cut("what the seek head lists", needs: seekTargets, has: size)
    }
    return nil
  }

  private mutating func readSeekHead(
    _ head: EBMLElement, segment: EBMLElement
  ) throws(FetchError) {
    guard let headEnd = head.end else { return }
    var position = head.payload
    var entries = 0
    while position < headEnd, entries < 256,
      let seek = try window.element(at: position), let seekEnd = seek.end, seekEnd <= headEnd
    {
      entries += 1
      position = seekEnd
      guard seek.id == MatroskaID.seek else { continue }
      var field = seek.payload
      while field < seekEnd, let element = try window.element(at: field),
        let elementEnd = element.end, elementEnd <= seekEnd
      {
        let width = Int(elementEnd - element.payload)
        if element.id == MatroskaID.seekPosition, (1...8).contains(width),
          let target = try window.big(at: element.payload, width: width)
        {
          // At least an element's header has to be there.
          seekTargets = max(seekTargets, segment.payload.clampedSum(target).clampedSum(Int64(2)))
        }
        field = elementEnd
      }
    }
  }

  /// What bytes that are no element mean.
  private func endOfSense(at position: Int64) throws(FetchError) -> StructureVerdict {
    if size - position < 12, let first = try window.byte(at: position), first != 0 {
      return .cut("the element at byte \(position)", needs: 12, has: size - position)
    }
    if hasUnknownSize, clusters > 0, try window.isZero(from: position) { return .noEndOfItsOwn }
    return .incomplete(Self.notElement(position))
  }

  private func cut(_ element: EBMLElement) -> StructureVerdict {
    let name =
      switch element.id {
      case MatroskaID.segment: "the Segment"
      case MatroskaID.cluster: "a Cluster"
      case MatroskaID.cues: "the Cues"
      default: "element 0x" + String(element.id, radix: 16)
      }
    let end = element.end ?? .max
    return .cut(name, needs: end - element.offset, has: max(0, size - element.offset))
  }

  private static func notElement(_ position: Int64) -> String {
    "damaged: no Matroska element at byte \(position)"
  }
}
