// Options from three places, the later before the earlier: the configuration file, the environment, the
// command line. All go through the rows of one table. Pure, but for the file that the environment reads.

/// One option as it was given somewhere.
package struct GivenOption: Sendable {
  package let row: OptionDefinition
  package let occurrence: OptionDefinition.Occurrence

  package init(_ row: OptionDefinition, _ occurrence: OptionDefinition.Occurrence) {
    self.row = row
    self.occurrence = occurrence
  }
}

extension ArgumentParser.Outcome {
  /// The same with what the environment and the configuration file say beneath it.
  ///
  /// The first mistake counts: on the command line, in the environment, in the file. An action that
  /// fetches nothing needs neither.
  package func completed(
    by environment: CommandEnvironment
  ) -> ArgumentParser.Outcome {
    guard error == nil, arguments.action == .fetch else { return self }
    do throws(UsageError) {
      let isUnwanted = typed.contains { $0.row.long == ConfigFile.refusal }
      let file =
        isUnwanted
        ? []
        : try ConfigFile.options(environment.variables, reading: environment.readConfiguration)
      return over([file, try OptionEnvironment.options(environment.variables)])
    } catch {
      var outcome = self
      outcome.error = error
      return outcome
    }
  }

  /// The same with lower levels beneath it, the lowest first.
  ///
  /// A repeatable option adds to what lower levels give; any other takes its place, and that of the
  /// options that yield to it.
  package func over(_ levels: [[GivenOption]]) -> ArgumentParser.Outcome {
    var higher = Set(typed.compactMap(\.row.long))
    var kept: [[GivenOption]] = []
    for level in levels.reversed() {
      let counting = level.filter { !$0.yields(to: higher) }
      higher.formUnion(counting.compactMap(\.row.long))
      kept.insert(counting, at: 0)
    }
    var outcome = self
    outcome.arguments = ParsedArguments()
    for given in kept.joined() + typed {
      do throws(UsageError) {
        try given.row.update(&outcome.arguments, given.occurrence)
      } catch {
        if outcome.error == nil { outcome.error = error }
      }
    }
    // No row brings these.
    outcome.arguments.sources = arguments.sources
    outcome.arguments.hook = arguments.hook
    return outcome
  }
}

extension GivenOption {
  fileprivate func yields(to higher: Set<String>) -> Bool {
    guard let long = row.long else { return false }
    let isReplaced = !row.isRepeatable && higher.contains(long)
    return isReplaced || row.yieldsTo.contains(where: higher.contains)
  }
}
