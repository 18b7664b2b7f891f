// libcurl as a whole: made ready once, before any thread uses it.

import CCurl
import FetchCore

package enum CurlLibrary {
  /// nil once libcurl is ready; else why it can't be used.
  ///
  /// The first use calls `curl_global_init`, on whichever thread; Swift lets others wait.
  static let problem: FetchError? = {
    guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK,
      let info = curl_version_info(vf_version_now)?.pointee
    else { return FetchError(.internal, "libcurl can't be started") }
    let needed = UInt32(CURL_VERSION_SSL | CURL_VERSION_ASYNCHDNS | CURL_VERSION_LARGEFILE)
    guard info.version_num >= 0x075700, UInt32(info.features) & needed == needed else {
      return FetchError(
        .internal, "libcurl \(version) can't be used",
        reason: "7.87 or newer is needed, with TLS and a resolver that doesn't block")
    }
    return nil
  }()

  /// The linked libcurl's version, such as `7.88.1`.
  package static var version: String {
    guard let text = curl_version_info(vf_version_now)?.pointee.version else { return "unknown" }
    return String(cString: text)
  }

  /// The file of trusted certificates that libcurl was built to use.
  static let defaultTrustFile: String? = {
    guard let text = curl_version_info(vf_version_now)?.pointee.cainfo else { return nil }
    return String(cString: text)
  }()
}
