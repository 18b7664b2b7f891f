// Every libcurl option of a request, as a table that the code applies and a test reads. Options that
// hold pointers (URL, fields, callbacks) are set where their memory is owned.

import CCurl
import FetchCore

/// One option and its value.
struct TransferOption: Sendable {
  enum Value: Sendable, Hashable {
    case long(Int)
    case offset(Int64)
    /// nil takes the default away.
    case text(String?)
  }

  let name: String
  let value: Value
  /// `CURLoption`'s raw value.
  let number: UInt32

  fileprivate init(_ name: String, _ option: CURLoption, _ value: Value) {
    self.name = name
    self.number = option.rawValue
    self.value = value
  }
}

enum TransferOptions {
  /// The receive buffer's size: libcurl's own 16 KiB cost nearly twice the time on a fast link.
  ///
  /// A range with an end mostly runs beside others, up to sixteen, whose buffers together are to stay
  /// small. Under a limit it holds a tenth of a second, so that what comes at once is little.
  static func receiveBuffer(for range: RequestedRange?, rate: Int64?) -> Int {
    let most: Int64 = range?.last == nil ? 512 * 1024 : 128 * 1024
    guard let rate, rate > 0 else { return Int(most) }
    return Int(min(max(rate / 10, 1024), most))
  }

  /// The same for every request.
  static let fixed: [TransferOption] = [
    // Nothing but HTTP, and no redirect but by our own rule.
    TransferOption("PROTOCOLS_STR", CURLOPT_PROTOCOLS_STR, .text("http,https")),
    TransferOption("REDIR_PROTOCOLS_STR", CURLOPT_REDIR_PROTOCOLS_STR, .text("http,https")),
    TransferOption("FOLLOWLOCATION", CURLOPT_FOLLOWLOCATION, .long(0)),
    TransferOption("HTTPGET", CURLOPT_HTTPGET, .long(1)),
    TransferOption("HTTP09_ALLOWED", CURLOPT_HTTP09_ALLOWED, .long(0)),
    TransferOption("HTTP_VERSION", CURLOPT_HTTP_VERSION, .long(Int(CURL_HTTP_VERSION_2TLS))),
    // Secrets come from our own table of fields only.
    TransferOption("UNRESTRICTED_AUTH", CURLOPT_UNRESTRICTED_AUTH, .long(0)),
    TransferOption("NETRC", CURLOPT_NETRC, .long(0)),
    TransferOption("DISALLOW_USERNAME_IN_URL", CURLOPT_DISALLOW_USERNAME_IN_URL, .long(1)),
    TransferOption("AUTOREFERER", CURLOPT_AUTOREFERER, .long(0)),
    TransferOption("HEADEROPT", CURLOPT_HEADEROPT, .long(Int(CURLHEADER_SEPARATE))),
    // TLS as strict as it is.
    TransferOption("SSL_VERIFYPEER", CURLOPT_SSL_VERIFYPEER, .long(1)),
    TransferOption("SSL_VERIFYHOST", CURLOPT_SSL_VERIFYHOST, .long(2)),
    TransferOption("SSLVERSION", CURLOPT_SSLVERSION, .long(Int(CURL_SSLVERSION_TLSv1_2))),
    TransferOption("PROXY_SSL_VERIFYPEER", CURLOPT_PROXY_SSL_VERIFYPEER, .long(1)),
    TransferOption("PROXY_SSL_VERIFYHOST", CURLOPT_PROXY_SSL_VERIFYHOST, .long(2)),
    TransferOption(
      "PROXY_SSLVERSION", CURLOPT_PROXY_SSLVERSION, .long(Int(CURL_SSLVERSION_TLSv1_2))),
    // The bytes as they are.
    TransferOption("HTTP_CONTENT_DECODING", CURLOPT_HTTP_CONTENT_DECODING, .long(0)),
    TransferOption("ACCEPT_ENCODING", CURLOPT_ACCEPT_ENCODING, .text(nil)),
    // Errors of our own making, heads of the server only.
    TransferOption("FAILONERROR", CURLOPT_FAILONERROR, .long(0)),
    TransferOption("SUPPRESS_CONNECT_HEADERS", CURLOPT_SUPPRESS_CONNECT_HEADERS, .long(1)),
    TransferOption("NOPROGRESS", CURLOPT_NOPROGRESS, .long(1)),
    // No signals in a library, and no waiting for a resolver that hangs.
    TransferOption("NOSIGNAL", CURLOPT_NOSIGNAL, .long(1)),
    TransferOption("QUICK_EXIT", CURLOPT_QUICK_EXIT, .long(1)),
    TransferOption("TCP_NODELAY", CURLOPT_TCP_NODELAY, .long(1)),
    TransferOption("TCP_KEEPALIVE", CURLOPT_TCP_KEEPALIVE, .long(1)),
    TransferOption("MAXLIFETIME_CONN", CURLOPT_MAXLIFETIME_CONN, .long(600)),
    // Which hosts go around the proxy is decided by `ProxyPolicy`.
    TransferOption("NOPROXY", CURLOPT_NOPROXY, .text("")),
  ]

  /// What depends on the request.
  static func specific(
    to request: HTTPRequest, fields: RequestFields, proxy: String?, trust: TrustSource, rate: Int64?
  ) -> [TransferOption] {
    let settings = request.settings
    var options = [
      TransferOption("USERAGENT", CURLOPT_USERAGENT, .text(fields.userAgent)),
      TransferOption("RANGE", CURLOPT_RANGE, .text(request.range?.text)),
      TransferOption("PROXY", CURLOPT_PROXY, .text(proxy ?? "")),
      TransferOption(
        "CONNECTTIMEOUT_MS", CURLOPT_CONNECTTIMEOUT_MS,
        .long(Int(max(1, Monotonic.milliseconds(settings.connectTimeout))))),
      TransferOption(
        "BUFFERSIZE", CURLOPT_BUFFERSIZE, .long(receiveBuffer(for: request.range, rate: rate))),
      TransferOption(
        "FRESH_CONNECT", CURLOPT_FRESH_CONNECT, .long(request.needsNewConnection ? 1 : 0)),
    ]
    if request.isAlone {
      options.append(
        TransferOption("HTTP_VERSION", CURLOPT_HTTP_VERSION, .long(Int(CURL_HTTP_VERSION_1_1))))
    }
    if let file = trust.file {
      options.append(TransferOption("CAINFO", CURLOPT_CAINFO, .text(file)))
      options.append(TransferOption("PROXY_CAINFO", CURLOPT_PROXY_CAINFO, .text(file)))
    }
    // libcurl keeps a parsed set of certificates for the next connection only where they come from
    // one file; the folder, where the built-in file exists, holds the same again.
    if trust.directory != nil || trust.file != nil || CurlLibrary.defaultTrustFile != nil {
      options.append(TransferOption("CAPATH", CURLOPT_CAPATH, .text(trust.directory)))
      options.append(TransferOption("PROXY_CAPATH", CURLOPT_PROXY_CAPATH, .text(trust.directory)))
    }
    return options
  }
}
