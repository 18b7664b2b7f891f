// One running remux: a thread of its own between two descriptors.

package import FetchCore

/// A remux in progress.
package final class RemuxSession: Sendable {
  /// Starts a remux on a new thread.
  ///
  /// - Parameters:
  ///   - source: readable by `pread`; only bytes announced by `have` are read. Borrowed: it must
  ///     stay open until `finished` or `failed`.
  ///   - sink: an empty file, open for reading and writing, seekable. Borrowed likewise.
  ///   - onMessage: called on the remux thread.
  /// - Throws: where no thread could be made.
  package init(
    _ request: RemuxRequest, source: Int32, sink: Int32,
    onMessage: @escaping @Sendable (RemuxMessage) -> Void
  ) throws(FetchError) {
  }

  /// Tells the remux something. Any thread; never blocks for long.
  package func send(_ command: RemuxCommand) {
  }
}
