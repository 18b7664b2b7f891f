// The families of containers that the structural checks tell apart.

/// A family of containers, as its first bytes show it.
package enum ContainerKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// ISO base media (MP4, fragmented MP4, 3GP, ismv, f4v) and QuickTime.
  case mp4
  /// Matroska and WebM.
  case matroska
  /// MPEG transport stream with packets of 188, 192 (BDAV) or 204 bytes.
  case mpegTS
  /// MPEG-1 system stream and MPEG-2 program stream.
  case mpegPS
  case flv
  case avi
  case ogg
  case asf
  case adts
  case mp3
  case wav
  /// Raw AC-3 and E-AC-3.
  case ac3
  /// Raw DTS, its core or with extensions.
  case dts
  /// AMR and AMR-WB of one channel.
  case amr
  case flac
  /// Known to be media, without a structure that is checked here.
  case other
}
