// Whether what is shown of a source is enough to fetch it again.

import HTTPTransfer

extension JobRequest {
  /// Whether `redactedSource` lacks something that a fetch needs: credentials, or a part of the query.
  package var hidesSecrets: Bool {
    guard case .url(let text)? = try? SourceAddress(source), let url = try? HTTPURL(text) else {
      return redactedSource != source
    }
    return url.credentials != nil || url.redacted != url.text
  }
}
