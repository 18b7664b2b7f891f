// What the help and the man page say beside the options, once. Pure text.

/// Facts for the documents.
enum ManualFacts {
  static let summary = "fetch a video and export it to mp4 or mov, verified"

  static let synopsis = "vidfetch [options] [-i LIST] [URL...]"

  /// The day of the man page; changed together with the option table.
  static let date = "November 30, 2026"

  static let description = [
    """
    Downloads the video at each URL and exports it to .mp4 or .mov without re-encoding, while it is \
    still being downloaded. One bar shows both together.
    """,
    """
    The path of the finished file is the only thing on standard output; all else goes to standard \
    error. Exit status 0 means that the file is complete and verified: the bytes against what the \
    server said, the container to its end, and the packets and the duration of every stream that was \
    kept. A file appears under its name only then, and whole.
    """,
    """
    A word of the form scheme://ADDRESS is a URL (http, https, or file); any other word is the path of a \
    local file. Without --output and --directory the file stands in a private folder under the \
    temporary directory, and never replaces another one. A user:password@ in a URL is sent to its \
    own origin only and never shown.
    """,
    """
    A transfer that breaks off is retried, and continued at the first missing byte where the server \
    proves that the file is still the same. What a failed or interrupted run has downloaded stays as \
    a part, which the same command continues.
    """,
  ]

  struct Entry {
    let term: String
    let text: String
  }

  static let environment = optionVariables + otherVariables

  /// The variables of the option table.
  private static let optionVariables = OptionTable.rows.compactMap { row -> Entry? in
    guard let name = row.environment, let long = row.long else { return nil }
    let meaning = row.value == nil ? "1 stands for --\(long)." : "The default of --\(long)."
    return Entry(term: name, text: meaning)
  }

  private static let otherVariables = [
    Entry(
      term: "XDG_CONFIG_HOME",
      text: "Where the configuration file's folder is. The default is ~/.config."),
    Entry(
      term: "TMPDIR",
      text: "Where the private folder and temporary files are made. The default is /tmp."),
    Entry(
      term: "http_proxy, https_proxy, all_proxy, no_proxy",
      text: "Proxies, as curl reads them. --proxy goes before them."),
    Entry(
      term: "CURL_CA_BUNDLE, SSL_CERT_FILE",
      text: "A PEM file with the certificates to trust. --cacert goes before them."),
    Entry(term: "CI", text: "Where it is set, progress is written as lines instead of a bar."),
    Entry(term: "COLUMNS", text: "The width of the bar, where the terminal is not to be asked."),
    Entry(term: "NO_COLOR", text: "Where it is set, nothing is coloured."),
    Entry(term: "TERM", text: "Where it is dumb, there is neither a bar nor colour."),
  ]

  static let files = [
    Entry(
      term: "$XDG_CONFIG_HOME/vidfetch/config",
      text: """
        The configuration file: one option a line, by its long name, such as "limit-rate = 2M" or \
        "skip-existing". A value is the rest of its line; there is no quoting. A "~/" at the \
        beginning of a file or folder is the home folder, and a line that begins with "#" is a \
        comment. What is typed goes before the environment, and that before the file; options that \
        may be given several times add up. Secrets can stand in it where nobody else can read it.
        """),
    Entry(
      term: "$TMPDIR/vidfetch-UID/",
      text: """
        The private folder of results without --output or --directory. It belongs to the user, \
        and nobody else may enter it.
        """),
    Entry(
      term: ".KEY.part",
      text: """
        What has been downloaded so far, in the folder of the target. KEY is made from the URL. It is \
        gone after success, and after failures that a further run can't mend. A body of up to 1 MiB \
        is kept in memory for its first second, and has none.
        """),
    Entry(
      term: ".KEY.part.json",
      text: """
        Which bytes of the part are there, and how it is known whether the remote file is still the \
        same.
        """),
  ]

  static let examples = [
    Entry(
      term: "vidfetch https://example.com/intro.mkv",
      text: "Fetches a video into the private folder and prints its path."),
    Entry(
      term: "vidfetch -o intro.mov https://example.com/intro.mp4",
      text: "Fetches it into this file; the extension chooses the container."),
    Entry(
      term:
        "vidfetch -d videos --skip-existing https://example.com/a.mp4 https://example.com/b.mp4",
      text: "Fetches two videos into a folder, but for those that are there."),
    Entry(
      term: "vidfetch -d videos -i urls.txt --archive videos.db --results videos.ndjson",
      text:
        "Fetches a list, several items at a time, and the next time only what is new or has failed."
    ),
    Entry(
      term: "vidfetch --report videos.ndjson --report-format failed-list > again.txt",
      text: "Makes a list of what failed, for another run."),
    Entry(
      term: "vidfetch -q --exec mpv {} \\; https://example.com/intro.mp4",
      text: "Hands the finished file to a player."),
    Entry(
      term: "mpv \"$(vidfetch https://example.com/intro.ts)\"",
      text: "Plays a video once it is complete."),
    Entry(
      term: "vidfetch --print '{code} {bytes} {path}' -q https://example.com/intro.mp4",
      text: "Prints what became of it, in a form for a script."),
    Entry(
      term: "vidfetch --probe -f mov https://example.com/intro.mkv",
      text: "Shows what the source is, and whether a mov can hold it; writes no file."),
    Entry(
      term: "vidfetch -u @credentials --json https://example.com/intro.mp4 | jq .streams",
      text: "Reads a name and password from a file, and shows what became of each stream."),
  ]

  static let json = [
    """
    --json prints each item's result as one JSON object a line, and the summary of several items. \
    --progress=json writes all events to standard error. Every object has the keys v (1), event and \
    job; what is unknown is absent; new keys and events may be added.
    """,
    """
    The events are start (url, target), retry (attempt, wait, code, message), restart (reason, \
    bytes), warning (warning, stream, message), progress (stage, fraction, download, export, bytes, \
    total, rate, eta), result, and summary (ok, skipped, failed, bytes, seconds, exit). The keys of a \
    result are \(JSONEventWriter.resultKeys.joined(separator: ", ")).
    """,
    """
    --probe writes a probe in place of each result, with what the source is (container, duration, size, \
    index, chapters, streams), what mp4 and mov can hold of it, and the disk that a run needs.
    """,
  ]
}
