// What a request carries.

import FetchCore

extension OptionTable {
  static let request: [OptionDefinition] = [
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
}
