import FetchCLI
import FetchCore
import Glibc
import Testing
import VidFetchKit

@Suite struct SettingsTests {
  private func settings(
    _ words: [String], _ variables: [String: String] = [:], terminal: Bool = true,
    files: [String: String] = [:]
  ) throws -> Settings {
    let outcome = ArgumentParser.parse(words)
    if let error = outcome.error { throw error }
    let environment = CommandEnvironment(
      variables: variables, standardOutputIsTerminal: terminal, standardErrorIsTerminal: terminal
    ) { path throws(SystemError) in
      guard let text = files[path] else { throw SystemError("open", errno: ENOENT) }
      return Array(text.utf8)
    }
    return try Settings(outcome.arguments, environment)
  }

  private func complaint(_ words: [String], files: [String: String] = [:]) -> String? {
    do {
      _ = try settings(words, files: files)
      return nil
    } catch {
      return (error as? UsageError)?.message
    }
  }

  @Test(
    arguments: [
      ([], .mp4), (["-f", "mov"], .mov), (["-o", "a.mp4"], .mp4), (["-o", "a.M4V"], .mp4),
      (["-o", "a.mov"], .mov), (["-o", "a.QT"], .mov), (["-o", "a"], .mp4),
      (["-o", "a", "-f", "mov"], .mov), (["-o", "d.mov/a"], .mp4), (["-o", "film.2024"], .mp4),
      (["-o", "a.mov", "-f", "mov"], .mov), (["-o", "a.m4v", "-f", "mp4"], .mp4),
    ] as [([String], ContainerFormat)])
  func extensionDecidesFormat(words: [String], format: ContainerFormat) throws {
    #expect(try settings(words + ["u"]).requests.first?.format == format)
  }

  @Test(arguments: [
    ["-o", "a.mov", "-f", "mp4", "u"], ["-o", "a.mp4", "-f", "mov", "u"], ["-o", "a.mkv", "u"],
    ["-o", "a.webm", "-f", "mp4", "u"], ["-o", "a.m3u8", "u"], ["-o", "a", "-d", "b", "u"],
    ["-o", "a", "u", "v"], ["--overwrite", "--skip-existing", "u"], [], ["-q"], [""], ["u", ""],
    ["--json", "--print", "{url}", "u"], ["--json", "-0", "u"], ["--cacert", "gone.pem", "u"],
    ["-H", "@gone", "u"], ["-u", "-", "--bearer-file", "-", "u"],
  ])
  func refusesContradictions(words: [String]) {
    #expect(complaint(words) != nil)
  }

