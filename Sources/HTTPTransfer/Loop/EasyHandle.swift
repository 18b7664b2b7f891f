// The owner of one CURL handle and of the memory that libcurl borrows for it. Confined to the
// transfer thread. Decides nothing.

import CCurl
import FetchCore

/// One request's handle.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  private let errorBuffer: UnsafeMutablePointer<CChar>
  private var url: URLParser?
  private var fields: UnsafeMutablePointer<curl_slist>?

  init() throws(FetchError) {
    guard let pointer = curl_easy_init() else { throw FetchError(.internal, "out of memory") }
    self.pointer = pointer
    errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    vf_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorBuffer)
  }

  /// The handle, which must be off every multi handle, goes before the memory that it points to.
  deinit {
    curl_easy_cleanup(pointer)
    curl_slist_free_all(fields)
    errorBuffer.deallocate()
  }

  /// Applies options.
  ///
  /// - Throws: `.internal` where libcurl doesn't take one: none of them is optional.
  func apply(_ options: [TransferOption]) throws(FetchError) {
    for option in options {
      let number = CURLoption(rawValue: option.number)
      let result =
        switch option.value {
        case .long(let value): vf_set_long(pointer, number, value)
        case .offset(let value): vf_set_offset(pointer, number, value)
        case .text(let value): vf_set_text(pointer, number, value)
        }
      guard result == CURLE_OK else {
        throw FetchError(
          .internal, "libcurl doesn't take option \(option.name)",
          reason: curl_easy_strerror(result).map { String(cString: $0) })
      }
    }
  }

  /// Sets the URL; `parser` is kept as long as the handle.
  func setURL(_ parser: URLParser) {
    url = parser
    vf_set_url(pointer, parser.handle)
  }

  /// Sets the request's own fields.
  func setFields(_ list: [HeaderField]) throws(FetchError) {
    for field in list {
      // A semicolon in place of the colon makes libcurl send an empty field.
      let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
      guard let longer = curl_slist_append(fields, line) else {
        throw FetchError(.internal, "out of memory")
      }
      fields = longer
    }
    vf_set_list(pointer, CURLOPT_HTTPHEADER, fields)
  }

  /// Connects the callbacks; `context` must outlive the transfer.
  func setCallbacks(context: UnsafeMutableRawPointer) {
    vf_set_bytes_callback(pointer, CURLOPT_HEADERFUNCTION, transferDidReceiveHeader)
    vf_set_pointer(pointer, CURLOPT_HEADERDATA, context)
    vf_set_bytes_callback(pointer, CURLOPT_WRITEFUNCTION, transferDidReceiveBody)
    vf_set_pointer(pointer, CURLOPT_WRITEDATA, context)
    vf_set_prereq_callback(pointer, transferWillRequest)
    vf_set_pointer(pointer, CURLOPT_PREREQDATA, context)
    vf_set_socket_callback(pointer, transferOpensSocket)
    vf_set_pointer(pointer, CURLOPT_OPENSOCKETDATA, context)
  }

  /// Goes on after a callback returned `CURL_WRITEFUNC_PAUSE`; calls callbacks.
  func resume() { curl_easy_pause(pointer, CURLPAUSE_CONT) }

  var errorText: String { String(cString: errorBuffer) }
  var osError: Int32 { Int32(truncatingIfNeeded: vf_info_long(pointer, CURLINFO_OS_ERRNO)) }
  var connectStatus: Int { vf_info_long(pointer, CURLINFO_HTTP_CONNECTCODE) }

  /// The verdict on the server's certificate, else on the proxy's.
  var verifyResult: Int {
    let own = vf_info_long(pointer, CURLINFO_SSL_VERIFYRESULT)
    return own != 0 ? own : vf_info_long(pointer, CURLINFO_PROXY_SSL_VERIFYRESULT)
  }
}
