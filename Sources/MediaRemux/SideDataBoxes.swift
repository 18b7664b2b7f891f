// From the side data of a stream, as libavformat gives it for every container, to boxes. Runs on the
// remux thread.

import CFFmpeg

enum SideDataBoxes {
  /// Whole boxes for the sample entry of a stream that isn't from an ISO file.
  static func boxes(of stream: UnsafeMutablePointer<AVStream>) -> [[UInt8]] {
    var boxes: [[UInt8]] = []
    for index in 0..<Int(stream.pointee.nb_side_data) {
      let entry = stream.pointee.side_data[index]
      guard let data = entry.data else { continue }
      let bytes = UnsafeRawBufferPointer(start: data, count: entry.size)
      let box: [UInt8]? =
        switch entry.type {
        case AV_PKT_DATA_STEREO3D: stereo(bytes)
        case AV_PKT_DATA_SPHERICAL: spherical(bytes)
        case AV_PKT_DATA_MASTERING_DISPLAY_METADATA: mastering(bytes)
        case AV_PKT_DATA_CONTENT_LIGHT_LEVEL: lightLevel(bytes)
        default: nil
        }
      if let box { boxes.append(box) }
    }
    return boxes
  }

  private static func load<T: BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, as type: T.Type
  ) -> T? {
    bytes.count >= MemoryLayout<T>.size ? bytes.loadUnaligned(as: T.self) : nil
  }

  private static func stereo(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    // A box can't say that the right view comes first.
    guard let stereo = load(bytes, as: AVStereo3D.self), stereo.flags == 0 else { return nil }
    switch stereo.type {
    case AV_STEREO3D_2D: return DescriptionBoxes.stereo(.mono)
    case AV_STEREO3D_TOPBOTTOM: return DescriptionBoxes.stereo(.topBottom)
    case AV_STEREO3D_SIDEBYSIDE: return DescriptionBoxes.stereo(.leftRight)
    default: return nil
    }
  }

  private static func spherical(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let sphere = load(bytes, as: AVSphericalMapping.self) else { return nil }
    let projection: DescriptionBoxes.Sphere.Projection
    switch sphere.projection {
    case AV_SPHERICAL_EQUIRECTANGULAR:
      projection = .equirectangular(top: 0, bottom: 0, left: 0, right: 0)
    case AV_SPHERICAL_EQUIRECTANGULAR_TILE:
      projection = .equirectangular(
        top: sphere.bound_top, bottom: sphere.bound_bottom, left: sphere.bound_left,
        right: sphere.bound_right)
    case AV_SPHERICAL_CUBEMAP:
      projection = .cubemap(padding: sphere.padding)
    default: return nil
    }
    return DescriptionBoxes.spherical(
      .init(projection: projection, yaw: sphere.yaw, pitch: sphere.pitch, roll: sphere.roll))
  }

  private static func mastering(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let display = load(bytes, as: AVMasteringDisplayMetadata.self),
      display.has_primaries != 0, display.has_luminance != 0
    else { return nil }
    func point(_ x: AVRational, _ y: AVRational) -> DescriptionBoxes.Mastering.Point {
      .init(x: av_q2d(x), y: av_q2d(y))
    }
    let colours = display.display_primaries
    return DescriptionBoxes.mastering(
      .init(
        red: point(colours.0.0, colours.0.1), green: point(colours.1.0, colours.1.1),
        blue: point(colours.2.0, colours.2.1),
        white: point(display.white_point.0, display.white_point.1),
        brightest: av_q2d(display.max_luminance), darkest: av_q2d(display.min_luminance)))
  }

  private static func lightLevel(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let level = load(bytes, as: AVContentLightMetadata.self) else { return nil }
    return DescriptionBoxes.lightLevel(most: level.MaxCLL, average: level.MaxFALL)
  }
}
