// Which fields a request to one URL carries. Here lies the rule that secrets stay with the origin they
// were given for: everything the person gave (headers, cookies, authorization, referrer) goes there
// and nowhere else. Pure.

package import FetchCore

/// The rule for headers of the person's own.
package enum HeaderRule {
  /// What is wrong with a header, in one line without its value; nil where it can be sent.
  package static func problem(with field: HeaderField) -> String? {
    if field.name.isEmpty || !field.name.utf8.allSatisfy(ASCII.isToken) {
      return "\"\(field.name.prefix(32))\" is no header name"
    }
    if !isClean(field.value) {
      return "the value of header \(field.name) has control characters"
    }
    if ReservedHeader.contains(field.name) {
      return "header \(field.name) is set by the transfer itself"
    }
    return nil
  }

  /// Whether a value can stand in a field, and not in a place of its own making.
  static func isClean(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}

/// The fields of one request beside those that libcurl makes.
struct RequestFields: Sendable, Hashable {
  /// In the order of sending.
  private(set) var fields: [HeaderField] = []
  private(set) var userAgent: String
  /// Whether a password or token is among them.
  private(set) var carriesCredentials = false

  /// Makes the fields for a request to `url`.
  ///
  /// - Parameters:
  ///   - secretsOrigin: whom the settings' secrets are for.
  ///   - startCredentials: user information of the URL that the settings came with.
  ///   - hopCredentials: user information of `url` itself, where a redirect wrote it there.
  init(
    for url: HTTPURL, settings: TransferSettings, secretsOrigin: Origin,
    startCredentials: UserCredentials?, hopCredentials: UserCredentials?, cookies jar: CookieJar,
    ifRange: String?, condition: RefreshCondition? = nil
  ) {
    userAgent = settings.userAgent ?? "vidfetch/\(vidfetchVersion)"
    let isHome = url.origin == secretsOrigin
    var own: [(name: String, value: String)] = []
    if isHome {
      for field in settings.headers where !field.name.hasSameName(as: "Cookie") {
        if field.name.hasSameName(as: "User-Agent") {
          userAgent = field.value
        } else {
          fields.append(field)
        }
      }
      own = settings.cookies.flatMap(Self.pairs)
      for field in settings.headers where field.name.hasSameName(as: "Cookie") {
        own += Self.pairs(field.value)
      }
      if let referer = settings.referer, !has("Referer") {
        fields.append(HeaderField(name: "Referer", value: referer))
      }
    }
    if has("Authorization") {
      carriesCredentials = true
    } else if isHome, let token = settings.bearerToken {
      authorize("Bearer " + token)
    } else if let user = (isHome ? settings.user ?? startCredentials : nil) ?? hopCredentials {
      authorize("Basic " + Base64.encode(Array("\(user.user):\(user.password)".utf8)))
    }
    // What the server has set since beats what was given at the start.
    let set = jar.pairs(for: url)
    let names = Set(set.map(\.name))
    let cookies = own.filter { !names.contains($0.name) } + set
    if !cookies.isEmpty {
      let text = cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
      fields.append(HeaderField(name: "Cookie", value: text))
      if !own.isEmpty { carriesCredentials = true }
    }
    if let ifRange { fields.append(HeaderField(name: "If-Range", value: ifRange)) }
    if let condition { fields.append(condition.field) }
  }

  private func has(_ name: String) -> Bool {
    fields.contains { $0.name.hasSameName(as: name) }
  }

  private mutating func authorize(_ value: String) {
    fields.append(HeaderField(name: "Authorization", value: value))
    carriesCredentials = true
  }

  private static func pairs(_ text: String) -> [(name: String, value: String)] {
    text.split(separator: ";").compactMap { part in
      let bytes = ASCII.trimmed(Array(part.utf8))
      guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      return (
        String(decoding: bytes[..<equals], as: UTF8.self),
        String(decoding: bytes[(equals + 1)...], as: UTF8.self)
      )
    }
  }

  /// What identifies the request's meaning to the server: who asks twice with the same goes in
  /// circles.
  var cookieText: String {
    fields.first { $0.name == "Cookie" }?.value ?? ""
  }

  /// Whether a value must not be shown: all headers of the person's own count as secret.
  static func hidesValue(_ name: String) -> Bool {
    !["user-agent", "range", "if-range", "if-none-match", "if-modified-since", "accept"].contains(
      URLText.lowercased(name))
  }
}

/// RFC 4648 4.
enum Base64 {
  static func encode(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = (0..<3).map { start + $0 < bytes.count ? UInt32(bytes[start + $0]) : 0 }
      let bits = group[0] << 16 | group[1] << 8 | group[2]
      for index in 0..<4 {
        let isPadding = start + index > bytes.count
        text.append(
          isPadding ? UInt8(ascii: "=") : digits[Int(bits >> UInt32(18 - 6 * index) & 63)])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
