// SHA-256 over the payload of one stream, packet after packet, by libcrypto. Lives on the remux
// thread.

import CCrypto
import CFFmpeg
import FetchCore

/// A running hash of what a stream carries.
///
/// Wraps `EVP_MD_CTX`.
final class PayloadHash {
  private let form: PayloadForm
  private let context: OpaquePointer
  private var hasFailed = false

  init(_ form: PayloadForm) throws(FetchError) {
    self.form = form
    guard let context = EVP_MD_CTX_new() else { throw Self.failure }
    self.context = context
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      EVP_MD_CTX_free(context)
      throw Self.failure
    }
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Takes in the payload of the next packet.
  func update(_ payload: UnsafeRawBufferPointer) {
    form.pieces(of: payload) { piece in
      if EVP_DigestUpdate(context, piece.baseAddress, piece.count) != 1 { hasFailed = true }
    }
  }

  /// The hash of all so far, in hexadecimal; further packets may follow.
  func hexadecimal() throws(FetchError) -> String {
    guard !hasFailed, let copy = EVP_MD_CTX_new() else { throw Self.failure }
    defer { EVP_MD_CTX_free(copy) }
    var count: UInt32 = 0
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &digest, &count) == 1
    else { throw Self.failure }
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in digest.prefix(Int(count)) {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static var failure: FetchError {
    FetchError(
      .internal, "the payload could not be hashed", reason: "libcrypto refuses SHA-256",
      recovery: "use --verify fast")
  }
}

extension PayloadForm {
  /// The form of a stream's packets, told as the muxer tells it: by the configuration.
  init(_ parameters: AVCodecParameters) {
    let configuration = UnsafeBufferPointer(
      start: parameters.extradata, count: Int(max(parameters.extradata_size, 0)))
    switch parameters.codec_id {
    case AV_CODEC_ID_H264:
      // The length's size stands in the configuration record (ISO 14496-15 5.3.3.1).
      let isRecord = configuration.count > 4 && configuration[0] == 1
      self = isRecord ? .lengths(Int(configuration[4] & 3) + 1) : .startCodes
    case AV_CODEC_ID_HEVC:
      // ISO 14496-15 8.3.3.1.
      let isRecord = configuration.count > 21 && configuration[0] == 1
      self = isRecord ? .lengths(Int(configuration[21] & 3) + 1) : .startCodes
    case AV_CODEC_ID_AAC: self = configuration.isEmpty ? .adts : .plain
    case AV_CODEC_ID_AV1: self = .units
    default: self = .plain
    }
  }
}
