// Where a job's result goes: the folder, the name once it can be known, and what happens where that
// name is taken.

import FetchCore
import FoundationEssentials
import PartialStorage

/// The place of a result.
struct JobTarget: Sendable {
  /// What is known about the name before anything is fetched.
  private enum Naming: Sendable {
    case exact(String)
    /// Known but for the title.
    case template(NameTemplate, NameTemplate.Item)
    case proposed
  }

  let folder: Folder
  let format: ContainerFormat
  private let naming: Naming
  private let existing: JobRequest.ExistingTarget
  private let keepsSource: Bool
  /// Whether the part gives room back while it is exported.
  let savesDisk: Bool
  /// The private folder numbers its names; elsewhere a taken name is the person's business.
  private let numbersNames: Bool
  /// The run that this is an item of, and what the item is known by in it.
  private let run: (limits: SharedLimits, key: ResourceKey)?
  /// A result of an earlier job for the same source, which this one may replace while it is as it was
  /// recorded.
  var replaceable: ArchivedFile?
  /// The path of an earlier result that is no longer as it was recorded: nobody can want it as it is,
  /// but what it is now may be somebody's work.
  var changed: String?

  /// Opens the folder that a request names.
  ///
  /// - Throws: `.output` where the folder is missing or can't be written to, or where the path can't
  ///   be a file's.
  init(_ request: JobRequest) throws(FetchError) {
    format = request.format
    existing = request.existingTarget
    keepsSource = request.keepsSource
    savesDisk = request.savesDisk && !request.keepsSource
    run = request.limits.map {
      ($0, ResourceKey(normalizedURL: SourceIdentity(request.source).normalized))
    }
    switch request.destination {
    case .temporary(let wanted):
      folder = try Folder.privateTemporary(in: Self.temporaryDirectory)
      naming = Self.naming(wanted, request)
      numbersNames = true
    case .directory(let path, let wanted):
      folder = try Folder.made(path)
      naming = Self.naming(wanted, request)
      numbersNames = false
    case .file(let path):
      let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
      guard !name.isEmpty, name != ".", name != ".." else {
        throw FetchError(.output, "\(path) is a folder", recovery: "use -d for a folder")
      }
      guard name.utf8.count <= 255 else {
        throw FetchError(.output, "the file name is longer than 255 bytes")
      }
      folder = try Folder.existing(Folder.parent(of: path))
      naming = .exact(name)
      numbersNames = false
    }
    try folder.requireWritable()
  }

  private static func naming(_ wanted: JobRequest.Naming, _ request: JobRequest) -> Naming {
    switch wanted {
    case .proposed: .proposed
    case .stem(let stem): .exact(OutputName.name(from: [stem], format: request.format))
    case .name(let name): .exact(name)
    case .template(let template, let index):
      .template(template, .init(SourceIdentity(request.source), request.format, index: index))
    }
  }

  /// The name, where nothing that is still to come can change it.
  var nameIfKnown: String? {
    switch naming {
    case .exact(let name): name
    case .template(let template, let item):
      template.namesTitle ? nil : template.name(of: item, title: nil)
    case .proposed: nil
    }
  }

  /// Whether the private folder is the target, in which names and parts give way to others.
  var isPrivate: Bool { numbersNames }

  /// The result's name before any number.
  ///
  /// - Parameter proposals: from the server and the URL, in order of preference.
  func name(from proposals: [String?]) -> String {
    switch naming {
    case .exact(let name): name
    case .template(let template, let item):
      template.name(of: item, title: OutputName.stem(from: proposals))
    case .proposed: OutputName.name(from: proposals, format: format)
    }
  }

  func path(of name: String) -> String {
    folder.path == "/" ? "/" + name : folder.path + "/" + name
  }

  /// Whether the target is there already and wanted as it is.
  ///
  /// - Parameter source: a local source, which an output must never replace.
  /// - Throws: `.output` where the name is taken and must not be touched.
  func isSatisfied(by name: String, source: FileStatus? = nil) throws(FetchError) -> Bool {
    guard !numbersNames, let status = folder.status(of: name) else { return false }
    let resolved = folder.resolvedStatus(of: name) ?? status
    if let source, source.isSameFile(as: resolved) {
      throw FetchError(
        .output, "the output \(path(of: name)) is the source itself",
        recovery: "give the result another name")
    }
    if resolved.isFolder {
      throw FetchError(.output, "\(path(of: name)) is a folder", recovery: "use -d for a folder")
    }
    // A pipe or a device that had the name would be gone.
    guard resolved.isRegularFile || existing == .fail else {
      throw FetchError(
        .output, "\(path(of: name)) is no regular file", recovery: "give the result another name")
    }
    if existing != .fail, let run, run.limits.isClaimed(path(of: name), against: run.key) {
      throw madeByAnother(name)
    }
    if isReplaceable(name, resolved) { return false }
    switch existing {
    case .skip where path(of: name) != changed: return true
    case .overwrite: return false
    case .fail, .skip: throw taken(name)
    }
  }

