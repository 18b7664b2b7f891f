import CFFmpeg

/// The libav libraries in use.
package enum AVLibraries {
  /// One line a library, such as `libavformat 59.27.100`, and the licence that they were built under.
  package static var lines: [String] {
    let versions = [
      ("libavformat", avformat_version()), ("libavcodec", avcodec_version()),
      ("libavutil", avutil_version()),
    ]
    let licence = String(cString: avformat_license())
    return versions.map { name, version in
      // AV_VERSION_INT packs major, minor and micro into one number.
      "\(name) \(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF) (\(licence))"
    }
  }
}
