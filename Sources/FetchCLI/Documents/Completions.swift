// Completions for bash, zsh and fish, from the option table. Pure.

/// The bash completion; needs neither bash-completion's functions nor a new bash.
package enum BashCompletion {
  package static var text: String {
    let rows = OptionTable.rows
    var cases = ""
    for row in rows {
      guard let value = row.value else { continue }
      cases += "    \(row.names.joined(separator: "|"))) \(action(value))return ;;\n"
    }
    let flags = rows.flatMap { row in
      row.names.map { row.value != nil && $0.hasPrefix("--") ? $0 + "=" : $0 }
    }
    return """
      # bash completion for vidfetch, made by 'vidfetch --generate bash'

      _vidfetch_words() {
        local word
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@" -- "$cur")
      }

      _vidfetch() {
        local cur="${COMP_WORDS[COMP_CWORD]}" option=""
        COMPREPLY=()
        # With '=' among the word breaks, --name=value is three words.
        if [[ $cur == "=" ]]; then
          option="${COMP_WORDS[COMP_CWORD-1]}" cur=""
        elif ((COMP_CWORD >= 2)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then
          option="${COMP_WORDS[COMP_CWORD-2]}"
        elif ((COMP_CWORD >= 1)); then
          option="${COMP_WORDS[COMP_CWORD-1]}"
        fi
        case "$option" in
      \(cases)  esac
        if [[ $cur == -* ]]; then
          _vidfetch_words -W "\(flags.joined(separator: " "))"
          [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
          return
        fi
        compopt -o filenames 2>/dev/null
        _vidfetch_words -f
      }

      complete -F _vidfetch vidfetch

      """
  }

  private static func action(_ value: OptionValue) -> String {
    switch value.completion {
    case .none: ""
    case .file: "compopt -o filenames 2>/dev/null; _vidfetch_words -f; "
    case .directory: "compopt -o filenames 2>/dev/null; _vidfetch_words -d; "
    case .choices(let choices):
      "_vidfetch_words -W \"\(choices.joined(separator: " "))\"; "
    }
  }
}

/// The zsh completion, in the words of `_arguments`.
package enum ZshCompletion {
  package static var text: String {
    let lines = OptionTable.rows.flatMap(specifications).map { "  '\($0)' \\\n" }.joined()
    return """
      #compdef vidfetch
      # zsh completion for vidfetch, made by 'vidfetch --generate zsh'

      _arguments -s -S \\
      \(lines)  '*:URL or file:_vidfetch_sources'

      """.replacing("\n_arguments", with: "\n\(sources)\n_arguments")
  }

  private static let sources = """
    (( $+functions[_vidfetch_sources] )) || _vidfetch_sources() {
      _alternative 'files:file:_files' 'urls:URL:_urls'
    }

    """

  private static func specifications(_ row: OptionDefinition) -> [String] {
    let summary = escaped(row.summary)
    let exclusive = row.isRepeatable ? "*" : "(\(row.names.joined(separator: " ")))"
    return row.names.map { name in
      let argument = row.value.map { ":\(escaped($0.word)):\(action($0))" } ?? ""
      let joint = row.value == nil ? "" : name.hasPrefix("--") ? "=" : "+"
      return "\(exclusive)\(name)\(joint)[\(summary)]\(argument)"
    }
  }

  private static func action(_ value: OptionValue) -> String {
    switch value.completion {
    case .none: " "
    case .file: "_files"
    case .directory: "_files -/"
    case .choices(let choices): "(\(choices.joined(separator: " ")))"
    }
  }

  /// For a specification within single quotes.
  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "'": result += "'\\''"
      case "[", "]", ":", "\\": result += "\\\(character)"
      default: result.append(character)
      }
    }
  }
}

/// The fish completion.
package enum FishCompletion {
  package static var text: String {
    var text = "# fish completion for vidfetch, made by 'vidfetch --generate fish'\n\n"
    for row in OptionTable.rows {
      var line = "complete -c vidfetch"
      if let short = row.short { line += " -s \(short)" }
      if let long = row.long { line += " -l \(long)" }
      if let value = row.value {
        switch value.completion {
        case .none: line += " -x"
        case .file: line += " -r -F"
        case .directory: line += " -x -a '(__fish_complete_directories)'"
        case .choices(let choices): line += " -x -a '\(choices.joined(separator: " "))'"
        }
      }
      text += line + " -d '\(escaped(row.summary))'\n"
    }
    return text
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
  }
}
