import Testing
import VidFetchKit

@Suite struct BatchScheduleTests {
  private func begun(_ schedule: inout BatchSchedule, at now: Duration = .zero) -> [Int] {
    var items: [Int] = []
    while let item = schedule.next(at: now) { items.append(item) }
    return items
  }

  @Test func itemsBeginInTheirOrderUpToTheLimit() {
    var schedule = BatchSchedule(limit: 3, limitPerHost: 8)
    for item in 1...5 { schedule.add(item, host: "a", key: "\(item)") }
    #expect(begun(&schedule) == [1, 2, 3])
    schedule.ended(2)
    #expect(begun(&schedule) == [4])
    #expect(schedule.runningCount == 3 && schedule.waitingCount == 1 && !schedule.isIdle)
  }

  @Test func aFullHostHoldsUpNoOther() {
    var schedule = BatchSchedule(limit: 4, limitPerHost: 2)
    for item in 1...4 { schedule.add(item, host: "a", key: "\(item)") }
    for item in 5...6 { schedule.add(item, host: "b", key: "\(item)") }
    #expect(begun(&schedule) == [1, 2, 5, 6])
    schedule.ended(1)
    #expect(begun(&schedule) == [3])
  }

  @Test func localSourcesHaveNoHostToSpare() {
    var schedule = BatchSchedule(limit: 3, limitPerHost: 1)
    for item in 1...3 { schedule.add(item, host: "", key: "\(item)") }
    #expect(begun(&schedule) == [1, 2, 3])
  }

  @Test func aHostThatAskedForPatienceIsLeftAlone() {
    var schedule = BatchSchedule(limit: 2, limitPerHost: 8)
    schedule.add(1, host: "a", key: "\(1)")
    schedule.add(2, host: "b", key: "\(2)")
    schedule.pause("a", until: .seconds(10))
    schedule.pause("a", until: .seconds(5))
    #expect(begun(&schedule, at: .seconds(9)) == [2])
    #expect(schedule.nextWake(after: .seconds(9)) == .seconds(10))
    #expect(begun(&schedule, at: .seconds(10)) == [1])
    #expect(schedule.nextWake(after: .seconds(10)) == nil)
  }

  @Test func aPauseOutlivesTheItemsOfItsHost() {
    var schedule = BatchSchedule(limit: 1, limitPerHost: 1)
    schedule.add(1, host: "a", key: "\(1)")
    _ = schedule.next(at: .zero)
    schedule.pause("a", until: .seconds(4))
    schedule.ended(1)
    #expect(schedule.isIdle)
    schedule.add(2, host: "a", key: "\(2)")
    #expect(schedule.next(at: .seconds(1)) == nil)
    #expect(schedule.next(at: .seconds(4)) == 2)
  }

  @Test func oneKeyRunsOnce() {
    var schedule = BatchSchedule(limit: 4, limitPerHost: 8)
    schedule.add(1, host: "a", key: "k")
    schedule.add(2, host: "a", key: "k")
    schedule.add(3, host: "b", key: "l")
    #expect(begun(&schedule) == [1, 3])
    schedule.ended(1)
    #expect(begun(&schedule) == [2])
  }

  @Test func itemsThatOnlyWaitTakeNoTurn() {
    var schedule = BatchSchedule(limit: 2, limitPerHost: 8)
    for item in 1...2 { schedule.add(item, host: "a", key: "\(item)") }
    for item in 3...12 { schedule.add(item, host: "b", key: "\(item)") }
    #expect(begun(&schedule) == [1, 2])
    schedule.setPatient(1, true)
    schedule.setPatient(2, true)
    #expect(begun(&schedule) == [3, 4])
    schedule.setPatient(1, false)
    schedule.ended(3)
    #expect(begun(&schedule) == [])
    schedule.ended(4)
    #expect(begun(&schedule) == [5])
  }

  @Test func nothingWaitsAfterAClear() {
    var schedule = BatchSchedule(limit: 1, limitPerHost: 1)
    for item in 1...3 { schedule.add(item, host: "a", key: "\(item)") }
    _ = schedule.next(at: .zero)
    schedule.clear()
    schedule.ended(1)
    #expect(schedule.isIdle && schedule.next(at: .zero) == nil)
  }

  @Test func aLongListLeavesNothingBehind() {
    var schedule = BatchSchedule(limit: 1, limitPerHost: 1)
    for item in 0..<10_000 {
      schedule.add(item, host: "h\(item % 7)", key: "\(item)")
      #expect(schedule.next(at: .zero) == item)
      schedule.ended(item)
    }
    #expect(schedule.isIdle)
  }
}

@Suite struct JobCountTests {
  /// A made-up machine: `rate` says how many items a second come of a number of jobs.
  private func settled(
    processors: Int = 2, most: Int = 32, load: Double = 0.2, seconds: Int = 60,
    rate: (Int) -> Double
  ) -> Int {
    var count = JobCount(processors: processors, most: most)
    var items = 0.0
    for second in 0..<seconds {
      _ = count.measure(
        .init(
          time: .seconds(second), items: Int(items), bytes: 0,
          processorTime: .seconds(Double(second) * load * Double(processors))), isStarved: false)
      items += rate(count.count)
    }
    return count.count
  }

  @Test func moreAreRunForAsLongAsItPays() {
    #expect(settled { 20 * Double($0) } == 32)
    #expect(settled { 20 * Double(min($0, 8)) } == 8)
  }

  @Test func nothingIsGainedByMoreThanTheLink() {
    #expect(settled { _ in 40 } == 4)
    #expect(settled(processors: 8) { _ in 40 } == 16)
  }

  @Test func processorsThatAreBusyGetNoMore() {
    #expect(settled(load: 0.95) { 100 * Double($0) } == 4)
  }

  @Test func neverMoreThanTheMost() {
    #expect(settled(most: 5) { 20 * Double($0) } == 5)
    #expect(settled(processors: 64, most: 1) { 20 * Double($0) } == 1)
  }

  @Test func aListThatRunsOutTeachesNothing() {
    var count = JobCount(processors: 2, most: 32)
    for second in 0..<60 {
      let changed = count.measure(
        .init(time: .seconds(second), items: second * 100, bytes: 0, processorTime: .zero),
        isStarved: true)
      #expect(!changed)
    }
  }
}
