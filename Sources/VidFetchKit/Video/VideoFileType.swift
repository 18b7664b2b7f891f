import FetchCore

/// The file types that a video can be exported to.
public enum VideoFileType: String, Sendable, Hashable, Codable, CaseIterable {
  /// MPEG-4 part 14 (`.mp4`).
  case mp4
  /// QuickTime (`.mov`).
  case mov

  var container: ContainerFormat {
    switch self {
    case .mp4: .mp4
    case .mov: .mov
    }
  }
}
