// What `--generate` prints.

/// The documents that are made from the option table.
package enum GeneratedDocument {
  /// One document, ended by a line feed.
  package static func text(_ what: GeneratedText) -> String {
    switch what {
    case .man: ManualPage.text
    case .bash: BashCompletion.text
    case .zsh: ZshCompletion.text
    case .fish: FishCompletion.text
    }
  }

  /// Where the document stands in the source tree.
  package static func path(_ what: GeneratedText) -> String {
    switch what {
    case .man: "man/vidfetch.1"
    case .bash: "completions/vidfetch.bash"
    case .zsh: "completions/_vidfetch"
    case .fish: "completions/vidfetch.fish"
    }
  }
}
