// How a server is asked whether a version that was fetched whole is still the resource's, and what its
// answer proves (RFC 9110 13.1.2, 13.1.3, 15.4.5). Pure.

import FetchCore

/// The condition of a request that wants a body only where the resource has changed.
package enum RefreshCondition: Sendable, Hashable {
  /// An entity tag, weak or strong: this comparison is always a weak one.
  case noneMatch(String)
  /// The date as the server wrote it.
  case modifiedSince(String)

  /// The best condition that validators allow; nil without any.
  package init?(_ validators: Validators) {
    if let tag = validators.strongETag ?? validators.weakETag {
      self = .noneMatch(tag)
    } else if let date = validators.lastModified {
      self = .modifiedSince(date)
    } else {
      return nil
    }
  }

  var field: HeaderField {
    switch self {
    case .noneMatch(let tag): HeaderField(name: "If-None-Match", value: tag)
    case .modifiedSince(let date): HeaderField(name: "If-Modified-Since", value: date)
    }
  }
}

/// A version that was fetched whole.
package struct KnownVersion: Sendable, Hashable {
  package var validators: Validators
  /// Its size, where it was told.
  package var total: Int64?

  package init(validators: Validators, total: Int64?) {
    self.validators = validators
    self.total = total
  }

  /// Whether the answer to a request with its condition says that it is still the resource's.
  ///
  /// A server that knows no conditions sends all of it: its strong tag proves as much, once the size
  /// doesn't speak against it.
  func isCurrent(_ response: HTTPResponse) -> Bool {
    if response.status == 304 { return true }
    guard response.status == 200 || response.status == 203, let tag = validators.strongETag,
      tag == response.validators.strongETag
    else { return false }
    guard let total, let size = response.resourceSize else { return true }
    return size == total
  }
}
