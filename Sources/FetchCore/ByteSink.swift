// The contract between the network and whatever takes its bytes: the network knows offsets, never a
// file or a path.

/// Takes the bytes of a resource at their offsets.
///
/// Called by one transfer at a time for one range, on the transfer thread; several transfers may
/// fill different ranges of the same sink.
package protocol ByteSink: AnyObject, Sendable {
  /// Writes all of `bytes` at `offset` of the resource, or throws.
  ///
  /// The buffer is borrowed for the call. A throw ends the transfer, and the error is its outcome.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FetchError)
}
