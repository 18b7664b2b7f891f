// The door between the remux and the rest: values only, so that a process can stand behind it as
// well as a thread. The two descriptors travel beside the request.

package import FetchCore

/// What is to be remuxed into what.
///
/// Sent once.
package struct RemuxRequest: Sendable, Hashable, Codable {
  package enum Purpose: String, Sendable, Hashable, Codable {
    /// Write the output.
    case export
    /// Open the source and plan, for each container that could be written; there is no sink.
    case probe
  }

  package var purpose = Purpose.export
  /// The container to write.
  package var format: ContainerFormat
  /// What is wanted of the export.
  package var settings: ExportSettings
  /// Whether the body's end was, or will be, proven by HTTP's framing (Content-Length, last chunk,
  /// END_STREAM) or by a local file's size; false where only the connection's end marks it.
  ///
  /// A later `RemuxCommand.ended` overrides it.
  package var isFramed: Bool
  /// Whether `RemuxMessage.released` is wanted.
  package var releasesSource = false

  package init(
    format: ContainerFormat, settings: ExportSettings = ExportSettings(), isFramed: Bool = true
  ) {
    self.format = format
    self.settings = settings
    self.isFramed = isFramed
  }

  /// Asks what a source is, and what these settings could make of it.
  package static func probe(_ settings: ExportSettings = ExportSettings()) -> RemuxRequest {
    var request = RemuxRequest(format: .mp4, settings: settings)
    request.purpose = .probe
    return request
  }
}

/// What the remux is told while it runs.
///
/// Any thread.
package enum RemuxCommand: Sendable, Hashable, Codable {
  /// These bytes of the source can be read now.
  case have(ByteRange)
  /// The source's size, as soon as it is known.
  case total(Int64)
  /// No more bytes will come: the source has `total` bytes, all present. `isFramed` as in the request.
  case ended(total: Int64, isFramed: Bool)
  /// The bytes come from the first to the last only: what lies ahead costs all that lies before it.
  case onlyForwards
  /// The bytes seen so far belong to another version of the resource: the remux must end at once
  /// (with `.failed(.cancelled)`), and a new one begins from nothing.
  case cancel
}

/// What the remux says.
///
/// On the remux thread, in order; `finished`, `probed` or `failed` comes once and last.
package enum RemuxMessage: Sendable, Codable {
  /// The demuxer waits for the byte at this offset, which is not there.
  case want(Int64)
  /// The source was opened and planned; nothing of the output exists yet.
  case planned(RemuxPlan)
  /// How far it is; at most ten times a second.
  case progress(RemuxCounters)
  /// These bytes of the source are read no more, whatever comes: they may go.
  case released(ByteRange)
  case warning(FetchWarning)
  case finished(RemuxOutcome)
  /// What a probe has found.
  case probed(SourceProbe)
  case failed(FetchError)
}

/// What will become of the source's streams.
package struct RemuxPlan: Sendable, Hashable, Codable {
  package var streams: [StreamReport]
  /// libavformat's name of the source's container, such as `mov,mp4,m4a,3gp,3g2,mj2`.
  package var sourceFormat: String
  /// Seconds, where the source says so credibly.
  package var duration: Double?

  package init(streams: [StreamReport], sourceFormat: String, duration: Double?) {
    self.streams = streams
    self.sourceFormat = sourceFormat
    self.duration = duration
  }
}

/// How much has been done.
package struct RemuxCounters: Sendable, Hashable, Codable {
  /// How far into the source the packets have come that were written: one past the last byte of the
  /// furthest.
  ///
  /// Never falls.
  package var sourcePosition: Int64
  package var packets: Int64
  package var bytesWritten: Int64

  package init(sourcePosition: Int64 = 0, packets: Int64 = 0, bytesWritten: Int64 = 0) {
    self.sourcePosition = sourcePosition
    self.packets = packets
    self.bytesWritten = bytesWritten
  }
}

/// A remux that ended well and was verified.
package struct RemuxOutcome: Sendable, Hashable, Codable {
  package var plan: RemuxPlan
  package var ledger: [StreamLedger]
  package var completeBy: CompletionProof
  /// Seconds of the output.
  package var duration: Double
  /// The output's size.
  package var bytes: Int64
  package var counters: RemuxCounters
  /// How long it took to compare the output with what went into it, in seconds.
  package var verification: Double

  package init(
    plan: RemuxPlan, ledger: [StreamLedger], completeBy: CompletionProof, duration: Double,
    bytes: Int64, counters: RemuxCounters, verification: Double = 0
  ) {
    self.plan = plan
    self.ledger = ledger
    self.completeBy = completeBy
    self.duration = duration
    self.bytes = bytes
    self.counters = counters
    self.verification = verification
  }
}