  @Test func namesTheOptionAsItWasTyped() {
    #expect(
      complaint(["--output=a.mov", "-f", "mp4", "u"])
        == "-f mp4 and the extension .mov of --output contradict each other")
  }

  @Test func manyURLsMayShareAFolder() throws {
    let requests = try settings(["-d", "out", "u", "v", "w"]).requests
    #expect(requests.map(\.source) == ["u", "v", "w"])
    #expect(requests.allSatisfy { $0.destination == .directory("out") })
  }

  @Test func passesEachTransferOption() throws {
    let words = [
      "--retries", "2", "--retry-max-time", "1m", "--connect-timeout", "3", "--stall-timeout",
      "4s", "--limit-rate", "5k", "--max-filesize", "6M", "--proxy", "socks5h://p", "-A", "agent",
      "-e", "https://r/", "--allow-private", "--allow-downgrade", "--no-faststart",
      "--keep-source", "--skip-existing", "u",
    ]
    let request = try #require(try settings(words).requests.first)
    #expect(request.transfer.retries == 2)
    #expect(request.transfer.retryMaxTime == .seconds(60))
    #expect(request.transfer.connectTimeout == .seconds(3))
    #expect(request.transfer.stallTimeout == .seconds(4))
    #expect(request.transfer.rateLimit == 5000)
    #expect(request.transfer.maxFileSize == 6_000_000)
    #expect(request.transfer.proxy == "socks5h://p")
    #expect(request.transfer.userAgent == "agent")
    #expect(request.transfer.referer == "https://r/")
    #expect(request.transfer.allowPrivate && request.transfer.allowDowngrade)
    #expect(!request.export.indexFirst && request.keepsSource)
    #expect(request.existingTarget == .skip)
  }

  @Test func passesEachExportOption() throws {
    let words = [
      "--audio", "en,ger", "--subtitles", "fr", "--metadata", "title=A=B", "--metadata", "date=",
      "--strip-metadata", "--strict-lossless", "--verify", "hash", "u",
    ]
    let export = try #require(try settings(words).requests.first).export
    #expect(export.selection.audio == .only([LanguageCode("eng"), LanguageCode("deu")]))
    #expect(export.selection.subtitles == .only([LanguageCode("fra")]))
    #expect(
      export.metadata.changes == [
        .init(key: "title", value: "A=B"), .init(key: "date", value: ""),
      ])
    #expect(export.metadata.strips && export.isStrict && export.verification == .hash)
    let streams = try settings(["--streams", "v,a:1,7", "u"]).requests[0].export.selection.streams
    #expect(streams == [.kind(.video), .kind(.audio, ordinal: 1), .index(7)])
    #expect(try settings(["--no-audio", "u"]).requests[0].export.selection.audio == .none)
    let subtitles = { (word: String) throws in
      try self.settings(["--subtitles", word, "u"]).requests[0].export.selection.subtitles
    }
    #expect(try subtitles("all") == .all && subtitles("none") == .none)
  }

  @Test(arguments: [
    (["--audio", "en", "--no-audio"], "--audio and --no-audio contradict each other"),
    (["--streams", "0", "--no-audio"], "--streams and --no-audio contradict each other"),
    (["--subtitles", "en", "--streams", "0"], "--streams and --subtitles contradict each other"),
    (["--streams", "0,x"], "--streams needs numbers"), (["--streams", ""], "--streams needs"),
    (["--audio", "english"], "--audio needs a language"), (["--audio", "en,"], "--audio needs"),
    (["--metadata", "title"], "--metadata needs KEY=VALUE"), (["--metadata", "=x"], "KEY=VALUE"),
    (["--metadata", "a b=x"], "printable ASCII"),
    (["--metadata", "Encoder=x"], "can't set Encoder"),
    (["--verify", "slow"], "--verify knows fast, hash"),
  ])
  func refusesAContradictorySelectionBeforeAnythingIsStarted(words: [String], text: String) {
    #expect(complaint(words + ["u"])?.contains(text) == true)
  }

  @Test func littleDiskAndAKeptSourceContradictEachOther() throws {
    #expect(try settings(["--low-disk", "u"]).requests[0].savesDisk)
    #expect(
      complaint(["--low-disk", "--keep-source", "u"])?.contains(
        "--keep-source and --low-disk contradict each other") == true)
    #expect(
      complaint(["--low-disk", "-x", "4", "u"])?.contains(
        "--connections and --low-disk contradict each other") == true)
    #expect(complaint(["--low-disk", "-x", "1", "u"]) == nil)
  }

  @Test func defaultsAreTheEngines() throws {
    let request = try #require(try settings(["u"]).requests.first)
    #expect(request.transfer == TransferSettings())
    #expect(request.destination == .temporary(stem: nil))
    #expect(request.existingTarget == .fail && request.export.indexFirst && !request.keepsSource)
    #expect(!request.savesDisk)
  }

  @Test func zeroIsNoLimit() throws {
    let transfer = try settings(["--limit-rate", "0", "--max-filesize", "0", "u"]).requests[0]
      .transfer
    #expect(transfer.rateLimit == nil && transfer.maxFileSize == nil)
  }

  @Test func readsSecretsFromFiles() throws {
    let files = [
      "h": "X-One: 1\r\n\r\nX-Two:  2 \n", "c": "a=1\nb=2\n", "-": "me:p:w\nrest\n", "t": "T0K\n",
    ]
    let words = ["-H", "@h", "-b", "@c", "-u", "-", "--bearer-file", "t", "-b", "c=3", "u"]
    let transfer = try settings(words, files: files).requests[0].transfer
    #expect(
      transfer.headers == [
        HeaderField(name: "X-One", value: "1"), HeaderField(name: "X-Two", value: "2"),
      ])
    #expect(transfer.cookies == ["a=1", "b=2", "c=3"])
    #expect(transfer.user == UserCredentials(user: "me", password: "p:w"))
    #expect(transfer.bearerToken == "T0K")
  }

  @Test func neverRepeatsAFilesContents() throws {
    let message = try #require(complaint(["-H", "@h", "u"], files: ["h": "s3cret\n"]))
    #expect(!message.contains("s3cret"))
    #expect(complaint(["--bearer-file", "t", "u"], files: ["t": "\n\n"]) != nil)
    #expect(complaint(["--bearer-file", "t", "u"], files: ["t": "two words\n"]) != nil)
  }

  @Test(
    arguments: [
      ([], [:], true, .bar), ([], ["CI": "true"], true, .plain), ([], ["CI": ""], true, .bar),
      ([], ["CI": "false"], true, .bar), ([], ["TERM": "dumb"], true, .plain),
      ([], [:], false, .plain), (["-q"], [:], true, .none), (["--progress=bar"], [:], false, .bar),
      (["--progress=json"], ["CI": "1"], true, .json),
      (["-q", "--progress=json"], [:], true, .json),
      (["--progress=none"], [:], true, .none),
    ] as [([String], [String: String], Bool, OutputStyle.Progress)])
  func choosesTheProgressStyle(
    words: [String], variables: [String: String], terminal: Bool, style: OutputStyle.Progress
  ) throws {
    #expect(try settings(words + ["u"], variables, terminal: terminal).style.progress == style)
  }

  @Test(
    arguments: [
      ([], [:], true, true), ([], ["NO_COLOR": "1"], true, false),
      ([], ["NO_COLOR": ""], true, true),
      ([], ["TERM": "dumb"], true, false), ([], [:], false, false),
      (["--color=always"], ["NO_COLOR": "1"], false, true), (["--color=never"], [:], true, false),
    ] as [([String], [String: String], Bool, Bool)])
  func choosesColour(
    words: [String], variables: [String: String], terminal: Bool, color: Bool
  ) throws {
    #expect(try settings(words + ["u"], variables, terminal: terminal).style.usesColor == color)
  }
}

@Suite struct SmallFileTests {
  @Test func refusesWhatNeverEnds() {
    #expect(throws: SystemError("read", errno: EFBIG)) { try readSmallFile("/dev/zero") }
    #expect(throws: SystemError("open", errno: ENOENT)) { try readSmallFile("/nonexistent") }
  }
}
