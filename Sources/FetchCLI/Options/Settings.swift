// ParsedArguments and the environment, resolved into jobs and the style of the output. Reads the
// files that options name, and nothing else.

import FetchCore
package import VidFetchKit

/// How a run speaks.
package struct OutputStyle: Sendable, Hashable {
  package enum Progress: Sendable, Hashable {
    case bar, plain, json, none
  }

  package enum Results: Sendable, Hashable {
    case paths, json
    case template(ResultTemplate)
  }

  package var progress = Progress.plain
  /// -1 quiet, 0, 1 for `-v`, 2 for `-vv`.
  package var verbosity = 0
  /// Whether standard error is coloured.
  package var usesColor = false
  package var results = Results.paths
  /// Ends each record on standard output.
  package var terminator = UInt8(ascii: "\n")
  /// Whether a person sees each path that is printed.
  package var showsPaths = false

  package init() {}
}

/// What is to be done, and how it is told.
package struct Settings: Sendable {
  /// Where the items come from, and what they have in common.
  package var items: ItemSource
  package var batch: BatchSettings
  /// The results file's path; nil for none.
  package var resultsPath: String?
  /// The archive's path; nil for none.
  package var archivePath: String?
  package var refreshes: Bool
  /// Whether the arguments are results files to report on.
  package var reports: Bool
  package var reportFormat: ReportFormat?
  /// Whether the archive is listed.
  package var listsHistory: Bool
  /// Whether the sources are only looked at.
  package var probes: Bool
  package var style: OutputStyle

  /// Resolves what was typed.
  ///
  /// - Throws: `UsageError` where options contradict each other, nothing is to be done, or a file
  ///   that an option names can't be used.
  package init(
    _ arguments: ParsedArguments, _ environment: CommandEnvironment
  ) throws(UsageError) {
    style = try Self.style(arguments, environment)
    probes = arguments.probe != nil
    if let report = arguments.report {
      if let history = arguments.history {
        throw UsageError("\(report.option) and \(history.option) contradict each other")
      }
      try Self.refuseFetching(arguments, beside: report, archive: arguments.archive)
    }
    if let history = arguments.history {
      try Self.refuseFetching(arguments, beside: history, archive: nil)
    }
    if let probe = arguments.probe { try Self.refuseTargets(arguments, beside: probe) }
    if arguments.sources.isEmpty, arguments.input == nil, arguments.history == nil {
      throw UsageError(arguments.report == nil ? "no URL" : "no results file")
    }
    if arguments.sources.contains("") { throw UsageError("a URL is empty") }

    var request = JobRequest(source: "")
    request.format = try Self.format(arguments)
    request.destination = try Self.destination(arguments)
    request.existingTarget = try Self.existingTarget(arguments)
    request.keepsSource = arguments.keepSource != nil
    request.savesDisk = arguments.lowDisk != nil
    if let keep = arguments.keepSource, let low = arguments.lowDisk {
      throw UsageError(
        "\(keep.option) and \(low.option) contradict each other: one needs the whole source")
    }
    request.export = try Self.export(arguments)
    request.transfer = try Self.transfer(arguments, environment)
    if let low = arguments.lowDisk, request.transfer.connections > 1 {
      throw UsageError(
        "--connections and \(low.option) contradict each other: what comes far ahead of the export "
          + "waits on the disk")
    }
    request.logsTransfer = style.verbosity > 0
    request.limits = SharedLimits(bytesPerSecond: request.transfer.rateLimit)
    batch = try Self.batch(arguments)
    resultsPath = arguments.results?.value
    items = ItemSource(request: request)
    items.arguments = arguments.sources
    items.list = arguments.input?.value
    try Self.refuseSharedInput(arguments)
    try Self.name(&items, arguments)
    try Self.check(&items, arguments, environment)
    items.shard = try Self.shard(arguments, environment)
    if let key = arguments.key {
      items.key = try KeyPattern(key.value, option: key.option)
    }
    archivePath = arguments.archive?.value
    refreshes = arguments.refresh != nil
    let needing = [arguments.key?.option, arguments.refresh?.option, arguments.history?.option]
    if archivePath == nil, let option = needing.lazy.compactMap({ $0 }).first {
      throw UsageError("\(option) needs --archive")
    }
    reports = arguments.report != nil
    reportFormat = arguments.reportFormat?.value
    listsHistory = arguments.history != nil
    if let format = arguments.reportFormat, !reports {
      throw UsageError("\(format.option) needs --report")
    }
    if case .template(let template) = style.results, template.names("sha256") {
      items.request.hashesResult = true
    }
  }

  /// What all items have in common.
  package var request: JobRequest { items.request }

  /// Opens the archive that was named, and hands it to all items.
  mutating func openArchive() throws(FetchError) {
    guard let archivePath else { return }
    var archive = try JobArchive(path: archivePath)
    archive.refreshes = refreshes
    items.request.archive = archive
  }

  /// Whether lines are written as for many items.
  package var isBatch: Bool { items.list != nil || items.arguments.count > 1 }

  /// The requests of the command line's own items.
  package var requests: [JobRequest] {
    items.arguments.enumerated().compactMap { index, source in
      guard
        case .fetch(let request) = items.item(ListEntry(source: source), job: index + 1, line: nil)
          .content
      else {
        return nil
      }
      return request
    }
  }

  // MARK: Batch

  private static func batch(_ arguments: ParsedArguments) throws(UsageError) -> BatchSettings {
    var batch = BatchSettings()
    batch.jobs = arguments.jobs?.value ?? 0
    batch.jobsPerHost = arguments.connectionsPerHost ?? max(batch.jobs, batch.jobsPerHost)
    batch.inOrder = arguments.inOrder
    batch.failFast = arguments.failFast
    batch.maxAttempts = arguments.maxAttempts
    batch.allowsEmpty = arguments.allowEmpty
    batch.hook = arguments.hook
    return batch
  }

  private static func refuseSharedInput(_ arguments: ParsedArguments) throws(UsageError) {
    guard let input = arguments.input, input.value == "-" else { return }
    for other in [arguments.user, arguments.bearer] {
      if let other, other.value == .standardInput {
        throw UsageError("\(input.option) and \(other.option) can't both read standard input")
      }
    }
  }

  private static func name(
    _ items: inout ItemSource, _ arguments: ParsedArguments
  ) throws(UsageError) {
    guard let template = arguments.nameTemplate else { return }
    if let output = arguments.output {
      throw UsageError("\(template.option) and \(output.option) contradict each other")
    }
    do throws(FetchError) {
      items.nameTemplate = try NameTemplate(template.value)
    } catch {
      throw UsageError("\(template.option) \(error.text)")
    }
  }

  private static func check(
    _ items: inout ItemSource, _ arguments: ParsedArguments, _ environment: CommandEnvironment
  ) throws(UsageError) {
    guard let typed = arguments.checksum else { return }
    switch typed.value {
    case .typed(let text):
      guard items.list == nil, items.arguments.count <= 1 else {
        throw UsageError(
          "\(typed.option) has one checksum for several items; a list of them is given as @FILE")
      }
      do throws(Checksum.Malformed) {
        items.checksum = try Checksum(text)
      } catch {
        throw UsageError("\(typed.option) \(error.message)")
      }
    case .file(let path):
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try environment.read(path)
      } catch {
        throw UsageError("\(typed.option) can't read \(path): \(error.text)")
      }
      do throws(UsageError) {
        items.checksums = try ChecksumList(bytes)
      } catch {
        throw UsageError("\(typed.option): \(path): \(error.message)")
      }
    case .standardInput: break
    }
  }

  private static func shard(
    _ arguments: ParsedArguments, _ environment: CommandEnvironment
  ) throws(UsageError) -> Shard? {
    guard let typed = arguments.shard else { return nil }
    let isAuto = typed.value == "auto"
    do throws(FetchError) {
      return isAuto ? try Shard.auto(environment: environment.variables) : try Shard(typed.value)
    } catch {
      throw UsageError(isAuto ? error.text : "\(typed.option) \(error.text)")
    }
  }

  // MARK: Output

  /// Fails for options that are about a file, which a look doesn't make.
  private static func refuseTargets(
    _ arguments: ParsedArguments, beside probe: Typed<Bool>
  ) throws(UsageError) {
    if let output = arguments.output {
      throw UsageError(
        "\(probe.option) and \(output.option) contradict each other: no file is written; the "
          + "container to look for is named by --format")
    }
    let others = [
      arguments.directory?.option, arguments.overwrite?.option, arguments.skipExisting?.option,
      arguments.keepSource?.option, arguments.lowDisk?.option, arguments.template?.option,
      arguments.null?.option, arguments.nameTemplate?.option, arguments.results?.option,
      arguments.archive?.option, arguments.checksum?.option,
      arguments.hook.isEmpty ? nil : "--exec",
    ]
    if let other = others.lazy.compactMap({ $0 }).first {
      throw UsageError("\(probe.option) and \(other) contradict each other: no file is written")
    }
  }

  /// Fails for what has no place beside an action that fetches nothing.
  private static func refuseFetching(
    _ arguments: ParsedArguments, beside action: Typed<Bool>, archive: Typed<String>?
  ) throws(UsageError) {
    let others = [
      arguments.probe?.option, arguments.input?.option, arguments.output?.option,
      arguments.directory?.option, arguments.nameTemplate?.option, arguments.overwrite?.option,
      arguments.skipExisting?.option, arguments.keepSource?.option, arguments.lowDisk?.option,
      arguments.results?.option, arguments.checksum?.option, arguments.shard?.option,
      arguments.template?.option, archive?.option, arguments.hook.isEmpty ? nil : "--exec",
    ]
    if let other = others.lazy.compactMap({ $0 }).first {
      throw UsageError("\(action.option) and \(other) contradict each other: nothing is fetched")
    }
  }

  private static func destination(
    _ arguments: ParsedArguments
  ) throws(UsageError) -> JobRequest.Destination {
    if let output = arguments.output {
      if let directory = arguments.directory {
        throw UsageError(
          "\(output.option) and \(directory.option) contradict each other: one names the file, the "
            + "other its folder")
      }
      if let input = arguments.input {
        throw UsageError(
          "\(output.option) and \(input.option) contradict each other: one names a single file; a "
            + "folder for a list is named by --directory")
      }
      if arguments.sources.count > 1 {
        throw UsageError(
          "\(output.option) names one file for \(arguments.sources.count) URLs; a folder for them "
            + "is named by --directory")
      }
      return .file(output.value)
    }
    return arguments.directory.map { .directory($0.value) } ?? .temporary(stem: nil)
  }

  private static func existingTarget(
    _ arguments: ParsedArguments
  ) throws(UsageError) -> JobRequest.ExistingTarget {
    if arguments.overwrite != nil, arguments.skipExisting != nil {
      throw UsageError("--overwrite and --skip-existing contradict each other")
    }
    if arguments.overwrite != nil { return .overwrite }
    return arguments.skipExisting != nil ? .skip : .fail
  }

  private static func format(_ arguments: ParsedArguments) throws(UsageError) -> ContainerFormat {
    guard let output = arguments.output else { return arguments.format?.value ?? .mp4 }
    let name = output.value.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: ".") else { return arguments.format?.value ?? .mp4 }
    let suffix = name[name.index(after: dot)...].lowercased()
    let named: ContainerFormat
    switch suffix {
    case "mp4", "m4v": named = .mp4
    case "mov", "qt": named = .mov
    case _ where otherMediaExtensions.contains(suffix):
      throw UsageError(
        "\(output.option) names a .\(suffix) file, but the result is mov or mp4; its name ends in "
          + ".mp4, .m4v, .mov or .qt, or has no media extension")
    default: return arguments.format?.value ?? .mp4
    }
    if let asked = arguments.format, asked.value != named {
      throw UsageError(
        "\(asked.option) \(asked.value.rawValue) and the extension .\(suffix) of \(output.option) "
          + "contradict each other")
    }
    return named
  }

  /// Extensions that promise another container, or a playlist.
  private static let otherMediaExtensions: Set<String> = [
    "3g2", "3gp", "aac", "ac3", "aif", "aiff", "asf", "avi", "divx", "dv", "eac3", "f4v", "flac",
    "flv", "gif", "h264", "h265", "hevc", "ivf", "m1v", "m2t", "m2ts", "m2v", "m3u", "m3u8", "m4a",
    "m4b", "mk3d", "mka", "mkv", "mp2", "mp3", "mpd", "mpe", "mpeg", "mpg", "mts", "mxf", "nut",
    "oga", "ogg", "ogm", "ogv", "opus", "rm", "rmvb", "ts", "vob", "wav", "webm", "wma", "wmv",
    "y4m",
  ]

  // MARK: Export

  private static func export(_ arguments: ParsedArguments) throws(UsageError) -> ExportSettings {
    var settings = ExportSettings()
    let byKind =
      arguments.audio?.option ?? arguments.noAudio?.option ?? arguments.subtitles?.option
    if let streams = arguments.streams, let byKind {
      throw UsageError(
        "\(streams.option) and \(byKind) contradict each other: one names all that is wanted")
    }
    if let audio = arguments.audio, let noAudio = arguments.noAudio {
      throw UsageError("\(audio.option) and \(noAudio.option) contradict each other")
    }
    settings.selection.streams = arguments.streams?.value
    if let audio = arguments.audio { settings.selection.audio = .only(audio.value) }
    if arguments.noAudio != nil { settings.selection.audio = .none }
    settings.selection.subtitles = arguments.subtitles?.value ?? .all
    settings.indexFirst = arguments.indexFirst
    settings.metadata.strips = arguments.stripMetadata
    settings.metadata.changes = arguments.metadata
    settings.isStrict = arguments.strictLossless
    settings.verification = arguments.verification
    return settings
  }

  // MARK: Transfer

  private static func transfer(
    _ arguments: ParsedArguments, _ environment: CommandEnvironment
  ) throws(UsageError) -> TransferSettings {
    var settings = TransferSettings()
    settings.connections = arguments.connections ?? settings.connections
    settings.connectionsPerHost = arguments.connectionsPerHost
    settings.retries = arguments.retries ?? settings.retries
    settings.retryMaxTime = arguments.retryMaxTime ?? settings.retryMaxTime
    settings.connectTimeout = arguments.connectTimeout ?? settings.connectTimeout
    settings.stallTimeout = arguments.stallTimeout ?? settings.stallTimeout
    settings.rateLimit = arguments.limitRate.flatMap { $0 == 0 ? nil : $0 }
    settings.maxFileSize = arguments.maxFileSize.flatMap { $0 == 0 ? nil : $0 }
    settings.proxy = arguments.proxy
    settings.allowPrivate = arguments.allowPrivate
    settings.allowDowngrade = arguments.allowDowngrade
    settings.userAgent = arguments.userAgent
    settings.referer = arguments.referer
    if let caFile = arguments.caFile {
      do throws(SystemError) {
        _ = try environment.read(caFile.value)
      } catch {
        throw UsageError("\(caFile.option) can't read \(caFile.value): \(error.text)")
      }
      settings.caFile = caFile.value
    }

    if let user = arguments.user, user.value == .standardInput, let bearer = arguments.bearer,
      bearer.value == .standardInput
    {
      throw UsageError("\(user.option) and \(bearer.option) can't both read standard input")
    }
    for header in arguments.headers {
      for line in try lines(header, environment) {
        settings.headers.append(try RequestText.header(line, header.option))
      }
    }
    for cookie in arguments.cookies {
      for line in try lines(cookie, environment) {
        settings.cookies.append(try RequestText.cookie(line, cookie.option))
      }
    }
    if let user = arguments.user {
      let line = try lines(user, environment).first ?? ""
      settings.user = try RequestText.user(line, user.option)
    }
    if let bearer = arguments.bearer {
      let line = try lines(bearer, environment).first ?? ""
      settings.bearerToken = try RequestText.bearer(line, bearer.option)
    }
    return settings
  }

  /// The lines of a value: the one that was typed, or those of a file that aren't empty.
  private static func lines(
    _ typed: Typed<ValueSource>, _ environment: CommandEnvironment
  ) throws(UsageError) -> [String] {
    let path: String
    switch typed.value {
    case .typed(let text): return [text]
    case .file(let file): path = file
    case .standardInput: path = "-"
    }
    let name = path == "-" ? "standard input" : path
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try environment.read(path)
    } catch {
      throw UsageError("\(typed.option) can't read \(name): \(error.text)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw UsageError("\(typed.option) can't use \(name): it is not valid UTF-8")
    }
    // A carriage return and a line feed are one Character.
    let lines = text.split { $0 == "\n" || $0 == "\r\n" }.map(String.init)
    if lines.isEmpty { throw UsageError("\(typed.option) finds nothing in \(name)") }
    return lines
  }

  // MARK: Style

  private static func style(
    _ arguments: ParsedArguments, _ environment: CommandEnvironment
  ) throws(UsageError) -> OutputStyle {
    var style = OutputStyle()
    style.verbosity = arguments.verbosity
    let isPlain =
      !environment.standardErrorIsTerminal || environment.isDumb
      || environment.isContinuousIntegration
    switch arguments.progress?.value ?? .auto {
    case .bar: style.progress = .bar
    case .plain: style.progress = .plain
    case .json: style.progress = .json
    case .none: style.progress = .none
    case .auto: style.progress = arguments.verbosity < 0 ? .none : isPlain ? .plain : .bar
    }
    switch arguments.color ?? .auto {
    case .always: style.usesColor = true
    case .never: style.usesColor = false
    case .auto:
      style.usesColor =
        environment.standardErrorIsTerminal && !environment.isDumb && !environment.refusesColor
    }
    if let json = arguments.json {
      if let other = arguments.template?.option ?? arguments.null?.option {
        throw UsageError("\(json.option) and \(other) contradict each other")
      }
      style.results = .json
    } else if let template = arguments.template {
      style.results = .template(template.value)
    }
    if arguments.null != nil { style.terminator = 0 }
    style.showsPaths = style.results == .paths && environment.standardOutputIsTerminal
    return style
  }
}
