// Threads of our own, for what blocks: libcurl's loop, a running remux, a job's disk work. Nothing
// that waits runs in Swift's cooperative pool.

internal import CLinux
import Glibc

/// Starts detached, named threads.
package enum WorkerThread {
  /// Runs `body` on a new thread.
  ///
  /// - Parameters:
  ///   - name: shown by tools such as `top -H`; cut to the kernel's 15 bytes.
  ///   - body: runs once; the thread ends when it returns.
  /// - Throws: `SystemError` where the system gives no thread.
  package static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    // SAFETY: one retain here, balanced by the one `takeRetainedValue` in `runBoxedBody`, or by the
    // release below where no thread was made.
    let box = Unmanaged.passRetained(Box(name: name, body: body))
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 1 << 20)
    let result = pthread_create(&thread, &attributes, runBoxedBody, box.toOpaque())
    if result != 0 {
      box.release()
      throw SystemError("pthread_create", errno: result)
    }
  }

  fileprivate final class Box: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}

/// The C entry point; at file scope so that it inherits no isolation.
private func runBoxedBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  // SAFETY: the one take for the one retain in `WorkerThread.start`.
  let box = Unmanaged<WorkerThread.Box>.fromOpaque(context).takeRetainedValue()
  vf_name_thread(box.name)
  box.body()
  return nil
}
