import FetchCore
import Testing

@Suite struct RoomAheadTests {
  private let size: Int64 = 100 << 20
  private let step = RoomAhead.step

  @Test func roomIsTakenAStepAtATime() {
    var room = RoomAhead()
    #expect(room.next(for: ByteRange(0, 10)!, size: size) == ByteRange(0, step))
    #expect(room.next(for: ByteRange(10, step)!, size: size) == nil)
    #expect(
      room.next(for: ByteRange(step - 5, step + 5)!, size: size) == ByteRange(step, 2 * step))
  }

  @Test func rangesFarApartGetTheirOwn() {
    var room = RoomAhead()
    #expect(
      room.next(for: ByteRange(3 * step + 7, 3 * step + 8)!, size: size)
        == ByteRange(3 * step, 4 * step))
    #expect(room.next(for: ByteRange(0, 3 * step + 9)!, size: size) == ByteRange(0, 4 * step))
    #expect(room.next(for: ByteRange(step, 2 * step)!, size: size) == nil)
  }

  @Test func neverMoreThanTheFileWillNeed() {
    var room = RoomAhead()
    #expect(
      room.next(for: ByteRange(size - 1, size + 50)!, size: size)
        == ByteRange(size / step * step, size))
    #expect(room.next(for: ByteRange(size, size + 50)!, size: size) == nil)
  }

  @Test func smallFilesAreNotWorthIt() {
    var room = RoomAhead()
    #expect(room.next(for: ByteRange(0, 10)!, size: RoomAhead.leastSize - 1) == nil)
  }
}
