import FetchCore
import MediaRemux
import Testing

@testable import VidFetchKit

@Suite struct JobStateMachineTests {
  private let network = FetchError(.network, "cut")
  private let damaged = FetchError(.damaged, "broken")
  private let outcome = RemuxOutcome(
    plan: RemuxPlan(streams: [], sourceFormat: "mov", duration: 1), ledger: [],
    completeBy: .structure, duration: 1, bytes: 1, counters: RemuxCounters())

  private func running() -> JobStateMachine {
    var machine = JobStateMachine()
    #expect(machine.handle(.begin(hasTransfer: true)) == [.request])
    #expect(machine.handle(.accepted) == [.startExport])
    return machine
  }

  @Test func exportRunsWhileTheTransferRunsAndThenIsPublished() {
    var machine = running()
    #expect(
      machine.handle(.transferCompleted(total: 9, isFramed: true))
        == [.endSource(total: 9, isFramed: true)])
    #expect(machine.handle(.exportFinished(outcome)) == [.publish])
    #expect(machine.handle(.published) == [.finish(.succeeded)])
    #expect(machine.isOver)
  }

  @Test func completePartNeedsNoResponse() {
    var machine = JobStateMachine()
    _ = machine.handle(.begin(hasTransfer: true))
    #expect(
      machine.handle(.transferCompleted(total: 9, isFramed: true))
        == [.startExport, .endSource(total: 9, isFramed: true)])
  }

  @Test func localSourceHasNoTransfer() {
    var machine = JobStateMachine()
    #expect(machine.handle(.begin(hasTransfer: false)) == [.startExport])
    #expect(machine.handle(.exportFailed(damaged)) == [.finish(.failed(damaged))])
  }

  @Test func retryKeepsTheExportRunning() {
    var machine = running()
    #expect(machine.handle(.transferPaused(.seconds(2))) == [.wait(.seconds(2))])
    #expect(machine.handle(.waitEnded) == [.request])
    #expect(machine.handle(.accepted).isEmpty)
  }

  @Test func failedTransferStopsTheExportBeforeTheJobEnds() {
    var machine = running()
    #expect(machine.handle(.transferFailed(network)) == [.cancelExport])
    #expect(!machine.isOver)
    #expect(machine.handle(.exportFailed(.cancelled)) == [.finish(.failed(network))])
  }

  @Test func failedExportStopsTheTransferBeforeTheJobEnds() {
    var machine = running()
    #expect(machine.handle(.exportFailed(damaged)) == [.cancelTransfer])
    #expect(machine.handle(.transferFailed(.cancelled)) == [.finish(.failed(damaged))])
  }

  @Test func restartWaitsUntilNobodyReadsThePart() {
    var machine = running()
    #expect(machine.handle(.restart) == [.cancelExport])
    #expect(machine.handle(.exportFailed(.cancelled)) == [.resetPart, .request])
    #expect(machine.handle(.accepted) == [.startExport])
  }

  @Test func restartBeforeAnyExportIsImmediate() {
    var machine = JobStateMachine()
    _ = machine.handle(.begin(hasTransfer: true))
    #expect(machine.handle(.restart) == [.resetPart, .request])
  }

  @Test func exportThatFailsForItselfDuringARestartDoesNotEndTheJob() {
    var machine = running()
    _ = machine.handle(.restart)
    #expect(machine.handle(.exportFailed(damaged)) == [.resetPart, .request])
  }

  @Test func cancelStopsBothStagesAndThenFinishes() {
    var machine = running()
    #expect(machine.handle(.cancel) == [.cancelTransfer, .cancelExport])
    #expect(machine.handle(.exportFailed(.cancelled)) == [.cancelTransfer])
    #expect(machine.handle(.transferFailed(.cancelled)) == [.finish(.failed(.cancelled))])
  }

  @Test func cancelDuringAWaitNeedsOnlyTheExportToStop() {
    var machine = running()
    _ = machine.handle(.transferPaused(.seconds(5)))
    #expect(machine.handle(.cancel) == [.cancelExport])
    #expect(machine.handle(.waitEnded).isEmpty)
    #expect(machine.handle(.exportFailed(.cancelled)) == [.finish(.failed(.cancelled))])
  }

  @Test func cancelDuringARestartWins() {
    var machine = running()
    _ = machine.handle(.restart)
    #expect(machine.handle(.cancel).isEmpty)
    #expect(machine.handle(.exportFailed(.cancelled)) == [.finish(.failed(.cancelled))])
  }

  @Test func cancelAfterTheExportHasFinishedLetsItBePublished() {
    var machine = running()
    _ = machine.handle(.transferCompleted(total: 9, isFramed: true))
    _ = machine.handle(.exportFinished(outcome))
    #expect(machine.handle(.cancel).isEmpty)
    #expect(machine.handle(.published) == [.finish(.succeeded)])
  }

  @Test func failingDiskStopsBothStages() {
    let full = FetchError(.diskFull, "full")
    var machine = running()
    #expect(machine.handle(.storageFailed(full)) == [.cancelTransfer, .cancelExport])
    #expect(machine.handle(.transferFailed(.cancelled)).isEmpty)
    #expect(machine.handle(.exportFailed(.cancelled)) == [.finish(.failed(full))])
  }

  @Test func targetThatTurnsUpLateCanCountAsDone() {
    var machine = running()
    _ = machine.handle(.transferCompleted(total: 9, isFramed: true))
    _ = machine.handle(.exportFinished(outcome))
    #expect(machine.handle(.publishedByAnother) == [.finish(.skipped)])
  }

  @Test func firstFailureDecides() {
    var machine = running()
    _ = machine.handle(.exportFailed(damaged))
    #expect(machine.handle(.transferFailed(network)) == [.finish(.failed(damaged))])
  }

  @Test func satisfiedTargetEndsTheJobWithoutAFile() {
    var machine = JobStateMachine()
    _ = machine.handle(.begin(hasTransfer: true))
    #expect(machine.handle(.targetExists) == [.finish(.skipped)])
  }

  /// Whatever happens in whatever order, a job ends once, and never empties the part or ends while a
  /// stage may still use it.
  @Test func anyOrderOfEventsIsSafe() {
    var random = SeededGenerator(state: 11)
    for _ in 0..<3000 {
      var machine = JobStateMachine()
      var transferRuns = false
      var exportRuns = false
      var finishes = 0
      func follow(_ actions: [JobStateMachine.Action]) {
        for action in actions {
          switch action {
          case .request: transferRuns = true
          case .startExport:
            #expect(!exportRuns)
            exportRuns = true
          case .resetPart: #expect(!exportRuns && !transferRuns)
          case .finish:
            #expect(!exportRuns && !transferRuns)
            finishes += 1
          default: break
          }
        }
      }
      follow(machine.handle(.begin(hasTransfer: true)))
      var steps = 0
      while !machine.isOver, steps < 200 {
        steps += 1
        var events: [JobStateMachine.Event] = [.waitEnded]
        if steps > 20 { events.append(.cancel) }
        if transferRuns {
          events += [.accepted, .transferFailed(network), .transferPaused(.zero), .restart]
          events += [.storageFailed(damaged)]
          events += [.transferCompleted(total: 3, isFramed: true)]
        }
        if exportRuns { events += [.exportFailed(damaged), .exportFinished(outcome)] }
        let event = events[Int(random.next() % UInt64(events.count))]
        switch event {
        case .transferFailed, .transferPaused, .restart, .transferCompleted: transferRuns = false
        case .exportFailed: exportRuns = false
        case .exportFinished:
          // The export can't end well before the transfer has.
          if transferRuns { continue }
          exportRuns = false
        default: break
        }
        let actions = machine.handle(event)
        follow(actions)
        if actions.contains(.publish) { follow(machine.handle(.published)) }
      }
      #expect(finishes == 1)
    }
  }
}

/// A seeded generator, so that a failure can be repeated.
struct SeededGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
