// One running remux: a thread of its own between two descriptors.

package import FetchCore

/// A remux in progress.
package final class RemuxSession: Sendable {
  private let availability: SourceAvailability

  /// Starts a remux on a new thread.
  ///
  /// - Parameters:
  ///   - source: readable by `pread`; only bytes announced by `have` are read. Borrowed: it must
  ///     stay open until the last message.
  ///   - sink: an empty file, open for reading and writing, seekable. Borrowed likewise; -1 for a
  ///     probe, which writes nothing.
  ///   - onMessage: called on the remux thread.
  /// - Throws: where no thread could be made.
  package init(
    _ request: RemuxRequest, source: Int32, sink: Int32 = -1,
    onMessage: @escaping @Sendable (RemuxMessage) -> Void
  ) throws(FetchError) {
    let availability = SourceAvailability(isFramed: request.isFramed)
    self.availability = availability
    do throws(SystemError) {
      try WorkerThread.start("remux") {
        switch request.purpose {
        case .export:
          let remux = Remux(
            request, source: source, sink: sink, availability: availability, onMessage: onMessage)
          onMessage(remux.run())
        case .probe:
          let probe = RemuxProbe(
            request.settings, source: source, availability: availability, onMessage: onMessage)
          onMessage(probe.run())
        }
      }
    } catch {
      throw FetchError(
        .internal, "no thread for the remux", reason: "\(error.call): \(error.text)",
        recovery: "run fewer jobs at once")
    }
  }

  /// Tells the remux something.
  ///
  /// Any thread; never blocks for long.
  package func send(_ command: RemuxCommand) { availability.apply(command) }
}
