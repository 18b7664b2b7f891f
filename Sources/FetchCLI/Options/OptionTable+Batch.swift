// Where many items come from, how they run side by side, and what is remembered of them.

import FetchCore

extension OptionTable {
  static let batch: [OptionDefinition] = [
    OptionDefinition(
      "i", "input", value: OptionValue("LIST", .file), in: .batch,
      "fetch the items in this list, or - (stdin)",
      details: """
        Fetches the items of a list, after those on the command line: a file, or - for standard input. \
        A line is a URL, a URL and a NAME with a tab between them, or a JSON object with the keys \
        \(ListEntry.keyList). Blank lines and lines that begin with # are passed over. A line is data, \
        never an option, and a bad one fails as an item of its own. The list is read as it is needed; \
        what is in it twice is fetched once.
        """
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name, or -") }
      if arguments.input != nil {
        throw UsageError("\(typed.option) is given twice; several lists can be joined by cat(1)")
      }
      arguments.input = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "allow-empty", in: .batch, "let a list be empty",
      details: """
        Lets a list without any item end with exit status 0. Otherwise that is a usage error, since \
        it mostly means that the step before has failed.
        """
    ) { arguments, _ in arguments.allowEmpty = true },
    OptionDefinition(
      "j", "jobs", value: OptionValue("N"), in: .batch,
      "items side by side (default: as it pays)",
      details: """
        Fetches N items side by side. The default, 0, begins with two for each processor, and four \
        at least, and adds others, up to 32, for as long as they make it faster, but no more than 8 at one host \
        unless --max-per-host says so.
        """, environment: "VIDFETCH_JOBS"
    ) { arguments, typed throws(UsageError) in
      arguments.jobs = Typed(try count(typed, from: 0, to: 256), option: typed.option)
    },
    OptionDefinition(
      nil, "in-order", in: .batch, "print results in the order of the items",
      details: """
        Prints results in the order of the items. Otherwise each is printed as soon as it is there.
        """
    ) { arguments, _ in arguments.inOrder = true },
    OptionDefinition(
      nil, "fail-fast", in: .batch, "stop at the first item that fails",
      details: """
        Stops at the first item that fails: no other is begun, and those that run are stopped as by a \
        signal, so that the next run resumes them. The exit status is that of the failure.
        """
    ) { arguments, _ in arguments.failFast = true },
    OptionDefinition(
      nil, "max-attempts", value: OptionValue("N"), in: .batch,
      "attempts at an item, this run's and earlier ones",
      details: """
        How often an item is attempted that fails with 10 or 11. It is tried again when the others \
        have had their turn. The attempts of earlier runs count too, as far as --results tells of \
        them; one that has had its N attempts fails with its code, but no longer as worth a re-run: \
        a batch then ends with 50 in place of 10 or 11. The default is 1 in a run, without any limit \
        over several.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.maxAttempts = try count(typed, from: 1, to: 1_000)
    },
    OptionDefinition(
      nil, "shard", value: OptionValue("I/N"), in: .batch,
      "take part I of N of the items, or auto",
      details: """
        Takes only the items of part I of N, counted from 1. An item's part follows from its URL \
        alone, so the parts stay what they are when the list grows. auto takes I and N from the \
        variables of Slurm arrays, SGE, AWS Batch, Kubernetes indexed Jobs (with VIDFETCH_SHARDS for \
        N), GNU parallel (the same) or CI_NODE_INDEX and CI_NODE_TOTAL.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.shard = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "archive", value: OptionValue("FILE", .file), in: .batch,
      "remember what is done, and skip it",
      details: """
        Remembers finished items in this SQLite database, which is made if it is missing, and skips \
        those whose file is still there and whole. An item is known by its URL without user name, \
        password and fragment, and by the format. Several runs may use one archive at a time, on one \
        machine and a local disk.
        """, environment: "VIDFETCH_ARCHIVE", yieldsTo: ["probe", "report"]
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      arguments.archive = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "key", value: OptionValue("REGEX"), in: .batch,
      "know an item by this part of its URL",
      details: """
        Knows an item by what this extended regular expression (regex(7)) matches in its URL, or by \
        its first group where it has one: for addresses that are signed anew each time. A URL that \
        doesn't match is known as a whole. For --archive.
        """, yieldsTo: ["probe", "report", "history"]
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs an expression") }
      arguments.key = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "refresh", in: .batch, "ask the server whether what is done has changed",
      details: """
        Asks the server whether an item of the --archive has changed (RFC 9110 13.1), and fetches it \
        again where it has; the file is replaced in the instant in which the new one is whole.
        """, yieldsTo: ["probe", "report", "history"]
    ) { arguments, typed in arguments.refresh = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "exec", value: OptionValue("CMD ARG... ;"), in: .batch,
      "run this on each finished file, {} in place",
      details: """
        Runs a command for each file that this run has finished, without a shell: all words up to one \
        that is ; alone, with {} in them replaced by the file's path. VIDFETCH_PATH, VIDFETCH_URL, \
        VIDFETCH_TITLE, VIDFETCH_FORMAT, VIDFETCH_BYTES and VIDFETCH_DURATION tell about it. The \
        command reads nothing, and what it prints goes to standard error. Where it fails the item \
        fails with 51; the file stays in place, and counts as done in an --archive.
        """
    ) { _, typed throws(UsageError) in
      // The words are taken before the options are read; see `CommandWords`.
      throw UsageError("\(typed.option) needs a command, ended by a word that is ; alone")
    },
  ]
}
