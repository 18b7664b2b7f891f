// What is shown on the way.

import FetchCore

extension OptionTable {
  static let display: [OptionDefinition] = [
    OptionDefinition(
      nil, "progress",
      value: OptionValue("STYLE", .choices(ProgressChoice.allCases.map(\.rawValue))),
      in: .display, "auto, bar, plain, json or none (default: auto)",
      details: """
        How progress is shown on standard error: bar draws one bar for download and export \
        together, plain writes a line now and then, json writes one JSON object a line and nothing \
        else, none shows nothing. auto is bar on a terminal, and plain where standard error is none, \
        where TERM is dumb and where CI is set.
        """, environment: "VIDFETCH_PROGRESS", yieldsTo: ["quiet"]
    ) { arguments, typed throws(UsageError) in
      arguments.progress = Typed(try choice(ProgressChoice.self, typed), option: typed.option)
    },
    OptionDefinition(
      "q", "quiet", in: .display, "show errors only",
      details: """
        Shows neither progress nor warnings, only errors. Results are printed all the same.
        """, yieldsTo: ["verbose"]
    ) { arguments, _ in arguments.verbosity = -1 },
    OptionDefinition(
      "v", "verbose", in: .display, "say more; -vv says still more",
      details: """
        Says what is being done; given twice, also what is sent and received, without secrets.
        """, isRepeatable: true, yieldsTo: ["quiet"]
    ) { arguments, _ in arguments.verbosity = max(0, arguments.verbosity) + 1 },
    OptionDefinition(
      nil, "color", value: OptionValue("WHEN", .choices(ColorChoice.allCases.map(\.rawValue))),
      in: .display, "auto, always or never (default: auto)",
      details: """
        Whether standard error is coloured. auto does so on a terminal, unless NO_COLOR is set or \
        TERM is dumb.
        """, environment: "VIDFETCH_COLOR"
    ) { arguments, typed throws(UsageError) in
      arguments.color = try choice(ColorChoice.self, typed)
    },
  ]
}
