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
      + head.fields.map { "< \($0.name): \(shown($0))" }
  }

  /// A response's value as it may be shown: URLs without their secrets, and "…" for what isn't
  /// understood and may hold a URL.
  private static func shown(_ field: HeaderField) -> String {
    let name = URLText.lowercased(field.name)
    switch name {
    case "location", "content-location": return URLText.redacting(field.value)
    case "link": return link(field.value)
    case "refresh": return refresh(field.value)
    case "etag", "content-disposition": return field.value
    case _ where URLText.looksSecret(name) || mayHoldURL(field.value): return "…"
    default: return field.value
    }
  }

  private static func mayHoldURL(_ text: some StringProtocol) -> Bool {
    text.contains { $0 == "?" || $0 == "#" || $0 == "@" } || text.contains("//")
  }

  /// `<URL>; rel=…, <URL>…` (RFC 8288 3).
  private static func link(_ value: String) -> String {
    var rest = value[...]
    var text = ""
    while let open = rest.firstIndex(of: "<") {
      guard let close = rest[open...].firstIndex(of: ">"), !mayHoldURL(rest[..<open]) else {
        return "…"
      }
      let target = rest[rest.index(after: open)..<close]
      text += rest[...open] + URLText.redacting(String(target)) + ">"
      rest = rest[rest.index(after: close)...]
    }
    return mayHoldURL(rest) ? "…" : text + rest
  }

  /// `5; url=URL`, as browsers read it.
  private static func refresh(_ value: String) -> String {
    guard let mark = value.firstIndex(where: { $0 == ";" || $0 == "," }) else {
      return mayHoldURL(value) ? "…" : value
    }
    let target = ASCII.trimmed(Array(value[mark...].utf8.dropFirst()))
    guard !mayHoldURL(value[..<mark]), target.count > 4,
      target.prefix(4).map(ASCII.lowercased).elementsEqual("url=".utf8)
    else { return "…" }
    let quotes = [UInt8(ascii: "\""), UInt8(ascii: "'")]
    let url = target.dropFirst(4).filter { !quotes.contains($0) }
    return "\(value[...mark]) url=\(URLText.redacting(String(decoding: url, as: UTF8.self)))"
  }
}
