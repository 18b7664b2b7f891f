// Options by environment variables: those that the table's rows name. Pure.

/// Reader of the options in the environment.
package enum OptionEnvironment {
  /// The variables that stand for options.
  package static let variables = OptionTable.rows.compactMap(\.environment)

  /// What the variables say; an empty one says nothing.
  package static func options(
    _ variables: [String: String]
  ) throws(UsageError) -> [GivenOption] {
    var options: [GivenOption] = []
    for row in OptionTable.rows {
      guard let name = row.environment, let value = variables[name], !value.isEmpty else {
        continue
      }
      if row.value == nil {
        switch value.lowercased() {
        case "1", "true", "yes", "on": break
        case "0", "false", "no", "off": continue
        default: throw UsageError("\(name) needs 1 or 0, not '\(value)'")
        }
      }
      let given = GivenOption(
        row, .init(option: name, value: row.value == nil ? "" : value))
      var unused = ParsedArguments()
      try row.update(&unused, given.occurrence)
      options.append(given)
    }
    return options
  }
}