  private func madeByAnother(_ name: String) -> FetchError {
    FetchError(
      .output, "another item of this run has made \(path(of: name))",
      recovery: "give each its own name, as by --name '{index}-{title}'")
  }

  /// Fails where the source is to be kept beside the result and can't be.
  func checkSourceName(for name: String, source: String) throws(FetchError) {
    // In the private folder the result's name, and so this one, is found only at the end.
    guard keepsSource, !numbersNames else { return }
    let sourceName = OutputName.sourceName(for: name, source: source)
    guard sourceName.utf8.count <= 255 else {
      throw FetchError(.output, "the source's name beside the result would be too long")
    }
    guard existing != .overwrite, folder.contains(sourceName) else { return }
    throw taken(sourceName)
  }

  /// Gives the output its name.
  ///
  /// Returns the path that it has now; nil where the name was taken in the meantime, and that file is
  /// wanted as it is.
  ///
  /// - Parameter attempting: told each name right before it is tried.
  /// - Throws: `.output` where the name was taken in the meantime, and the errors of publishing.
  func publish(
    _ output: OutputFile, as name: String, attempting: (String) throws(FetchError) -> Void
  ) throws(FetchError) -> String? {
    guard numbersNames else {
      if existing != .fail, let run, !run.limits.claim(path(of: name), for: run.key) {
        throw madeByAnother(name)
      }
      try attempting(name)
      let replacing = existing == .overwrite || isReplaceable(name)
      if try output.publish(as: name, replacing: replacing) == .published { return path(of: name) }
      if try isSatisfied(by: name) { return nil }
      throw taken(name)
    }
    if let name = replaceable?.path.lastComponent, isOwnName(name), isReplaceable(name) {
      try attempting(name)
      _ = try output.publish(as: name, replacing: true)
      return path(of: name)
    }
    for number in 1...10_000 {
      let candidate = OutputName.numbered(name, number)
      if folder.contains(candidate) { continue }
      try attempting(candidate)
      if try output.publish(as: candidate, replacing: false) == .published {
        return path(of: candidate)
      }
    }
    throw taken(name)
  }

  /// Whether what stands under a name is the result that may be replaced.
  private func isReplaceable(_ name: String) -> Bool {
    folder.resolvedStatus(of: name).map { isReplaceable(name, $0) } ?? false
  }

  private func isReplaceable(_ name: String, _ status: FileStatus) -> Bool {
    guard let replaceable, replaceable.path == path(of: name), status.isRegularFile else {
      return false
    }
    return status.size == replaceable.size && status.modified == replaceable.modified
  }

  /// Whether a part's record shows that an earlier run published this very output and died before
  /// it could remove the part.
  ///
  /// Returns the path.
  func published(by record: ResumeRecord) -> String? {
    guard let publication = record.publication,
      isOwnName(publication.name),
      let status = folder.status(of: publication.name),
      status.device == publication.device, status.inode == publication.inode,
      status.size == publication.size, status.modified == publication.modified
    else { return nil }
    return path(of: publication.name)
  }

  /// Whether a path as typed is the absolute one.
  static func isSame(_ typed: String, _ absolute: String) -> Bool {
    if typed == absolute { return true }
    guard let folder = try? Folder.existing(Folder.parent(of: typed)) else { return false }
    let name = typed.lastIndex(of: "/").map { String(typed[typed.index(after: $0)...]) } ?? typed
    return (folder.path == "/" ? "/" : folder.path + "/") + name == absolute
  }

  /// `$TMPDIR`, where that says something, else `/tmp`.
  static var temporaryDirectory: String {
    let path = FileManager.default.temporaryDirectory.path
    return path.isEmpty || path == "/" ? "/tmp" : path
  }

  /// Whether this job might have given its result that name.
  private func isOwnName(_ name: String) -> Bool {
    guard let known = nameIfKnown else { return name.hasSuffix("." + format.rawValue) }
    return numbersNames ? OutputName.isNumbered(name, of: known) : name == known
  }

  private func taken(_ name: String) -> FetchError {
    if path(of: name) == changed {
      return FetchError(
        .output, "\(path(of: name)) exists already, and is not what the archive recorded",
        reason: "somebody has changed it, or it is damaged",
        recovery: "use --overwrite to have it fetched again, or another name")
    }
    return FetchError(
      .output, "\(path(of: name)) exists already",
      recovery: "use --overwrite, --skip-existing or another name"
    )
  }
}
