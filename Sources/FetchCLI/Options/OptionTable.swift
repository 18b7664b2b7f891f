// Every option of vidfetch, once. An option that isn't a row here doesn't exist; one that is has its
// parser, its line in the help, its paragraph in the man page and its completions.

import FetchCore

/// The option table.
package enum OptionTable {
  /// All rows, in the order of the help.
  package static let rows: [OptionDefinition] =
    output + transfer + request + export + display + results + general

  // MARK: Output

  private static let output: [OptionDefinition] = [
    OptionDefinition(
      "f", "format", value: OptionValue("FORMAT", .choices(["mov", "mp4"])), in: .output,
      "container: mov or mp4 (default: by -o, else mp4)",
      details: """
        The container of the result: mov or mp4. Without it the extension of the --output file \
        decides (.mp4 and .m4v, .mov and .qt); without one it is mp4. A format that contradicts \
        the extension is an error.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.format = Typed(try choice(ContainerFormat.self, typed), option: typed.option)
    },
    OptionDefinition(
      "o", "output", value: OptionValue("FILE", .file), in: .output,
      "write to exactly this file",
      details: """
        Writes to exactly this file, whose folder must exist. The name is taken as it is typed. It \
        appears whole, once the result is verified, and never replaces an existing file unless \
        --overwrite is given. It can't be standard output: what isn't verified yet is not handed on.
        """
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      if typed.value == "-" {
        throw UsageError(
          "\(typed.option) can't be standard output: a result is published as a whole file",
          didYouMean: "./-")
      }
      arguments.output = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      "d", "directory", value: OptionValue("DIR", .directory), in: .output,
      "write into this folder, named as the server says",
      details: """
        Writes into this folder, which is made if it is missing. The file's name is taken from the \
        server's Content-Disposition, else from the URL, and made safe.
        """
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a folder") }
      arguments.directory = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "overwrite", in: .output, "replace an existing file",
      details: """
        Replaces an existing file, by one rename when the new one is complete and verified. Without \
        it an existing file ends the item with exit status 41.
        """
    ) { arguments, typed in arguments.overwrite = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "skip-existing", in: .output, "count an existing file as done",
      details: """
        Counts an item whose file exists as done: nothing is fetched, its path is printed and the \
        exit status is 0.
        """
    ) { arguments, typed in arguments.skipExisting = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "keep-source", in: .output, "keep the source too, as NAME.source.EXT",
      details: """
        Keeps the file as it was downloaded beside the result, as NAME.source.EXT.
        """
    ) { arguments, typed in arguments.keepSource = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "low-disk", in: .output, "need little more room than the result takes",
      details: """
        Gives the room of what is exported back while the download goes on, so that about 1.1 times \
        the result's size has to fit on the disk, and not twice that. Works for mp4 and QuickTime \
        with the index first, Matroska, WebM and MPEG-TS, as far as the export keeps pace; other \
        sources stay whole until the end. One connection is used. A download that ends early can't \
        be resumed by another run: it begins anew.
        """
    ) { arguments, typed in arguments.lowDisk = Typed(true, option: typed.option) },
  ]

  // MARK: Transfer

  private static let transfer: [OptionDefinition] = [
    OptionDefinition(
      "x", "connections", value: OptionValue("N"), in: .transfer,
      "connections side by side (default: as it pays)",
      details: """
        Fetches a source over N connections side by side, at once. The default, 0, begins with one \
        and adds others, up to 16, for as long as they make it faster; 1 never uses a second. Ranges \
        are fetched side by side only where the server names the version of what it sends by a \
        strong ETag, and each range repeats it.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.connections = try count(typed, from: 0, to: TransferSettings.mostConnections)
    },
    OptionDefinition(
      nil, "max-per-host", value: OptionValue("N"), in: .transfer,
      "no more connections than this to one host",
      details: """
        Has no more than N connections to one host at a time, whatever --connections says.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.connectionsPerHost = try count(typed, from: 1, to: 1_000)
    },
    OptionDefinition(
      nil, "retries", value: OptionValue("N"), in: .transfer,
      "retries without new bytes (default: 5)",
      details: """
        How often a transfer is tried again after an attempt that brought no new byte; any new byte \
        starts the count anew. The default is 5, and 0 gives up at the first failure. The waits \
        grow from 1 to 30 seconds, with jitter; a server's Retry-After is obeyed.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.retries = try count(typed, from: 0, to: 1_000_000)
    },
    OptionDefinition(
      nil, "retry-max-time", value: OptionValue("TIME"), in: .transfer,
      "no retry this long after the last byte (10m)",
      details: """
        No attempt is begun once this time has passed since the last new byte. The default is 10m. \
        TIME is a number of seconds, or one with the unit ms, s, m or h.
        """
    ) { arguments, typed throws(UsageError) in arguments.retryMaxTime = try time(typed) },
    OptionDefinition(
      nil, "connect-timeout", value: OptionValue("TIME"), in: .transfer,
      "give up a connection not made by then (15s)",
      details: """
        Gives up an attempt whose connection, TLS included, isn't made within this time. The \
        default is 15s.
        """
    ) { arguments, typed throws(UsageError) in arguments.connectTimeout = try time(typed) },
    OptionDefinition(
      nil, "stall-timeout", value: OptionValue("TIME"), in: .transfer,
      "give up after this long without a byte (30s)",
      details: """
        Gives up an attempt that brings no byte for this long. The default is 30s. A transfer that \
        is slow but alive has no limit.
        """
    ) { arguments, typed throws(UsageError) in arguments.stallTimeout = try time(typed) },
    OptionDefinition(
      nil, "limit-rate", value: OptionValue("RATE"), in: .transfer,
      "download at most this many bytes a second",
      details: """
        Downloads at most RATE bytes a second. RATE takes the suffixes k, M, G and T (powers of \
        1000), or Ki, Mi, Gi and Ti (of 1024); 0 is no limit.
        """
    ) { arguments, typed throws(UsageError) in arguments.limitRate = try bytes(typed) },
    OptionDefinition(
      nil, "max-filesize", value: OptionValue("SIZE"), in: .transfer,
      "refuse a source that is larger",
      details: """
        Refuses a source of more than SIZE bytes, whether the server says so beforehand or the \
        bytes arrive. SIZE takes the suffixes of --limit-rate; 0 is no limit.
        """
    ) { arguments, typed throws(UsageError) in arguments.maxFileSize = try bytes(typed) },
    OptionDefinition(
      nil, "proxy", value: OptionValue("URL"), in: .transfer,
      "use this proxy; an empty URL forbids them all",
      details: """
        Uses this proxy in place of those that the environment names. Its scheme is http, https, \
        socks4, socks4a, socks5 or socks5h; without one it is http. An empty URL forbids every proxy.
        """, isSecret: true
    ) { arguments, typed throws(UsageError) in
      try refuseControls(typed)
      if let end = typed.value.firstRange(of: "://") {
        let scheme = typed.value[..<end.lowerBound].lowercased()
        let known = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        if !known.contains(scheme) {
          throw UsageError(
            "\(typed.option) knows no scheme '\(scheme)'",
            didYouMean: Spelling.nearest(to: scheme, among: known))
        }
      }
      arguments.proxy = typed.value
    },
    OptionDefinition(
      nil, "cacert", value: OptionValue("FILE", .file), in: .transfer,
      "trust the certificates in this PEM file",
      details: """
        Trusts the certificates in this PEM file in place of the system's. It goes before \
        CURL_CA_BUNDLE and SSL_CERT_FILE.
        """
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      arguments.caFile = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "allow-private", in: .transfer, "let a public address lead to a private one",
      details: """
        Lets an item that starts at a public address be led to private and loopback addresses, by a \
        redirect or by a name. An item that starts at a private address may stay there without it.
        """
    ) { arguments, _ in arguments.allowPrivate = true },
    OptionDefinition(
      nil, "allow-downgrade", in: .transfer, "let a redirect lead from https to http",
      details: """
        Lets a redirect lead from https to plain http. Otherwise such a redirect is refused.
        """
    ) { arguments, _ in arguments.allowDowngrade = true },
  ]

  // MARK: Request

  private static let request: [OptionDefinition] = [
    OptionDefinition(
      "H", "header", value: OptionValue("HEADER"), in: .request,
      "send this header, 'Name: value', or @FILE's",
      details: """
        Sends this header, written 'Name: value', with every request to the URL's own origin. \
        @FILE reads headers from a file, one a line. Headers that decide which bytes are sent, such \
        as Range and Accept-Encoding, are vidfetch's own.
        """, isRepeatable: true, isSecret: true
    ) { arguments, typed throws(UsageError) in
      let source = atFile(typed.value)
      if case .typed(let text) = source { _ = try RequestText.header(text, typed.option) }
      arguments.headers.append(Typed(source, option: typed.option))
    },
    OptionDefinition(
      "u", "user", value: OptionValue("USER:PASSWORD"), in: .request,
      "send these credentials, or @FILE's, or - (stdin)",
      details: """
        Sends this name and password as Basic credentials to the URL's own origin. @FILE reads them \
        from the first line of a file and - from standard input, which keeps them out of the \
        shell's history.
        """, isSecret: true
    ) { arguments, typed throws(UsageError) in
      let source = typed.value == "-" ? ValueSource.standardInput : atFile(typed.value)
      if case .typed(let text) = source { _ = try RequestText.user(text, typed.option) }
      arguments.user = Typed(source, option: typed.option)
    },
    OptionDefinition(
      nil, "bearer-file", value: OptionValue("FILE", .file), in: .request,
      "send the bearer token in this file; - is stdin",
      details: """
        Sends the token in the first line of this file, or of standard input for -, as 'Authorization: \
        Bearer'. A header of one's own goes before it, and it goes before --user.
        """
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      let source = typed.value == "-" ? ValueSource.standardInput : .file(typed.value)
      arguments.bearer = Typed(source, option: typed.option)
    },
    OptionDefinition(
      "b", "cookie", value: OptionValue("COOKIE"), in: .request,
      "send this cookie, 'NAME=VALUE', or @FILE's",
      details: """
        Sends this cookie, written NAME=VALUE, with every request to the URL's own origin. @FILE \
        reads cookies from a file, one a line.
        """, isRepeatable: true, isSecret: true
    ) { arguments, typed throws(UsageError) in
      let source = atFile(typed.value)
      if case .typed(let text) = source { _ = try RequestText.cookie(text, typed.option) }
      arguments.cookies.append(Typed(source, option: typed.option))
    },
    OptionDefinition(
      "A", "user-agent", value: OptionValue("NAME"), in: .request,
      "send this as the User-Agent",
      details: """
        Sends this as the User-Agent. The default is vidfetch and its version.
        """
    ) { arguments, typed throws(UsageError) in
      try refuseControls(typed)
      arguments.userAgent = typed.value
    },
    OptionDefinition(
      "e", "referer", value: OptionValue("URL"), in: .request, "send this as the Referer",
      details: """
        Sends this as the Referer, to the URL's own origin.
        """
    ) { arguments, typed throws(UsageError) in
      try refuseControls(typed)
      arguments.referer = typed.value
    },
  ]

  // MARK: Export

  private static let export: [OptionDefinition] = [
    OptionDefinition(
      nil, "streams", value: OptionValue("LIST"), in: .export,
      "keep only these streams, such as 0,2 or v,a:0",
      details: """
        Keeps only the streams in this list, separated by commas: a stream's number as --probe shows \
        it, or v, a, s or d for all video, audio, subtitle or data streams, or one of these with its \
        place among its kind, such as a:0 for the first audio stream. A stream that isn't there ends \
        the item with exit status 32 before anything is written.
        """
    ) { arguments, typed throws(UsageError) in
      var specifiers: [StreamSelection.Specifier] = []
      for word in typed.value.split(separator: ",", omittingEmptySubsequences: false) {
        guard let specifier = StreamSelection.Specifier(String(word)) else {
          throw UsageError(
            "\(typed.option) needs numbers, or v, a, s, d with or without a number, such as 0,2 or "
              + "v,a:0, not '\(typed.value)'")
        }
        specifiers.append(specifier)
      }
      arguments.streams = Typed(specifiers, option: typed.option)
    },
    OptionDefinition(
      nil, "audio", value: OptionValue("LANG"), in: .export,
      "keep only the audio in this language",
      details: """
        Keeps only the audio in this language, or in these, separated by commas. A language is a \
        code of two or three letters, such as en, deu or ger; und stands for audio that names none. \
        A source without such audio ends the item with exit status 32 before anything is written.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.audio = Typed(try languages(typed), option: typed.option)
    },
    OptionDefinition(
      nil, "no-audio", in: .export, "leave all audio out",
      details: """
        Leaves all audio out. A source that has nothing else ends the item with exit status 32.
        """
    ) { arguments, typed in arguments.noAudio = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "subtitles", value: OptionValue("WHICH"), in: .export,
      "all (default), none, or a language",
      details: """
        Which subtitles are kept: all, none, or those in a language, or in several separated by \
        commas, written as for --audio. Text becomes mov_text; pictures can't be held and are \
        left out with a warning.
        """
    ) { arguments, typed throws(UsageError) in
      let choice: StreamSelection.ByLanguage =
        switch typed.value {
        case "all": .all
        case "none": .none
        default: .only(try languages(typed))
        }
      arguments.subtitles = Typed(choice, option: typed.option)
    },
    OptionDefinition(
      nil, "metadata", value: OptionValue("KEY=VALUE"), in: .export,
      "set this tag of the file, such as title=…",
      details: """
        Sets this tag of the file, such as title, artist, date or comment. An empty value takes the \
        tag away. It comes after --strip-metadata.
        """, isRepeatable: true
    ) { arguments, typed throws(UsageError) in
      try refuseControls(typed)
      guard let sign = typed.value.firstIndex(of: "="), sign > typed.value.startIndex else {
        throw UsageError("\(typed.option) needs KEY=VALUE, such as title=Intro")
      }
      let key = String(typed.value[..<sign])
      guard key.utf8.count <= 255, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw UsageError("\(typed.option) needs a key of printable ASCII without spaces")
      }
      if containerKeys.contains(key.lowercased()) {
        throw UsageError("\(typed.option) can't set \(key): the container says that itself")
      }
      let value = String(typed.value[typed.value.index(after: sign)...])
      arguments.metadata.append(MetadataEdits.Change(key: key, value: value))
    },
    OptionDefinition(
      nil, "strip-metadata", in: .export, "leave the source's tags out",
      details: """
        Leaves out the tags of the source and its streams (titles, names, dates, places, devices) \
        and its timed metadata tracks. Languages, dispositions, rotation, colour, chapters and \
        covers stay.
        """
    ) { arguments, _ in arguments.stripMetadata = true },
    OptionDefinition(
      nil, "strict-lossless", in: .export, "fail where anything would be left out",
      details: """
        Ends the item with exit status 32 where a stream would be left out unasked, or something \
        that belongs to one would be lost. Without it this is a warning, but for audio and video, \
        which are never left out unasked.
        """
    ) { arguments, _ in arguments.strictLossless = true },
    OptionDefinition(
      nil, "verify",
      value: OptionValue(
        "HOW", .choices(ExportSettings.Verification.allCases.map(\.rawValue))),
      in: .export, "fast (default) or hash",
      details: """
        How the result is compared with what went into it before it gets its name. fast compares \
        each stream's packets, bytes and times with the result's index. hash also reads the whole \
        result back and compares a SHA-256 of each stream's payload.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.verification = try choice(ExportSettings.Verification.self, typed)
    },
    OptionDefinition(
      nil, "no-faststart", in: .export, "put the index behind the media",
      details: """
        Puts the index behind the media. By default it stands first, so that a player can begin \
        before it has the whole file.
        """
    ) { arguments, _ in arguments.indexFirst = false },
  ]

  // MARK: Progress and messages

  private static let display: [OptionDefinition] = [
    OptionDefinition(
      nil, "progress",
      value: OptionValue("STYLE", .choices(ProgressChoice.allCases.map(\.rawValue))),
      in: .display, "auto, bar, plain, json or none (default: auto)",
      details: """
        How progress is shown on standard error: bar draws one bar for download and export \
        together, plain writes a line now and then, json writes one JSON object a line and nothing \
        else, none shows nothing. auto is bar on a terminal, and plain where standard error is none, \
        where TERM is dumb and where CI is set.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.progress = Typed(try choice(ProgressChoice.self, typed), option: typed.option)
    },
    OptionDefinition(
      "q", "quiet", in: .display, "show errors only",
      details: """
        Shows neither progress nor warnings, only errors. Results are printed all the same.
        """
    ) { arguments, _ in arguments.verbosity = -1 },
    OptionDefinition(
      "v", "verbose", in: .display, "say more; -vv says still more",
      details: """
        Says what is being done; given twice, also what is sent and received, without secrets.
        """, isRepeatable: true
    ) { arguments, _ in arguments.verbosity = max(0, arguments.verbosity) + 1 },
    OptionDefinition(
      nil, "color", value: OptionValue("WHEN", .choices(ColorChoice.allCases.map(\.rawValue))),
      in: .display, "auto, always or never (default: auto)",
      details: """
        Whether standard error is coloured. auto does so on a terminal, unless NO_COLOR is set or \
        TERM is dumb.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.color = try choice(ColorChoice.self, typed)
    },
  ]

  // MARK: Results

  private static let results: [OptionDefinition] = [
    OptionDefinition(
      nil, "probe", in: .results, "show what a source is, and write no file",
      details: """
        Shows what each source is, and what mp4 and mov can hold of it: container, duration, size, \
        place of the index, each stream, what becomes of it, and how much disk a run needs. Writes no \
        file, and reads the head and the index of a remote one, or some 5 MB where there is no \
        index. Prints a table on a terminal, elsewhere or with --json one JSON object a line. The \
        exit status says whether a run with the same --format (default: mp4) could succeed: 32 or 33 \
        where the container can't hold the source unchanged. That a source is whole isn't proven: \
        it takes all of its bytes.
        """
    ) { arguments, typed in arguments.probe = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "json", in: .results, "print results as JSON instead of paths",
      details: """
        Prints each item's result, failures included, as one JSON object a line on standard output, \
        in place of the path; after several items their summary too.
        """
    ) { arguments, typed in arguments.json = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "print", value: OptionValue("TEMPLATE"), in: .results,
      "print this, with {path}, {code} ... filled in",
      details: """
        Prints this for each item, failures included, in place of the path. Filled in are the keys \
        of a JSON result in braces: \(ResultTemplate.keyList). What is unknown is empty. \\n and \\t \
        are a line break and a tab, {{ and }} are braces.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.template = Typed(
        try ResultTemplate(typed.value, option: typed.option), option: typed.option)
    },
    OptionDefinition(
      "0", "null", in: .results, "end each record with NUL, not a line break",
      details: """
        Ends each path or --print text with a NUL byte instead of a line break.
        """
    ) { arguments, typed in arguments.null = Typed(true, option: typed.option) },
  ]

  // MARK: General

  private static let general: [OptionDefinition] = [
    OptionDefinition(
      "h", in: .general, "show this help",
      details: """
        Shows each option in a line.
        """
    ) { arguments, _ in arguments.action = .shortHelp },
    OptionDefinition(
      nil, "help", in: .general, "show the long help",
      details: """
        Shows each option with all that there is to say about it.
        """
    ) { arguments, _ in arguments.action = .longHelp },
    OptionDefinition(
      nil, "version", in: .general, "show the version, the libraries and the licence",
      details: """
        Shows the version, the libraries that are linked and the licence.
        """
    ) { arguments, _ in arguments.action = .version },
    OptionDefinition(
      nil, "generate",
      value: OptionValue("WHAT", .choices(GeneratedText.allCases.map(\.rawValue))),
      in: .general, "print the man page or a shell's completions",
      details: """
        Prints the man page, or the completions for bash, zsh or fish.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.action = .generate(try choice(GeneratedText.self, typed))
    },
  ]

  // MARK: Values

  private static func choice<Choice>(
    _ type: Choice.Type, _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) -> Choice
  where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
    if let choice = Choice(rawValue: typed.value) { return choice }
    let names = Choice.allCases.map(\.rawValue)
    throw UsageError(
      "\(typed.option) knows \(names.joined(separator: ", ")), not '\(typed.value)'",
      didYouMean: Spelling.nearest(to: typed.value.lowercased(), among: names))
  }

  /// What is no tag of the film, but says how its file is made.
  private static let containerKeys: Set<String> = [
    "encoder", "duration", "filesize", "major_brand", "minor_version", "compatible_brands",
    "timecode", "language", "handler_name",
  ]

  private static func languages(
    _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) -> [LanguageCode] {
    let codes = typed.value.split(separator: ",", omittingEmptySubsequences: false)
      .map { LanguageCode(String($0)) }
    // An empty word reads as an unknown language.
    let hasGap = typed.value.isEmpty || typed.value.hasPrefix(",") || typed.value.hasSuffix(",")
    guard !hasGap, !typed.value.contains(",,"), codes.allSatisfy(\.isWellFormed) else {
      throw UsageError(
        "\(typed.option) needs a language such as en or deu, or several separated by commas, not "
          + "'\(typed.value)'")
    }
    return codes
  }

  private static func time(
    _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) -> Duration {
    if let time = Quantity.time(typed.value) { return time }
    throw UsageError(
      "\(typed.option) needs a time above 0, such as 30, 500ms or 2m, not '\(typed.value)'")
  }

  private static func count(
    _ typed: OptionDefinition.Occurrence, from least: Int, to most: Int
  ) throws(UsageError) -> Int {
    if let count = Quantity.count(typed.value, upTo: most), count >= least { return count }
    throw UsageError(
      "\(typed.option) needs a whole number from \(least) to \(most), not '\(typed.value)'")
  }

  private static func bytes(_ typed: OptionDefinition.Occurrence) throws(UsageError) -> Int64 {
    if let bytes = Quantity.bytes(typed.value) { return bytes }
    throw UsageError(
      "\(typed.option) needs a number of bytes, such as 500k or 2M, not '\(typed.value)'")
  }

  private static func atFile(_ text: String) -> ValueSource {
    text.hasPrefix("@") ? .file(String(text.dropFirst())) : .typed(text)
  }

  private static func refuseControls(
    _ typed: OptionDefinition.Occurrence
  ) throws(UsageError) {
    if RequestText.hasControls(typed.value) {
      throw UsageError("\(typed.option) can't hold control characters")
    }
  }
}
