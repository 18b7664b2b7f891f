// The digest of a file that grows from its beginning, taken as it grows. On one thread.

internal import CCrypto
package import FetchCore

/// A running digest over the first bytes of a file.
///
/// Wraps `EVP_MD_CTX`. Confined to one thread.
package final class SourceDigest {
  private static let stepSize = 256 << 10

  package let algorithm: Checksum.Algorithm
  /// How much of the file is in the digest.
  package private(set) var offset: Int64 = 0
  private let context: OpaquePointer
  private var buffer: [UInt8]

  package init(_ algorithm: Checksum.Algorithm) throws(FetchError) {
    self.algorithm = algorithm
    guard let context = EVP_MD_CTX_new() else { throw Self.failure(algorithm) }
    self.context = context
    buffer = [UInt8](repeating: 0, count: Self.stepSize)
    try reset()
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Forgets all bytes, for a file that begins anew.
  package func reset() throws(FetchError) {
    offset = 0
    let kind: OpaquePointer? =
      switch algorithm {
      case .md5: EVP_md5()
      case .sha1: EVP_sha1()
      case .sha256: EVP_sha256()
      case .sha512: EVP_sha512()
      }
    guard EVP_DigestInit_ex(context, kind, nil) == 1 else { throw Self.failure(algorithm) }
  }

  /// Takes in what lies before `end` and isn't in yet.
  ///
  /// - Parameter file: all of its bytes before `end` are there for good.
  /// - Throws: `.localIO` where it can't be read, or ends before.
  package func advance(to end: Int64, reading file: FileDescriptor) throws(FetchError) {
    while offset < end {
      let wanted = Int(min(end - offset, Int64(buffer.count)))
      let count = try read(wanted, file)
      guard count > 0 else {
        throw FetchError(.localIO, "the source ended while its checksum was taken")
      }
      guard EVP_DigestUpdate(context, buffer, count) == 1 else { throw Self.failure(algorithm) }
      offset += Int64(count)
    }
  }

  private func read(_ count: Int, _ file: FileDescriptor) throws(FetchError) -> Int {
    let result = buffer.withUnsafeMutableBytes { bytes -> Result<Int, SystemError> in
      Result { () throws(SystemError) in
        try file.read(
          into: UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(count)), at: offset)
      }
    }
    do throws(SystemError) {
      return try result.get()
    } catch {
      throw error.fetchError("reading the source for its checksum")
    }
  }

  /// The digest of all bytes so far, in lower-case hex digits; more can be added behind it.
  package func finish() throws(FetchError) -> String {
    guard let copy = EVP_MD_CTX_new() else { throw Self.failure(algorithm) }
    defer { EVP_MD_CTX_free(copy) }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &digest, &count) == 1
    else { throw Self.failure(algorithm) }
    return hexDigits(digest.prefix(Int(count)))
  }

  /// A system may forbid an algorithm, MD5 above all.
  private static func failure(_ algorithm: Checksum.Algorithm) -> FetchError {
    FetchError(
      .internal, "libcrypto can't make a digest by \(algorithm.rawValue)",
      recovery: "use another checksum")
  }
}
