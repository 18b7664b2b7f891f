import HTTPTransfer
import PartialStorage

extension ResumeRecord {
  /// What identifies the version that the part is of.
  var validators: Validators {
    Validators(
      strongETag: strongETag, weakETag: weakETag, lastModified: lastModified, date: date)
  }
}
