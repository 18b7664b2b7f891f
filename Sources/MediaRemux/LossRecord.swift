// What an export loses, noted as it is told: with `--strict-lossless` the first loss decides. Lives on
// the remux thread.

import FetchCore

/// The losses among an export's warnings.
final class LossRecord {
  private var first: FetchWarning?

  /// Takes note of a warning, if it is of a loss.
  func note(_ warning: FetchWarning) {
    switch warning.warning {
    case .streamDropped, .propertyLost: first = first ?? warning
    case .streamConverted, .compatibility, .timestampsRepaired, .insecureCredentials, .downgrade,
      .remoteChanged, .unusual:
      break
    }
  }

  /// Ends an export that must not lose anything.
  func refuse() throws(FetchError) {
    guard let first else { return }
    throw FetchError(
      .cannotPassthrough, "the export would lose something: \(first.message)",
      recovery: "leave out --strict-lossless, or keep the source")
  }
}
