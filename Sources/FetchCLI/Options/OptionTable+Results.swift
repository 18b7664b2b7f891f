// What is written about the outcomes.

import FetchCore

extension OptionTable {
  static let results: [OptionDefinition] = [
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
        """, yieldsTo: ["print", "null"]
    ) { arguments, typed in arguments.json = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "print", value: OptionValue("TEMPLATE"), in: .results,
      "print this, with {path}, {code} ... filled in",
      details: """
        Prints this for each item, failures included, in place of the path. Filled in are the keys \
        of a JSON result in braces: \(ResultTemplate.keyList). What is unknown is empty. \\n and \\t \
        are a line break and a tab, {{ and }} are braces.
        """, yieldsTo: ["json"] + instead
    ) { arguments, typed throws(UsageError) in
      arguments.template = Typed(
        try ResultTemplate(typed.value, option: typed.option), option: typed.option)
    },
    OptionDefinition(
      nil, "results", value: OptionValue("FILE", .file), in: .results,
      "append each result as JSON to this file",
      details: """
        Appends each item's result to this file as one JSON object a line, as --json prints it, with \
        the time, the host and the process. Several runs may write to one file at a time.
        """, environment: "VIDFETCH_RESULTS", yieldsTo: instead
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      arguments.results = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "report", in: .results, "merge results files, named in place of URLs",
      details: """
        Fetches nothing, but merges the --results files that are named in place of URLs, and prints \
        what came of each item; the last outcome counts.
        """
    ) { arguments, typed in arguments.report = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "report-format",
      value: OptionValue("FORMAT", .choices(ReportFormat.allCases.map(\.rawValue))),
      in: .results, "table, markdown, html or failed-list",
      details: """
        How --report is written: a table for people (the default on a terminal), markdown for a CI \
        summary (the default elsewhere), html as one file that needs nothing else, or failed-list, \
        which --input reads again.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.reportFormat = Typed(try choice(ReportFormat.self, typed), option: typed.option)
    },
    OptionDefinition(
      nil, "history", in: .results, "list what the --archive remembers",
      details: """
        Fetches nothing, but lists what the --archive remembers, the newest first: a table on a \
        terminal, elsewhere or with --json one JSON object a line. URLs or identifiers on the \
        command line limit it to these.
        """
    ) { arguments, typed in arguments.history = Typed(true, option: typed.option) },
    OptionDefinition(
      "0", "null", in: .results, "end each record with NUL, not a line break",
      details: """
        Ends each path or --print text with a NUL byte instead of a line break.
        """, yieldsTo: ["json"] + instead
    ) { arguments, typed in arguments.null = Typed(true, option: typed.option) },
  ]
}
