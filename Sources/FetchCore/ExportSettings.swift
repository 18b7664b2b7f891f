// How an export is to be made. Values only; the command line and the library fill them in, the remux
// obeys.

/// What is wanted of an export, beside its container.
package struct ExportSettings: Sendable, Hashable, Codable {
  /// How the finished output is compared with what went into it.
  package enum Verification: String, Sendable, Hashable, Codable, CaseIterable {
    /// Streams, packets, bytes and times, from the output's index.
    case fast
    /// The same, and a hash of every stream's payload, read back from the output.
    case hash
  }

  /// Puts the index (`moov`) before the media.
  package var indexFirst = true
  package var selection = StreamSelection()
  package var metadata = MetadataEdits()
  /// Fails where a stream would be dropped or a property lost, selection aside.
  package var isStrict = false
  package var verification = Verification.fast

  package init() {}
}

/// What becomes of the source's tags: titles, names, dates, places, devices.
package struct MetadataEdits: Sendable, Hashable, Codable {
  package struct Change: Sendable, Hashable, Codable {
    /// libavformat's name, such as `title`, or any other, such as `com.example.rating`.
    package var key: String
    /// An empty value takes the tag away.
    package var value: String

    package init(key: String, value: String) {
      self.key = key
      self.value = value
    }
  }

  /// Leaves out all tags of the file and its streams, and timed metadata tracks.
  ///
  /// Language, disposition, rotation, colour and chapters are no tags.
  package var strips = false
  /// Tags of the file to set, in order, after what was stripped.
  package var changes: [Change] = []

  package init() {}

  /// The keys that a file has after the edits, given those that it had; case doesn't count.
  package func keys(after source: [String]) -> [String] {
    var keys = strips ? [] : source
    for change in changes {
      keys.removeAll { $0.lowercased() == change.key.lowercased() }
      if !change.value.isEmpty { keys.append(change.key) }
    }
    return keys
  }
}
