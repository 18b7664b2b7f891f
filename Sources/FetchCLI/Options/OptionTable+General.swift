// About the program itself.

import FetchCore

extension OptionTable {
  static let general: [OptionDefinition] = [
    OptionDefinition(
      nil, "no-config", in: .general, "read no config file",
      details: """
        Reads no config file. Otherwise $XDG_CONFIG_HOME/vidfetch/config, or \
        ~/.config/vidfetch/config, is read first where it exists: one option a line, such as \
        limit-rate = 2M. The environment comes before it, and the command line before both.
        """
    ) { arguments, _ in arguments.noConfig = true },
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
}
