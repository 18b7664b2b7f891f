// What `-vv` shows of requests and responses: heads, with everything secret left out. Pure.

import FetchCore

enum TransferLog {
  static func request(
    url: HTTPURL, range: RequestedRange?, fields: RequestFields, proxied: Bool
  ) -> [String] {
    var lines = ["> GET \(url.redacted)" + (proxied ? " (by proxy)" : "")]
    if let range { lines.append("> Range: bytes=\(range.text)") }
    for field in fields.fields {
      let value = RequestFields.hidesValue(field.name) ? "…" : field.value
      lines.append("> \(field.name): \(value)")
    }
    return lines
  }

  static func response(_ head: ResponseHead) -> [String] {
    ["< HTTP/\(head.version) \(head.status)"]
      + head.fields.map { field in
        let value =
          switch URLText.lowercased(field.name) {
          case "location", "content-location", "link", "refresh": URLText.redacting(field.value)
          case let name where URLText.looksSecret(name): "…"
          default: field.value
          }
        return "< \(field.name): \(value)"
      }
  }
}
