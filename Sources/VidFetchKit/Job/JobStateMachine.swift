// The life of a job, as a value: what happened goes in, what is to be done comes out. Pure; the job's
// thread feeds it and does what it says.

import FetchCore
import MediaRemux

/// Decides what a job does next.
///
/// Two stages run side by side: the transfer fills the part, the export reads it. Whichever fails
/// first decides the outcome; both have stopped before anything is taken down, since both use the
/// part.
struct JobStateMachine: Sendable {
  enum Event: Sendable {
    /// The job begins; a source that is all there has no transfer.
    case begin(hasTransfer: Bool)
    /// A response was accepted, or the part was found complete: bytes are there or will come.
    case accepted
    /// All bytes are there.
    case transferCompleted(total: Int64, isFramed: Bool)
    /// The transfer ended for good.
    case transferFailed(FetchError)
    /// The transfer ended, and may be tried again after a wait.
    case transferPaused(Duration)
    /// The wait is over.
    case waitEnded
    /// The part is worth nothing: it is to be emptied and fetched from its beginning.
    case restart
    /// Nothing needs to be done after all: the target is there, and is wanted as it is.
    case targetExists
    case exportFinished(RemuxOutcome)
    case exportFailed(FetchError)
    /// The disk failed the part, whatever the stages are doing.
    case storageFailed(FetchError)
    case cancel
    case published
    /// The name was taken in the meantime, by a file that is wanted as it is.
    case publishedByAnother
    case publishFailed(FetchError)
  }

  enum Action: Sendable, Equatable {
    case request
    case wait(Duration)
    case cancelTransfer
    case startExport
    /// Tells the export that no more will come.
    case endSource(total: Int64, isFramed: Bool)
    case cancelExport
    /// Empties the part; neither stage is running.
    case resetPart
    case publish
    case finish(Outcome)

    /// Whether it belongs to a job that is over.
    var isEnding: Bool {
      if case .finish = self { true } else { false }
    }
  }

  enum Outcome: Sendable, Equatable {
    case succeeded
    case skipped
    case failed(FetchError)
  }

  private enum Transfer: Equatable {
    case none
    case running
    case waiting
    case complete(total: Int64, isFramed: Bool)
    case ended
  }

  private enum Export: Equatable {
    case none
    case running
    /// Cancelled, but not yet silent.
    case stopping
    case finished
  }

  private enum Phase: Equatable {
    case working
    /// The part is to be emptied once both stages are silent.
    case restarting
    case publishing
    /// Winding down to this outcome.
    case ending(Outcome)
    case over
  }

  private var transfer = Transfer.none
  private var export = Export.none
  private var phase = Phase.working

  init() {}

  /// Whether the job has come to its end.
  var isOver: Bool { phase == .over }

  /// Takes in what happened; returns what is to be done, in order.
  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .begin(let hasTransfer):
      guard hasTransfer else { return startExport() }
      transfer = .running
      return [.request]
    case .accepted:
      return phase == .working && export == .none ? startExport() : []
    case .transferCompleted(let total, let isFramed):
      transfer = .complete(total: total, isFramed: isFramed)
      guard phase == .working else { return proceed() }
      return export == .none
        ? startExport() : [.endSource(total: total, isFramed: isFramed)]
    case .transferFailed(let error):
      transfer = .ended
      return end(.failed(error))
    case .transferPaused(let wait):
      guard phase == .working else {
        transfer = .ended
        return proceed()
      }
      transfer = .waiting
      return [.wait(wait)]
    case .waitEnded:
      guard phase == .working, transfer == .waiting else { return [] }
      transfer = .running
      return [.request]
    case .restart:
      transfer = .ended
      if phase == .working { phase = .restarting }
      return proceed()
    case .targetExists:
      transfer = .ended
      return end(.skipped)
    case .exportFinished:
      export = .finished
      guard phase == .working else { return proceed() }
      phase = .publishing
      return [.publish]
    case .exportFailed(let error):
      export = .none
      return phase == .working ? end(.failed(error)) : proceed()
    case .storageFailed(let error):
      return end(.failed(error))
    case .cancel:
      return end(.failed(.cancelled))
    case .published:
      phase = .over
      return [.finish(.succeeded)]
    case .publishedByAnother:
      phase = .over
      return [.finish(.skipped)]
    case .publishFailed(let error):
      phase = .over
      return [.finish(.failed(error))]
    }
  }

  private mutating func startExport() -> [Action] {
    export = .running
    guard case .complete(let total, let isFramed) = transfer else { return [.startExport] }
    return [.startExport, .endSource(total: total, isFramed: isFramed)]
  }

  /// The first outcome wins; a restart gives way to it.
  private mutating func end(_ outcome: Outcome) -> [Action] {
    switch phase {
    case .over, .publishing, .ending: break
    case .working, .restarting: phase = .ending(outcome)
    }
    return proceed()
  }

  /// Goes on with a restart or an ending as far as the stages allow.
  private mutating func proceed() -> [Action] {
    switch phase {
    case .working, .publishing, .over: return []
    case .restarting, .ending: break
    }
    var actions: [Action] = []
    if transfer == .running {
      // Its end is told by an event.
      actions.append(.cancelTransfer)
    } else if transfer == .waiting {
      transfer = .ended
    }
    if export == .running {
      export = .stopping
      actions.append(.cancelExport)
    }
    guard transfer != .running, export != .stopping else { return actions }
    if case .ending(let outcome) = phase {
      phase = .over
      return actions + [.finish(outcome)]
    }
    phase = .working
    transfer = .running
    export = .none
    return actions + [.resetPart, .request]
  }
}
