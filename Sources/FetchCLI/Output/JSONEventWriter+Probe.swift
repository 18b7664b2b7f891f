// The JSON output of `--probe`. Pure; the doc comment is the format's specification.

import FetchCore
package import VidFetchKit

extension JSONEventWriter {
  /// The object of a probe.
  ///
  /// `probe`, last and once an item of `--probe`, in place of `result`:
  /// - `url`: as in `start`
  /// - `code`: the name of the outcome, `ok` where `format` can hold the source; `exit`: its number
  /// - `retryable`: whether the same command may succeed later
  /// - `format`: `mp4` or `mov`, the one that was asked for
  /// - `container`: `mp4`, `mov`, `matroska`, `webm`, `mpegts`, …; this key and those down to `mov` are
  ///   there where the source could be opened
  /// - `duration`: seconds; `size`: bytes
  /// - `index`: `first`, `last` or `fragmented`, of mp4 and mov
  /// - `chapters`: how many
  /// - `streams`: each with `index`, `type`, `codec`, and where there is one `profile`, `width`, `height`,
  ///   `display_width`, `display_height`, `rotation` (degrees, clockwise), `mirrored`, `frame_rate`,
  ///   `resolution`, `hdr`, `color` (`primaries`, `transfer`, `matrix`, `range`), `sample_rate`,
  ///   `channels`, `channel_layout`, `bit_rate`, `language`, `title`, `dispositions`,
  ///   `attached_picture`
  /// - `mp4`, `mov`: what each can hold: `possible`; where it is, `streams` with `index`, `action` and
  ///   `reason`, and `warnings`; where it isn't, `code`, `message`, `reason`, `recovery`
  /// - `disk`: the most bytes that a run will hold on disk at once
  /// - `received`: bytes that were fetched for this; `attempts`: requests made for them
  /// - `warnings`: each with the keys of the event
  /// - `message`, `reason`, `recovery`, `retry_after` (seconds): where `code` isn't `ok`
  package static func probe(_ result: ProbeResult, job: Int, exit: Int32) -> JSONObject {
    var object = envelope("probe", job)
    object.add("url", result.url)
    object.add("code", result.code.rawValue)
    object.add("exit", exit)
    object.add("retryable", result.code.isRetryable)
    object.add("format", result.format.rawValue)
    if let source = result.source {
      object.add("container", source.container)
      object.add("duration", source.duration, decimals: 6)
      object.add("size", result.size)
      object.add("index", source.index?.rawValue)
      object.add("chapters", source.chapters)
      object.add("streams", .array(source.streams.map { .object(stream($0)) }))
      for each in source.verdicts { object.add(each.format.rawValue, .object(verdict(each))) }
    }
    object.add("disk", result.diskNeed)
    object.add("received", result.received)
    object.add("attempts", result.attempts)
    object.add("warnings", list(result.warnings))
    if let error = result.error { add(error, to: &object) }
    return object
  }

  private static func stream(_ stream: ProbedStream) -> JSONObject {
    var object = JSONObject()
    object.add("index", stream.index)
    object.add("type", stream.type.rawValue)
    object.add("codec", stream.codec)
    object.add("profile", stream.profile)
    object.add("width", stream.width)
    object.add("height", stream.height)
    object.add("display_width", stream.displayWidth)
    object.add("display_height", stream.displayHeight)
    object.add("rotation", stream.rotation)
    object.add("mirrored", stream.isMirrored ? true : nil)
    object.add("frame_rate", stream.frameRate, decimals: 6)
    object.add("resolution", stream.resolution?.rawValue)
    object.add("hdr", stream.dynamicRange?.label)
    var color = JSONObject()
    color.add("primaries", stream.colour.primaries)
    color.add("transfer", stream.colour.transfer)
    color.add("matrix", stream.colour.matrix)
    color.add("range", stream.colour.range)
    if !color.members.isEmpty { object.add("color", .object(color)) }
    object.add("sample_rate", stream.sampleRate)
    object.add("channels", stream.channels)
    object.add("channel_layout", stream.channelLayout)
    object.add("bit_rate", stream.bitRate)
    object.add("language", stream.language)
    object.add("title", stream.title)
    if !stream.dispositions.isEmpty {
      object.add("dispositions", .array(stream.dispositions.map { .string($0) }))
    }
    object.add("attached_picture", stream.isAttachedPicture ? true : nil)
    return object
  }

  private static func verdict(_ verdict: PassthroughVerdict) -> JSONObject {
    var object = JSONObject()
    object.add("possible", verdict.refusal == nil)
    if let refusal = verdict.refusal {
      object.add("code", refusal.code.rawValue)
      add(refusal, to: &object)
      return object
    }
    let streams = verdict.streams.map { stream in
      var object = JSONObject()
      object.add("index", stream.index)
      object.add("action", stream.action.rawValue)
      object.add("reason", stream.reason)
      return JSONValue.object(object)
    }
    object.add("streams", .array(streams))
    object.add("warnings", list(verdict.warnings))
    return object
  }
}
