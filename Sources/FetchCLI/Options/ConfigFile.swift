// The configuration file: one option a line, by its long name, through the rows of the table.
//
//     # a comment
//     directory = ~/Videos
//     limit-rate 2M
//     --skip-existing
//
// A value is the rest of its line without the space around it; there is no quoting. A file of 1 MiB is
// read whole, and a longer one refused. Pure, but for `read`.

package import FetchCore
import Glibc

/// Reader of the configuration file.
package enum ConfigFile {
  /// What stands in a file, and whether its owner alone can read it.
  package struct Content: Sendable {
    package let bytes: [UInt8]
    package let isPrivate: Bool

    package init(_ bytes: [UInt8], isPrivate: Bool) {
      self.bytes = bytes
      self.isPrivate = isPrivate
    }
  }

  /// The option that keeps the file from being read.
  static let refusal = "no-config"

  /// What is done instead of fetching, what a single run means, and what runs a program.
  private static let unfit: Set<String> = [
    "help", "version", "generate", "probe", "report", "history", "exec", "input",
    "report-format", refusal,
  ]

  /// Where the file is: `$XDG_CONFIG_HOME/vidfetch/config`, else `~/.config/vidfetch/config`.
  package static func path(_ variables: [String: String]) -> String? {
    // A relative one is to be ignored (XDG Base Directory Specification).
    if let folder = variables["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
      return folder + "/vidfetch/config"
    }
    guard let home = variables["HOME"], home.hasPrefix("/") else { return nil }
    return home + "/.config/vidfetch/config"
  }

  /// The options of the file at its place; none where there is no file.
  package static func options(
    _ variables: [String: String], reading read: CommandEnvironment.ConfigurationReader
  ) throws(UsageError) -> [GivenOption] {
    guard let path = path(variables) else { return [] }
    let content: Content?
    do throws(SystemError) {
      content = try read(path)
    } catch {
      throw UsageError("can't read \(path): \(error.text)")
    }
    return try content.map { content throws(UsageError) in
      try parse(content, path: path, home: variables["HOME"])
    } ?? []
  }

  /// Parses a file's content.
  package static func parse(
    _ content: Content, path: String, home: String?
  ) throws(UsageError) -> [GivenOption] {
    guard let text = String(validating: content.bytes, as: UTF8.self) else {
      throw UsageError("\(path) is not valid UTF-8")
    }
    var options: [GivenOption] = []
    // A carriage return and a line feed are one Character.
    let lines = text.drop { $0 == "\u{FEFF}" }.split(omittingEmptySubsequences: false) {
      $0 == "\n" || $0 == "\r\n"
    }
    for (index, line) in lines.enumerated() {
      do throws(UsageError) {
        guard let given = try option(trimmed(line), home: home) else { continue }
        if !content.isPrivate, given.isSecret {
          throw UsageError(
            "\(given.occurrence.option) gives a secret in a file that others can read (chmod 600)")
        }
        // The value is checked here, where the line is known.
        var unused = ParsedArguments()
        try given.row.update(&unused, given.occurrence)
        options.append(given)
      } catch {
        throw UsageError(
          "\(path), line \(index + 1): \(error.message)", didYouMean: error.suggestion)
      }
    }
    return options
  }

  /// Reads the file of that path.
  @Sendable package static func read(_ path: String) throws(SystemError) -> Content? {
    do throws(SystemError) {
      var status = stat()
      _ = try retryingInterrupts("stat") { stat(path, &status) }
      // Nobody may ever write to a pipe.
      if status.st_mode & S_IFMT == S_IFIFO { throw SystemError("open", errno: EINVAL) }
      let isPrivate = status.st_mode & (S_IRGRP | S_IROTH) == 0
      return Content(try readSmallFile(path), isPrivate: isPrivate)
    } catch {
      if error.isMissingFile { return nil }
      throw error
    }
  }

  /// The option of a line; nil for a blank one or a comment.
  private static func option(
    _ line: Substring, home: String?
  ) throws(UsageError) -> GivenOption? {
    guard let first = line.unicodeScalars.first, first != "#" else { return nil }
    var rest = line
    if rest.hasPrefix("--") { rest.removeFirst(2) }
    let name = String(rest.prefix { $0 != "=" && $0 != " " && $0 != "\t" })
    rest = trimmed(rest.dropFirst(name.count))
    let hasSign = rest.first == "="
    let value = hasSign ? String(trimmed(rest.dropFirst())) : String(rest)

    let known = OptionTable.rows.compactMap(\.long)
    guard let row = OptionTable.rows.first(where: { $0.long == name }) else {
      let longer = OptionTable.rows.first { $0.short.map { "-\($0)" } == name }?.long
      let meant = longer ?? Spelling.nearest(to: name, among: known)
      throw UsageError("'\(name)' is no option", didYouMean: meant)
    }
    let option = "--\(name)"
    if unfit.contains(name) {
      throw UsageError("\(option) belongs on the command line")
    }
    guard let shape = row.value else {
      if hasSign || !value.isEmpty { throw UsageError("\(option) takes no value") }
      return GivenOption(row, .init(option: option, value: ""))
    }
    if !hasSign, value.isEmpty { throw UsageError("\(option) needs a value") }
    return GivenOption(
      row, .init(option: option, value: try expanded(value, shape.completion, home, option)))
  }

  /// The home folder for a `~` that a shell would have taken care of.
  private static func expanded(
    _ value: String, _ hint: CompletionHint, _ home: String?, _ option: String
  ) throws(UsageError) -> String {
    guard hint == .file || hint == .directory, value.hasPrefix("~/") else { return value }
    guard let home, home.hasPrefix("/") else {
      throw UsageError("\(option) has a '~/', and HOME is not set")
    }
    return home + value.dropFirst()
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
    return text
  }
}

extension GivenOption {
  /// Whether the value itself is a secret; one that says where the secret is read is none.
  fileprivate var isSecret: Bool {
    let value = occurrence.value
    guard row.isSecret, !value.hasPrefix("@"), value != "-" else { return false }
    guard row.long == "proxy" else { return true }
    return UserInfo.range(in: Array(value.utf8), needsScheme: false) != nil
  }
}
