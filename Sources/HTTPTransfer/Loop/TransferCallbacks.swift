// The C functions that libcurl calls, on the transfer thread, from within `curl_multi_perform`. They
// only find their exchange and hand over.
//
// SAFETY of every `takeUnretainedValue`: the context is the `Exchange` that owns the easy handle. The
// loop holds the exchange in its table until the handle is off the multi handle and freed, so it
// outlives every call.

import CCurl
import Glibc

private func exchange(_ context: UnsafeMutableRawPointer?) -> Exchange? {
  guard let context else { return nil }
  return Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
}

/// CURLOPT_HEADERFUNCTION: one line of a head, with its line break.
func transferDidReceiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return exchange(context)?.takeHeader(line) == true ? line.count : 0
}

/// CURLOPT_WRITEFUNCTION: some of the body, 16 KiB at most.
func transferDidReceiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return switch exchange(context)?.takeBody(body) {
  case .taken: body.count
  case .paused: Int(CURL_WRITEFUNC_PAUSE)
  case .ended, nil: 0
  }
}

/// CURLOPT_PREREQFUNCTION: a connection, new or reused, stands; the request is about to be sent.
func transferWillRequest(
  _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ port: Int32, _ localPort: Int32
) -> Int32 {
  let text = address.map { String(cString: $0) } ?? ""
  let isPermitted = exchange(context)?.willUse(address: text) == true
  return isPermitted ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// CURLOPT_OPENSOCKETFUNCTION: a connection to this address is about to be tried.
func transferOpensSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address, let exchange = exchange(context) else { return vf_bad_socket }
  var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
  let length = socklen_t(address.pointee.addrlen)
  guard
    getnameinfo(
      vf_socket_address(address), length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
  else { return vf_bad_socket }
  let name = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  return exchange.mayConnect(to: name) ? vf_open_socket(address) : vf_bad_socket
}
