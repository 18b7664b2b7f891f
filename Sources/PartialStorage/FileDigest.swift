// The SHA-256 of a whole file, read back. Blocks; on the job's thread.

internal import CCrypto
package import FetchCore

extension SHA256 {
  private static let blockSize = 1 << 20

  /// The digest of a file's content as 64 lower-case hex digits.
  ///
  /// - Parameter cancellation: looked at between blocks.
  package static func hexDigest(
    of file: FileDescriptor, _ cancellation: CancellationFlag? = nil
  ) throws(FetchError) -> String {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    guard context != nil, EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      throw FetchError(.internal, "libcrypto makes no SHA-256")
    }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 4096)
    defer { block.deallocate() }
    var offset: Int64 = 0
    while true {
      if cancellation?.isCancelled == true { throw .cancelled }
      let count: Int
      do throws(SystemError) {
        count = try file.read(into: block, at: offset)
      } catch {
        throw error.fetchError("reading the result back")
      }
      if count == 0 { break }
      EVP_DigestUpdate(context, block.baseAddress, count)
      offset += Int64(count)
    }
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    EVP_DigestFinal_ex(context, &digest, &length)
    return hexDigits(digest)
  }
}
