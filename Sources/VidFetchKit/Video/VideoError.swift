// Failures as an app sees them: a kind to decide on, and three texts to show.

import FetchCore
public import FoundationEssentials

/// Why a video could not be downloaded or exported.
///
/// Compare it with a kind (`error == .userCancelled`, or `case .userCancelled:` in a switch): two errors
/// are equal when their kinds are, whatever their texts say. No text carries a password, a token or
/// any other secret.
public struct VideoError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
  /// What sort of failure it is.
  public enum Kind: Sendable, Hashable {
    /// What came is no media, is damaged or incomplete, or is encrypted.
    case assetNotPlayable
    /// The media has no video or audio that the file type can hold unchanged.
    case missingTracks
    /// The export could not begin: the target exists or can't be written.
    case failedToCreateExportSession
    /// The work was cancelled.
    case userCancelled
    /// The server could not be reached, or refused.
    case requestFailed
    /// The export began and failed: the disk is full, or reading or writing failed.
    case exportFailed
    /// Anything else.
    case custom(message: String)
  }

  /// What sort of failure it is.
  public let kind: Kind
  /// The stable name of the failure, as the command line's JSON output has it, such as `not-found`.
  public let code: String
  /// Whether the same request may well succeed later without anybody mending anything.
  public let isRetryable: Bool
  /// Seconds that the server wants to be left alone; nil where it did not say.
  public let retryAfter: Int?
  private let texts: Texts

  private struct Texts: Sendable {
    var description: String
    var reason: String
    var recovery: String
  }

  /// What went wrong, as one line.
  public var errorDescription: String? { texts.description }
  /// Why it went wrong.
  public var failureReason: String? { texts.reason }
  /// What helps.
  public var recoverySuggestion: String? { texts.recovery }

  /// All three texts on one line.
  public var description: String {
    "\(texts.description). \(texts.reason). \(texts.recovery)."
  }

  /// Writes the three texts as one line to the system's log (`syslog(3)`).
  ///
  /// Any thread.
  public func log() { SystemLog.error("vidfetch: \(description)") }

  /// Gives the three texts as one line to a log of the caller's own.
  public func log(to sink: (String) -> Void) { sink(description) }

  public static func == (left: VideoError, right: VideoError) -> Bool { left.kind == right.kind }

  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

// MARK: - Kinds as values

extension VideoError {
  /// See `Kind.assetNotPlayable`.
  public static let assetNotPlayable = VideoError(kind: .assetNotPlayable)
  /// See `Kind.missingTracks`.
  public static let missingTracks = VideoError(kind: .missingTracks)
  /// See `Kind.failedToCreateExportSession`.
  public static let failedToCreateExportSession = VideoError(kind: .failedToCreateExportSession)
  /// See `Kind.userCancelled`.
  public static let userCancelled = VideoError(kind: .userCancelled)
  /// See `Kind.requestFailed`.
  public static let requestFailed = VideoError(kind: .requestFailed)
  /// See `Kind.exportFailed`.
  public static let exportFailed = VideoError(kind: .exportFailed)

  /// A failure that only its message describes.
  public static func custom(message: String) -> VideoError {
    VideoError(kind: .custom(message: message))
  }

  /// Makes an error with the texts that its kind has by itself.
  private init(kind: Kind) {
    self.kind = kind
    isRetryable = kind == .requestFailed
    retryAfter = nil
    texts = Self.texts(of: kind)
    code =
      switch kind {
      case .assetNotPlayable: OutcomeCode.notMedia.rawValue
      case .missingTracks: OutcomeCode.cannotPassthrough.rawValue
      case .failedToCreateExportSession: OutcomeCode.output.rawValue
      case .userCancelled: OutcomeCode.signal.rawValue
      case .requestFailed: OutcomeCode.network.rawValue
      case .exportFailed: OutcomeCode.localIO.rawValue
      case .custom: OutcomeCode.internal.rawValue
      }
  }

  private static func texts(of kind: Kind) -> Texts {
    switch kind {
    case .assetNotPlayable:
      Texts(
        description: "the source is no playable media",
        reason: "it is not media, or it is damaged, incomplete or encrypted",
        recovery: "check the address and try the source in a player")
    case .missingTracks:
      Texts(
        description: "the media has no track that the file type can hold unchanged",
        reason: "a passthrough changes no codec, and the file type allows only some",
        recovery: "try the other file type")
    case .failedToCreateExportSession:
      Texts(
        description: "the export could not begin",
        reason: "the target exists already, or its folder can't be written",
        recovery: "check the target's folder and name")
    case .userCancelled:
      Texts(
        description: "the download was cancelled",
        reason: "it was cancelled before it had ended",
        recovery: "start it again; it continues where it stopped if the server allows")
    case .requestFailed:
      Texts(
        description: "the request failed",
        reason: "the server could not be reached, or it refused",
        recovery: "check the address and the connection, and try again")
    case .exportFailed:
      Texts(
        description: "the export failed",
        reason: "reading the source or writing the result failed",
        recovery: "check the disk, and try again")
    case .custom(let message):
      Texts(
        description: message, reason: "the reason is not known more exactly",
        recovery: "try again")
    }
  }
}

// MARK: - From the engine

extension VideoError {
  init(_ error: FetchError) {
    switch error.code {
    case .network, .busy, .notFound, .denied, .refused, .tls: kind = .requestFailed
    case .notMedia, .damaged, .encrypted: kind = .assetNotPlayable
    case .cannotPassthrough: kind = .missingTracks
    case .output: kind = .failedToCreateExportSession
    case .diskFull, .localIO: kind = .exportFailed
    case .signal: kind = .userCancelled
    case .ok, .internal, .usage, .someFailed, .hookFailed: kind = .custom(message: error.message)
    }
    code = error.code.rawValue
    isRetryable = error.code.isRetryable
    retryAfter = error.retryAfter
    let general = Self.texts(of: kind)
    texts = Texts(
      description: error.isCancellation ? general.description : error.message,
      reason: error.reason ?? general.reason, recovery: error.recovery ?? general.recovery)
  }
}
