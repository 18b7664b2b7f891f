// Which tracks of timed data a container takes as they are: samples and description copied, nothing
// understood. A table; pure.

import FetchCore

enum DataTrackSupport {
  /// Timed data that ISO 14496-12 defines (12.3), or that is written to mp4 by the devices that
  /// invented it.
  private static let mp4: Set<String> = [
    "mett", "metx", "urim", "stxt", "tmcd", "gpmd", "camm", "djmd", "dbgi", "rtmd",
  ]

  /// Why a track of data is left out.
  ///
  /// - Parameter isQuickTime: whether the source is a QuickTime file rather than an mp4.
  /// - Returns: nil where it is carried.
  static func refusal(
    of stream: StreamDescription, in format: ContainerFormat, isQuickTime: Bool
  ) -> String? {
    guard let handler = stream.opaqueHandler, let tag = stream.tag else {
      return "\(stream.codecName) is not carried to \(format.rawValue)"
    }
    if handler == "hint" { return "its hints tell how the old file is to be streamed" }
    switch format {
    case .mov: return nil
    case .mp4:
      if tag == "mebx" { return "mebx is QuickTime's own form of timed metadata; mov holds it" }
      // What one mp4 holds, another can.
      if !isQuickTime || mp4.contains(tag) { return nil }
      return "mp4 has no place for QuickTime's \(tag); mov holds it"
    }
  }
}
