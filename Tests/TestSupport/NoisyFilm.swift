// A film whose bytes repeat nowhere, of some megabytes: what a resume or a range puts in a wrong place
// can't go unnoticed.

private import Foundation

package enum NoisyFilm {
  /// Writes a film of noise; about 45 kB a frame.
  package static func write(
    to path: String, frames: Int = 240, indexFirst: Bool = true, seed: Int = 1
  ) throws {
    let noise = "nullsrc=s=320x240:r=25,noise=alls=100:all_seed=\(seed):allf=t"
    try outputOfTool(
      [
        "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", noise, "-frames:v", "\(frames)", "-c:v",
        "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p",
      ] + (indexFirst ? ["-movflags", "+faststart"] : []) + [path])
  }
}
