// Exactly what was typed, checked for its form alone: no environment, no file, no terminal has been
// looked at. `Settings` resolves it.

package import FetchCore

/// A value and the option that brought it, so that a later complaint can name what was typed.
package struct Typed<Value: Sendable & Hashable>: Sendable, Hashable {
  package var value: Value
  /// As typed, such as `-o` or `--output`.
  package var option: String

  package init(_ value: Value, option: String) {
    self.value = value
    self.option = option
  }
}

/// Where a value comes from that may be too secret for the command line.
package enum ValueSource: Sendable, Hashable {
  case typed(String)
  case file(String)
  case standardInput
}

/// The texts that `--generate` makes.
package enum GeneratedText: String, Sendable, Hashable, CaseIterable {
  case man, bash, zsh, fish
}

/// The values of `--progress`.
package enum ProgressChoice: String, Sendable, Hashable, CaseIterable {
  case auto, bar, plain, json, none
}

/// The values of `--color`.
package enum ColorChoice: String, Sendable, Hashable, CaseIterable {
  case auto, always, never
}

/// The words of one command line, taken apart.
package struct ParsedArguments: Sendable, Hashable {
  /// What the command is to do instead of fetching.
  package enum Action: Sendable, Hashable {
    case fetch, shortHelp, longHelp, version
    case generate(GeneratedText)
  }

  package var action = Action.fetch
  /// URLs and paths, as typed, in order.
  package var sources: [String] = []

  package var format: Typed<ContainerFormat>?
  package var output: Typed<String>?
  package var directory: Typed<String>?
  package var overwrite: Typed<Bool>?
  package var skipExisting: Typed<Bool>?
  package var keepSource: Typed<Bool>?
  package var lowDisk: Typed<Bool>?

  package var nameTemplate: Typed<String>?

  package var input: Typed<String>?
  package var allowEmpty = false
  package var jobs: Typed<Int>?
  package var inOrder = false
  package var failFast = false
  package var maxAttempts: Int?
  package var shard: Typed<String>?
  package var archive: Typed<String>?
  package var key: Typed<String>?
  package var refresh: Typed<Bool>?
  /// The words of --exec, the command first; empty where there is none.
  package var hook: [String] = []

  package var checksum: Typed<ValueSource>?
  package var connections: Int?
  package var connectionsPerHost: Int?
  package var retries: Int?
  package var retryMaxTime: Duration?
  package var connectTimeout: Duration?
  package var stallTimeout: Duration?
  package var limitRate: Int64?
  package var maxFileSize: Int64?
  package var proxy: String?
  package var caFile: Typed<String>?
  package var allowPrivate = false
  package var allowDowngrade = false

  package var headers: [Typed<ValueSource>] = []
  package var user: Typed<ValueSource>?
  package var bearer: Typed<ValueSource>?
  package var cookies: [Typed<ValueSource>] = []
  package var userAgent: String?
  package var referer: String?

  package var streams: Typed<[StreamSelection.Specifier]>?
  package var audio: Typed<[LanguageCode]>?
  package var noAudio: Typed<Bool>?
  package var subtitles: Typed<StreamSelection.ByLanguage>?
  package var indexFirst = true
  package var metadata: [MetadataEdits.Change] = []
  package var stripMetadata = false
  package var strictLossless = false
  package var verification = ExportSettings.Verification.fast

  package var progress: Typed<ProgressChoice>?
  /// -1 for `-q`, 0, and 1 for each `-v`.
  package var verbosity = 0
  package var color: ColorChoice?

  package var probe: Typed<Bool>?
  package var json: Typed<Bool>?
  package var template: Typed<ResultTemplate>?
  package var null: Typed<Bool>?
  package var results: Typed<String>?
  package var report: Typed<Bool>?
  package var reportFormat: Typed<ReportFormat>?
  package var history: Typed<Bool>?

  package var noConfig = false

  package init() {}
}
