import FetchCore
public import FoundationEssentials

/// Settings of a download beyond its source, name and type.
public struct VideoDownloadOptions: Sendable {
  /// What happens where the target exists in a folder of the caller's.
  public enum ExistingTarget: Sendable, Hashable {
    /// The download fails with `failedToCreateExportSession`.
    case fail
    /// It is replaced, in the instant in which the result is whole.
    case overwrite
    /// It is taken as the result.
    case skip
  }

  /// The folder that the result goes to, made if missing; nil for a private one under
  /// `FileManager.default.temporaryDirectory`, in which a taken name gets a number.
  public var folder: URL?
  /// Only looked at with a `folder`.
  public var existingTarget = ExistingTarget.fail
  /// Keeps the source beside the result as `NAME.source.EXT`.
  public var keepsSource = false
  /// Gives the room of what is exported back while the download goes on, so that little more than
  /// the result has to fit on the disk.
  ///
  /// One connection is used, and a download that ends early begins anew the next time. Of no effect
  /// with `keepsSource`.
  public var savesDisk = false
  /// Where finished videos are remembered: one that is there already, in the wanted file type, and is
  /// whole counts as the result wherever it stands; others are added once they are finished.
  public var library: VideoLibrary?
  /// Puts the index before the media, so that players can begin early.
  public var indexFirst = true

  /// Which of a source's streams of one kind are exported.
  public enum Tracks: Sendable, Hashable {
    case all
    case none
    /// Those in one of these languages: ISO 639 codes or RFC 5646 tags, such as `en`, `deu` or
    /// `zh-Hant`; `und` for those that name none. A source without any is an error.
    case languages([String])
  }

  /// The sound; without it a source that has nothing else is an error.
  public var audio = Tracks.all
  /// Text subtitles become mov_text; others are left out with a warning, whatever is said here.
  public var subtitles = Tracks.all
  /// Leaves out the source's tags (titles, names, dates, places, devices) and timed metadata.
  public var stripsMetadata = false
  /// Tags to set, such as `title`; an empty value takes one away.
  ///
  /// They are set after `stripsMetadata` has had its turn.
  public var metadata: [String: String] = [:]
  /// Fails where a stream would be left out unasked, or a property lost.
  public var isStrictlyLossless = false
  /// Reads the result back and compares a hash of every stream's payload, beside what is always
  /// compared: streams, packets, bytes and times.
  public var verifiesPayload = false

  /// Request headers of the caller's own, sent to the source's origin only.
  public var headers: [(name: String, value: String)] = []
  /// For Basic authentication at the source's origin.
  public var user: (name: String, password: String)?
  /// For bearer authentication at the source's origin; comes before `user`.
  public var bearerToken: String?
  /// `NAME=VALUE` each, sent to the source's origin only.
  public var cookies: [String] = []
  /// nil for `vidfetch/VERSION`.
  public var userAgent: String?
  /// The Referer header, sent to the source's origin only.
  public var referer: String?
  /// A proxy's URL; an empty text ignores the environment's proxies, nil uses them.
  public var proxy: String?
  /// A PEM file with the certificates to trust in place of the system's.
  public var certificateFile: URL?

  /// Connections side by side for one source, 1 to 64; 0 adds them for as long as they make it faster.
  ///
  /// Ranges are fetched side by side only from a server that names the version of what it sends by a
  /// strong entity tag (RFC 9110 8.8.3), which each of them must repeat.
  public var connections = 0
  /// The most connections to one host, over all downloads; nil for no limit but `connections`.
  public var connectionsPerHost: Int?
  /// Attempts after the first without a new byte; 0 or more.
  public var retries = 5
  /// How long attempts may go on without a new byte.
  public var retryMaxTime = Duration.seconds(600)
  /// How long making a connection may take.
  public var connectTimeout = Duration.seconds(15)
  /// How long a connection may bring nothing.
  public var stallTimeout = Duration.seconds(30)
  /// Bytes a second; nil for no limit.
  public var rateLimit: Int64?
  /// The largest source that is accepted, in bytes; nil for no limit.
  public var maxFileSize: Int64?
  /// Lets a public address lead to private ones.
  public var allowsPrivateAddresses = false
  /// Lets a redirect lead from https to http.
  public var allowsDowngrade = false

  /// The settings that suit nearly always.
  public init() {}

  var exportSettings: ExportSettings {
    var settings = ExportSettings()
    settings.indexFirst = indexFirst
    settings.selection.audio = audio.choice
    settings.selection.subtitles = subtitles.choice
    settings.metadata.strips = stripsMetadata
    settings.metadata.changes = metadata.sorted { $0.key < $1.key }
      .map { MetadataEdits.Change(key: $0.key, value: $0.value) }
    settings.isStrict = isStrictlyLossless
    settings.verification = verifiesPayload ? .hash : .fast
    return settings
  }

  var transferSettings: TransferSettings {
    var settings = TransferSettings()
    // What lies outside these bounds can only be meant as "as good as none" or "for ever".
    let forEver = Duration.seconds(365 * 86_400)
    settings.connections = min(max(0, connections), TransferSettings.mostConnections)
    settings.connectionsPerHost = connectionsPerHost.map { max(1, $0) }
    settings.retries = min(max(0, retries), 10_000)
    settings.retryMaxTime = min(max(.zero, retryMaxTime), forEver)
    settings.connectTimeout = min(max(.milliseconds(1), connectTimeout), forEver)
    settings.stallTimeout = min(max(.milliseconds(1), stallTimeout), forEver)
    settings.rateLimit = rateLimit.flatMap { $0 > 0 ? $0 : nil }
    settings.headers = headers.map { HeaderField(name: $0.name, value: $0.value) }
    settings.user = user.map { UserCredentials(user: $0.name, password: $0.password) }
    settings.bearerToken = bearerToken
    settings.cookies = cookies
    settings.userAgent = userAgent
    settings.referer = referer
    settings.proxy = proxy
    settings.caFile = certificateFile?.path
    settings.maxFileSize = maxFileSize
    settings.allowPrivate = allowsPrivateAddresses
    settings.allowDowngrade = allowsDowngrade
    return settings
  }
}

extension VideoDownloadOptions.Tracks {
  fileprivate var choice: StreamSelection.ByLanguage {
    switch self {
    case .all: .all
    case .none: .none
    case .languages(let tags): .only(tags.map { LanguageCode($0) })
    }
  }
}
