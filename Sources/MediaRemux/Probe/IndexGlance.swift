// Where an ISO source keeps its index: a walk along the headers of its top-level boxes. Reads boxes
// through the source; knows no libav.

import FetchCore

/// Finds the place of the index.
enum IndexGlance {
  /// More boxes before the index are nobody's file.
  private static let longestWalk = 4096

  /// - Returns: nil where there is no index to be found.
  static func place(
    of index: SourceIndex, _ source: SourceReader
  ) throws(FetchError) -> SourceProbe.IndexPlace? {
    if index.isFragmented { return .fragmented }
    let window = SourceWindow(source, limit: try source.size() ?? .max, blockSize: 16)
    var position: Int64 = 0
    var hasMedia = false
    for _ in 0..<longestWalk {
      guard let box = try window.box(at: position, parentEnd: window.limit) else { return nil }
      switch box.type {
      case "moov": return hasMedia ? .last : .first
      case "moof": return .fragmented
      // Writers leave an empty one where they change their mind.
      case "mdat": hasMedia = hasMedia || box.end > box.payload
      default: break
      }
      position = box.end
    }
    return nil
  }
}
