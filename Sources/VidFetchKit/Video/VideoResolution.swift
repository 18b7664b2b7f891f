/// A video's quality tier, by its displayed height.
///
/// The raw value is the label that a person reads. `VideoResolution(rawValue: 1080)` chooses the tier
/// for a height in pixels, `VideoResolution(rawValue: "1080p HD")` finds the tier of a label.
public enum VideoResolution: String, Sendable, Hashable, Codable, CaseIterable {
  /// 0 to 719 pixels.
  case SD = "SD"
  /// 720 to 1079 pixels.
  case HD = "720p HD"
  /// 1080 to 2159 pixels.
  case fullHD = "1080p HD"
  /// 2160 pixels and more.
  case _4K = "4K"

  /// Chooses the tier of a displayed height.
  ///
  /// - Parameter pixels: the height as it is shown, rotation applied; nil comes of a negative one.
  public init?(rawValue pixels: Int) {
    switch pixels {
    case ..<0: return nil
    case ..<720: self = .SD
    case ..<1080: self = .HD
    case ..<2160: self = .fullHD
    default: self = ._4K
    }
  }
}
