// An index that gets its place by moving blocks: on a real ext4, and on a tmpfs, which can't; the
// result is the same, byte for byte.

import FetchCore
import Foundation
import TestSupport
import Testing

@testable import MediaRemux

@Suite struct BlockShiftTests {
  private static let filling = 17 << 20

  private static func draft(on disk: MountedDisk, gap: Int) throws -> IndexFirstTests.Draft {
    try .init(
      "last.mp4", extraGap: { $0 + gap }, filling: filling, place: disk.file("draft.mp4"))
  }

  private static func finished(
    on disk: MountedDisk, gap: Int, room: Int, movesBlocks: Bool
  ) throws -> [UInt8] {
    let draft = try draft(on: disk, gap: gap)
    let sink = open(draft.path, O_RDWR)
    defer { close(sink) }
    let size = try IndexFirst.finish(
      sink: sink, gap: draft.gap, room: Int64(draft.moovCount + room), movesBlocks: movesBlocks)
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: draft.path)))
    #expect(size == Int64(bytes.count))
    try IndexFirstTests.expectGood(bytes, draft)
    return bytes
  }

  /// Gap and room, each by how much it is larger than the index.
  private static let cases = [
    (-1000, -1000), (-1, -1), (0, -900), (-1096, 7096), (-1000, 7 - 4096), (3096, -1000),
    (10_000, 5904), (1_050_000, 1474), (1_000_000, 2_000_000), (600, 601),
  ]

  @Test(
    .enabled(if: MountedDisk.isPossible(.ext4), "no ext4 can be mounted here"), arguments: cases)
  func movedBlocksGiveWhatCopyingGives(_ gap: Int, _ room: Int) throws {
    let disk = try MountedDisk(.ext4, megabytes: 96)
    let moved = try Self.finished(on: disk, gap: gap, room: room, movesBlocks: true)
    #expect(try Self.finished(on: disk, gap: gap, room: room, movesBlocks: false) == moved)
  }

  @Test(
    .enabled(if: MountedDisk.isPossible(.tmpfs), "no tmpfs can be mounted here"), arguments: cases)
  func fileSystemThatCannotMoveBlocksHasThemCopied(_ gap: Int, _ room: Int) throws {
    let disk = try MountedDisk(.tmpfs, megabytes: 96)
    let moved = try Self.finished(on: disk, gap: gap, room: room, movesBlocks: true)
    #expect(try Self.finished(on: disk, gap: gap, room: room, movesBlocks: false) == moved)
  }

  @Test(
    .enabled(if: MountedDisk.isPossible(.ext4), "no ext4 can be mounted here"),
    arguments: [4096, 1 << 20, -4096, -65536], [0, 28, 4095, 4096, 9000])
  func blocksMoveWithoutACopy(_ delta: Int, _ start: Int) throws {
    let disk = try MountedDisk(.ext4, megabytes: 32)
    let path = disk.file("numbers")
    let head = (0..<start).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let gap = [UInt8](repeating: 0, count: 70_000)
    let rest = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 5) }
    try Data(head + gap + rest).write(to: URL(fileURLWithPath: path))
    let sink = open(path, O_RDWR)
    defer { close(sink) }
    let shift = try #require(BlockShift(from: Int64(start), by: Int64(delta)))
    let size = start + gap.count + rest.count
    #expect(try shift.perform(on: sink, size: Int64(size), cancellation: nil))
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    // What is between belongs to nothing.
    #expect(bytes.count == size + delta)
    #expect(Array(bytes.prefix(start)) == head)
    #expect(Array(bytes.suffix(rest.count)) == rest)
  }

  @Test(.enabled(if: MountedDisk.isPossible(.tmpfs), "no tmpfs can be mounted here"))
  func refusalChangesNothing() throws {
    let disk = try MountedDisk(.tmpfs, megabytes: 16)
    let path = disk.file("numbers")
    let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    try content.write(to: URL(fileURLWithPath: path))
    let sink = open(path, O_RDWR)
    defer { close(sink) }
    for delta: Int64 in [4096, -4096] {
      let shift = try #require(BlockShift(from: 28, by: delta))
      #expect(try !shift.perform(on: sink, size: 100_000, cancellation: nil))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == content)
  }

  @Test func onlyWholeBlocksMove() {
    #expect(BlockShift(from: 28, by: 4097) == nil)
    #expect(BlockShift(from: 28, by: 0) == nil)
    #expect(BlockShift(from: 28, by: -8192)?.offset == 0)
    #expect(BlockShift(from: 5000, by: 4096)?.offset == 4096)
  }

  @Test func cancelledMoveOfBlocksStops() throws {
    let path = FixtureFolder.shared.path("cancelled.shift")
    try Data(count: 50_000).write(to: URL(fileURLWithPath: path))
    let sink = open(path, O_RDWR)
    defer { close(sink) }
    let flag = CancellationFlag()
    flag.cancel()
    let shift = try #require(BlockShift(from: 28, by: 4096))
    #expect(throws: FetchError.cancelled) {
      try shift.perform(on: sink, size: 50_000, cancellation: flag)
    }
  }
}
