import FetchCore
import Synchronization
import Testing

@Suite struct CancellationFlagTests {
  @Test func runsEachObserverOnce() {
    let flag = CancellationFlag()
    let count = Atomic<Int>(0)
    flag.onCancel { count.add(1, ordering: .relaxed) }
    flag.cancel()
    flag.cancel()
    #expect(count.load(ordering: .relaxed) == 1)
    #expect(flag.isCancelled)
  }

  @Test func runsALateObserverAtOnce() {
    let flag = CancellationFlag()
    flag.cancel()
    let count = Atomic<Int>(0)
    #expect(flag.onCancel { count.add(1, ordering: .relaxed) } == nil)
    #expect(count.load(ordering: .relaxed) == 1)
  }

  @Test func forgetsARemovedObserver() {
    let flag = CancellationFlag()
    let count = Atomic<Int>(0)
    flag.removeObserver(flag.onCancel { count.add(1, ordering: .relaxed) })
    flag.cancel()
    #expect(count.load(ordering: .relaxed) == 0)
  }

  @Test func childHearsItsParentAndNotTheOtherWayRound() {
    let parent = CancellationFlag()
    let first = CancellationFlag(childOf: parent)
    let second = CancellationFlag(childOf: parent)
    first.cancel()
    #expect(!parent.isCancelled && !second.isCancelled)
    parent.cancel()
    #expect(second.isCancelled)
  }
}
