// A chapter's place in the output: moved with the film's start, and left out where it lies outside
// the film. Pure, but for libavutil's rescaling; trusts no number.

import CFFmpeg

/// Where a chapter begins and ends, in its own time base, counted from the film's start.
struct ChapterSpan: Hashable {
  /// What the chapters belong to.
  struct Film {
    /// The presentation time, in `base`, that becomes zero.
    var start: Int64
    var base: AVRational
    /// Seconds; nil where it isn't known well.
    var duration: Double?
  }

  var start: Int64
  var end: Int64

  /// Chapter tracks count in 32 bits; at the muxer's 90,000 ticks a second that is 6.6 hours from
  /// one chapter to the next, and nobody's film is longer than so many seconds.
  private static let longestFilm = 10.0 * 86_400

  /// - Returns: nil where nothing of it lies within the film, or its numbers are no times.
  init?(start: Int64, end: Int64, base: AVRational, in film: Film) {
    let shift = av_rescale_q(film.start, film.base, base)
    guard base.num > 0, base.den > 0, MediaTime.isSane(start), MediaTime.isSane(shift) else {
      return nil
    }
    // Where a chapter has no end of its own, its start serves.
    let end = end >= start && MediaTime.isSane(end) ? end : start
    self.start = max(0, start - shift)
    self.end = max(self.start, end - shift)
    if start < shift, end <= shift { return nil }
    let begin = Double(self.start) * Double(base.num) / Double(base.den)
    guard begin < min(film.duration ?? Self.longestFilm, Self.longestFilm) else { return nil }
  }
}
