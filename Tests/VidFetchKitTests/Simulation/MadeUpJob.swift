// What a job does with what its fetch tells, without an export.

import FetchCore
import Foundation
import HTTPTransfer
import PartialStorage
import TestSupport

@testable import VidFetchKit

/// One fetch from a made-up server, from its beginning to its end.
///
/// SAFETY of `@unchecked Sendable`: everything of a simulation happens on one thread.
final class MadeUpJob: @unchecked Sendable {
  enum Ending {
    case completed([UInt8], isFramed: Bool)
    case failed(FetchError)
    /// It didn't end.
    case none
  }

  let time = MadeUpTime()
  let network: MadeUpNetwork
  let part: PartialFile
  private let scratch: ScratchDirectory
  private let begin: Int64
  /// Whether what is in memory gets its file while it comes.
  private let settles: Bool
  private var fetch: HTTPFetch?
  private var inbox: [HTTPFetch.Report] = []
  private var ending = Ending.none
  private var isOver = false
  private(set) var accepted = 0

  init(_ scenario: Scenario, seed: Int, connections: Int) throws {
    network = MadeUpNetwork(scenario, seed: seed, time: time)
    scratch = try ScratchDirectory()
    let address = try HTTPFetch.parse("http://made.up/film.mp4")
    let folder = try Folder.existing(scratch.path)
    // In memory as far as that goes, so that there are versions on both sides of the limit.
    part =
      seed.isMultiple(of: 2)
      ? try PartialFile.open(in: folder, key: address.key, takesSuffix: false)
      : try PartialFile.openInMemory(
        in: folder, key: address.key, takesSuffix: false, memoryLimit: 150_000)
    settles = seed % 4 == 1
    begin = time.now
    var settings = TransferSettings()
    settings.connections = connections
    var random = SeededNumbers(seed: UInt64(seed))
    let jitter = (0..<64).map { _ in Double.random(in: 0..<1, using: &random) }
    let turn = Locked(0)
    // SAFETY: one thread only, as above.
    nonisolated(unsafe) let time = time
    let clock = TransferClock(
      now: { time.now }, date: { time.now / 1_000_000_000 },
      jitter: {
        turn.withLock { turn in
          turn += 1
          return jitter[turn % 64]
        }
      })
    fetch = HTTPFetch(
      address, settings: settings, part: part, loop: network, clock: clock,
      admit: { _ throws(FetchError) in .welcome },
      report: { [unowned self] in inbox.append($0) })
  }

  /// Seconds that have passed.
  var seconds: Double { Double(time.now - begin) / 1e9 }

  /// Runs to the end, at most for some hours of made-up time.
  func run() throws -> Ending {
    fetch?.request()
    tick()
    while !isOver, seconds < 4 * 3600 {
      guard time.step() else { break }
      while !inbox.isEmpty, !isOver { try take(inbox.removeFirst()) }
    }
    fetch = nil
    return ending
  }

  private func tick() {
    guard !isOver else { return }
    if settles, seconds >= 0.3 { try? part.settle() }
    fetch?.tick()
    time.after(100_000_000) { [weak self] in self?.tick() }
  }

  private func take(_ report: HTTPFetch.Report) throws {
    switch report {
    case .accepted: accepted += 1
    case .warning, .log: break
    case .completed(let total, let isFramed):
      let bytes = try part.descriptor.bytes(at: 0, count: Int(total) + 1)
      end(.completed(bytes, isFramed: isFramed))
    case .paused(let wait, _, _):
      let (seconds, attoseconds) = wait.components
      time.after(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) { [weak self] in
        self?.fetch?.request()
      }
    case .again: fetch?.request()
    case .failed(let error): end(.failed(error))
    case .restart(let reason, _):
      try part.restart()
      fetch?.forget(isNew: reason == .remoteChanged)
      fetch?.request()
    case .targetExists, .notModified:
      end(.failed(FetchError(.internal, "nothing of the kind was asked for")))
    }
  }

  private func end(_ ending: Ending) {
    self.ending = ending
    isOver = true
  }
}
