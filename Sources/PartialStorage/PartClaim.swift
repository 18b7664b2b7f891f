// What an attempt may do with a part that it finds, on a file system that other machines may share.
// Two attempts at one item may overlap there: an engine gives a task to another node when it has lost
// sight of the first, which may still be at work. Pure.

/// The right to a part that was found.
package enum PartClaim: Sendable, Hashable {
  /// A live process of this machine holds it.
  case held
  /// Another machine holds it, or did a moment ago; it is left alone.
  case foreign
  /// Whoever made it has ended; it is continued in place.
  case adoptable
  /// Another machine made it and has been silent since, which is no proof that it never writes again:
  /// its bytes are good, the file is not ours.
  case copyable

  /// How long another machine's part must have been silent to count as left behind.
  ///
  /// A holder writes its record at least every 10 s, and a network file system's client may keep that
  /// for 35 s more (`vm.dirty_expire_centisecs`, `vm.dirty_writeback_centisecs`).
  package static let patience = Duration.seconds(60)

  /// Decides.
  ///
  /// - Parameters:
  ///   - isLocked: whether somebody else has the lock. That nobody has says something only where all
  ///     who might have it run on one kernel, or where the file system passes locks on.
  ///   - holder: from the record, where there is one.
  ///   - silence: by the file system's own clock, so that clocks of machines need not agree. A clock
  ///     that was set back makes it negative.
  package init(
    isLocked: Bool, holder: HostIdentity?, host: HostIdentity, silence: Duration
  ) {
    // The same machine with another boot has started anew: who held the part then is gone.
    let isForeign = holder.map { !$0.isSameMachine(as: host) } ?? false
    switch (isForeign, isLocked) {
    case (false, true): self = .held
    case (false, false): self = .adoptable
    case (true, true): self = .foreign
    case (true, false):
      self = silence < Self.patience && silence > .zero - Self.patience ? .foreign : .copyable
    }
  }
}
