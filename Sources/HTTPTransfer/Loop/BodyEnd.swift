// Where a body stops being wanted. Others may move that nearer while it comes.

import Synchronization

/// The offset of a resource that a body is wanted up to; any thread may move it.
package final class BodyEnd: Sendable {
  private let offset: Atomic<Int64>

  /// - Parameter offset: of the resource, not of the body; `Int64.max` for all.
  package init(_ offset: Int64) { self.offset = Atomic(offset) }

  /// The first byte that isn't wanted.
  package var value: Int64 { offset.load(ordering: .acquiring) }

  /// Moves the end; a body that is past it already ends with the next piece.
  package func move(to offset: Int64) { self.offset.store(offset, ordering: .releasing) }
}
