// What libcurl's codes mean for an item, in words for people.

import CCurl
import FetchCore
import Glibc

/// How a transfer by libcurl went wrong, with what libcurl knows about it.
struct CurlFailure: Sendable {
  var code: CURLcode
  /// The error buffer's text.
  var text: String
  /// OpenSSL's X509_V_ERR_…, 0 for none.
  var verifyResult: Int
  /// The errno of a failed connect, 0 for none.
  var osError: Int32
  /// The status of a proxy's answer to CONNECT, 0 for none.
  var connectStatus: Int
  /// Whether a connection to the server stood.
  var isConnected: Bool
  /// Host and port, for messages.
  var place: String
  var connectTimeout: Duration
  var caFile: String?

  /// What it was, and what to say.
  var failure: (kind: TransferFailure.Kind, error: FetchError) {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return (.resolve, network("cannot resolve host \(place)", "check the address"))
    case CURLE_COULDNT_RESOLVE_PROXY:
      return (.resolve, network("cannot resolve the proxy's host", "check --proxy"))
    case CURLE_PROXY:
      return (.connect, network("the proxy refuses the connection", "check --proxy"))
    case CURLE_COULDNT_CONNECT:
      if osError == ECONNREFUSED {
        return (.connectRefused, network("\(place) refuses the connection"))
      }
      return (.connect, network("cannot connect to \(place)"))
    case CURLE_OPERATION_TIMEDOUT:
      return (
        .connectTimeout,
        network("no connection to \(place) within \(connectTimeout.components.seconds) s")
      )
    case CURLE_PARTIAL_FILE:
      return (.cut, network("the connection ended before the body did"))
    case CURLE_GOT_NOTHING:
      return (.emptyReply, network("\(place) closed the connection without an answer"))
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR:
      if connectStatus >= 400 { return proxyRefusal }
      return (.reset, network("the connection to \(place) broke"))
    case CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return (.http2, network("the HTTP/2 connection to \(place) broke"))
    case CURLE_SSL_CONNECT_ERROR:
      // An alert about a certificate won't go away by trying again.
      return (
        URLText.lowercased(text).contains("certificate") ? .trust : .handshake,
        tls("no secure connection to \(place)")
      )
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return (.trust, certificate)
    case CURLE_SSL_CACERT_BADFILE:
      return (
        .trust,
        tls("cannot read the certificates\(caFile.map { " in \($0)" } ?? "")", "check --cacert")
      )
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ENGINE_NOTFOUND,
      CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CLIENTCERT,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_USE_SSL_FAILED:
      return (.trust, tls("no secure connection to \(place)"))
    case CURLE_UNSUPPORTED_PROTOCOL:
      // HTTP/0.9 arrives here too.
      return (.request, refused("\(place) doesn't answer as HTTP does"))
    case CURLE_URL_MALFORMAT:
      return (.request, refused("malformed URL"))
    case CURLE_WEIRD_SERVER_REPLY:
      return (.request, refused("\(place) doesn't answer as HTTP does"))
    case CURLE_BAD_CONTENT_ENCODING:
      return (.contentCoding, refused("the server sends a coding that can't be undone"))
    case CURLE_OUT_OF_MEMORY:
      return (.internal, FetchError(.internal, "out of memory"))
    default:
      return (.internal, FetchError(.internal, "the transfer failed", reason: detail))
    }
  }

  private var detail: String {
    let name = curl_easy_strerror(code).map { String(cString: $0) } ?? ""
    // libcurl repeats a proxy's URL that it can't use, password and all.
    return "libcurl \(code.rawValue): \(text.isEmpty || text.contains("@") ? name : text)"
  }

  private func network(_ message: String, _ recovery: String? = nil) -> FetchError {
    FetchError(
      .network, message, reason: detail,
      recovery: recovery ?? "run the same command again to continue")
  }

  private func refused(_ message: String) -> FetchError {
    FetchError(.refused, message, reason: detail)
  }

  private func tls(_ message: String, _ recovery: String? = nil) -> FetchError {
    FetchError(.tls, message, reason: detail, recovery: recovery)
  }

  private var proxyRefusal: (TransferFailure.Kind, FetchError) {
    var error = StatusPolicy.error(connectStatus)
    if connectStatus != 407 { error.message = "the proxy answers \(connectStatus)" }
    return (.status(connectStatus), error)
  }

  /// The certificate's fault by OpenSSL's number (x509_vfy.h).
  ///
  /// libcurl compares the host name itself, so that this fault has a text only.
  private var certificate: FetchError {
    if text.contains("subject name") || verifyResult == 62 || verifyResult == 64 {
      return tls("the certificate of \(place) is for another host name", "check the address")
    }
    let own = "a server with certificates of your own: --cacert FILE names who signs them"
    switch verifyResult {
    case 10, 12:
      return tls("the certificate of \(place) has expired", "check the date on this machine too")
    case 9, 11:
      return tls("the certificate of \(place) isn't valid yet", "check the date on this machine")
    case 18:
      return tls("the certificate of \(place) is signed by itself only", own)
    case 19, 2, 20, 21, 27:
      return tls("the certificate of \(place) is signed by an authority unknown here", own)
    case 23:
      return tls("the certificate of \(place) has been revoked")
    default:
      return tls("the certificate of \(place) can't be verified")
    }
  }
}
