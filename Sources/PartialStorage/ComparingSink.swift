// Proof that a part and a resource are one, where no validator proves it: the bytes before the first
// missing one are fetched again and compared, and nothing is written until they are.

package import FetchCore
import Glibc
import Synchronization

/// Compares what arrives below an offset with a part, and passes on what lies above it.
///
/// On the transfer thread. A difference ends the transfer with an error; `differs` tells it from
/// others.
package final class ComparingSink: ByteSink {
  private let part: PartialFile
  private let compareBelow: Int64
  private let differed = Atomic<Bool>(false)

  package init(_ part: PartialFile, compareBelow: Int64) {
    self.part = part
    self.compareBelow = compareBelow
  }

  /// Whether the part holds other bytes than the resource.
  package var differs: Bool { differed.load(ordering: .acquiring) }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FetchError) {
    let known = Int(clamping: max(0, min(Int64(bytes.count), compareBelow - offset)))
    if known > 0 {
      let present: [UInt8]
      do throws(SystemError) {
        present = try part.descriptor.bytes(at: offset, count: known)
      } catch {
        throw error.fetchError("reading \(part.folder.path)/\(part.name)")
      }
      let isEqual = present.count == known && present.elementsEqual(bytes.prefix(known))
      guard isEqual else {
        differed.store(true, ordering: .releasing)
        throw FetchError(.damaged, "the part on disk belongs to another version of the resource")
      }
    }
    if offset + Int64(bytes.count) >= compareBelow { part.confirm() }
    if known < bytes.count {
      try part.write(
        UnsafeRawBufferPointer(rebasing: bytes[known...]), at: offset + Int64(known))
    }
  }
}
