// The one gate from a libav return code to an item's failure. Runs on the remux thread; knows no
// stream and no file.

import CFFmpeg
import FetchCore

/// A negative return code of libavformat, libavcodec or libavutil.
struct AVError: Error, Hashable {
  let code: Int32

  /// libavutil's words, such as "Invalid data found when processing input".
  ///
  /// Wraps `av_strerror`.
  var text: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress, av_strerror(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return String(cString: base)
    }
  }
}

/// Where a failed call stood, which decides what its failure means.
enum RemuxStage {
  case opening, reading
  /// Setting the output up, before anything of the source is in it.
  case writing
  /// The muxer's look at the streams as the source describes them.
  case writingHeader
  /// The muxer's look at the source's packets.
  case writingMedia
}

extension AVError {
  /// What the failure means for the item.
  ///
  /// - Parameter evidence: the last line that libav logged as an error, where there is one.
  func fetchError(_ stage: RemuxStage, evidence: String?) -> FetchError {
    let reason = evidence.map { "\(text): \($0)" } ?? text
    switch (code, stage) {
    case (cff_error_exit, _):
      return .cancelled
    case (cff_error_no_memory, .writing), (cff_error_no_memory, .writingHeader),
      (cff_error_no_memory, .writingMedia):
      return FetchError(
        .internal, "out of memory in the remux", reason: reason, recovery: "run fewer jobs at once")
    case (cff_error_no_memory, _):
      // What libav asks memory for, a source has announced.
      return FetchError(
        .damaged, "the source announces more than memory can hold", reason: reason,
        recovery: "fetch the file again, or from another source")
    case (cff_error_demuxer_not_found, _), (cff_error_invalid_argument, .opening):
      return .unknownContainer(reason: reason)
    case (cff_error_invalid_data, .opening) where evidence?.contains("moov atom not found") == true:
      return FetchError(
        .damaged, "the index (moov) is missing: the file is incomplete at its source",
        reason: reason, recovery: "fetch the file again, or from another source")
    case (_, .writingHeader):
      // Trouble of the disk's was told before; what is left is the streams' own description.
      return FetchError(
        .cannotPassthrough, "the output's container cannot hold the streams as they are",
        reason: reason, recovery: "keep the source")
    case (_, .opening), (_, .reading), (_, .writingMedia):
      // The muxer refuses stamps and sizes that no table holds, and looks into packets where it has
      // to rewrite their framing.
      return FetchError(
        .damaged, "the media is damaged or cut", reason: reason,
        recovery: "fetch the file again, or from another source")
    case (_, .writing):
      return FetchError(
        .internal, "the output could not be written", reason: reason,
        recovery: "keep the source and report it as a bug")
    }
  }
}

extension FetchError {
  static func unknownContainer(reason: String? = nil) -> FetchError {
    FetchError(
      .notMedia, "not a known video container", reason: reason,
      recovery: "check that the address leads to the media file itself")
  }
}
