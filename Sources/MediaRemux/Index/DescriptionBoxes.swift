// Boxes of a visual sample entry made from values: for sources that say in another form what ISO
// says in a box, and that the muxer of libavformat 59 writes to one of the containers only. Pure.

enum DescriptionBoxes {
  /// How two views are packed into a picture.
  enum Packing: UInt8 {
    case mono = 0
    case topBottom = 1
    case leftRight = 2
  }

  /// A whole `st3d` (Spherical Video V2 RFC).
  static func stereo(_ packing: Packing) -> [UInt8] {
    .box("st3d", [0, 0, 0, 0, packing.rawValue])
  }

  /// The whole picture of a sphere.
  struct Sphere: Hashable {
    enum Projection: Hashable {
      /// What is left out at the sides, as parts of 2^32.
      case equirectangular(top: UInt32, bottom: UInt32, left: UInt32, right: UInt32)
      case cubemap(padding: UInt32)
    }

    var projection: Projection
    /// Degrees times 2^16.
    var yaw: Int32
    var pitch: Int32
    var roll: Int32
  }

  /// A whole `sv3d` (Spherical Video V2 RFC).
  static func spherical(_ sphere: Sphere) -> [UInt8] {
    var pose: [UInt8] = [0, 0, 0, 0]
    for angle in [sphere.yaw, sphere.pitch, sphere.roll] { pose.append(angle, bytes: 4) }
    var shape: [UInt8] = [0, 0, 0, 0]
    let type: String
    switch sphere.projection {
    case .equirectangular(let top, let bottom, let left, let right):
      type = "equi"
      for bound in [top, bottom, left, right] { shape.append(bound, bytes: 4) }
    case .cubemap(let padding):
      type = "cbmp"
      // Layout 0 is the only one that there is.
      shape.append(UInt32(0), bytes: 4)
      shape.append(padding, bytes: 4)
    }
    // The source of the metadata: nothing.
    let header = [UInt8].box("svhd", [0, 0, 0, 0, 0])
    let projection = [UInt8].box("prhd", pose) + [UInt8].box(type, shape)
    return .box("sv3d", header + [UInt8].box("proj", projection))
  }

  /// What a mastering display could show.
  struct Mastering: Hashable {
    struct Point: Hashable {
      var x: Double
      var y: Double
    }

    var red: Point
    var green: Point
    var blue: Point
    var white: Point
    /// Candelas per square metre.
    var brightest: Double
    var darkest: Double
  }

  /// A whole `mdcv` (ISO 14496-12 12.1.8); nil where a number doesn't fit.
  static func mastering(_ display: Mastering) -> [UInt8]? {
    var payload: [UInt8] = []
    for point in [display.green, display.blue, display.red, display.white] {
      for value in [point.x, point.y] {
        guard let number = UInt16(exactly: (value * 50_000).rounded()) else { return nil }
        payload.append(number, bytes: 2)
      }
    }
    for luminance in [display.brightest, display.darkest] {
      guard let number = UInt32(exactly: (luminance * 10_000).rounded()) else { return nil }
      payload.append(number, bytes: 4)
    }
    return .box("mdcv", payload)
  }

  /// A whole `clli` (ISO 14496-12 12.1.9); nil where a number doesn't fit.
  static func lightLevel(most: UInt32, average: UInt32) -> [UInt8]? {
    guard let most = UInt16(exactly: most), let average = UInt16(exactly: average) else {
      return nil
    }
    var payload: [UInt8] = []
    payload.append(most, bytes: 2)
    payload.append(average, bytes: 2)
    return .box("clli", payload)
  }
}
