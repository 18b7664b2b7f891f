// What a person should know although the item succeeds.

/// Something that was lost, converted or assumed on the way to a result.
package struct FetchWarning: Sendable, Hashable, Codable {
  /// The stable names; new ones may be added.
  package enum Name: String, Sendable, Hashable, Codable, CaseIterable {
    /// A stream was left out.
    case streamDropped = "stream_dropped"
    /// A stream was kept in another representation.
    case streamConverted = "stream_converted"
    /// A property of a stream or of the file could not be carried.
    case propertyLost = "property_lost"
    /// The result is right, but some players may refuse it.
    case compatibility
    /// Timestamps of the source had to be changed.
    case timestampsRepaired = "timestamps_repaired"
    /// Credentials travel over a connection that others can read.
    case insecureCredentials = "insecure_credentials"
    /// A redirect led from https to http.
    case downgrade
    /// The remote changed, so that the part was dropped.
    case remoteChanged = "remote_changed"
    /// What the server or the system did was odd but harmless.
    case unusual
  }

  package var warning: Name
  /// The index of the source's stream, where it is about one.
  package var stream: Int?
  /// One line for a person.
  package var message: String

  package init(_ warning: Name, stream: Int? = nil, _ message: String) {
    self.warning = warning
    self.stream = stream
    self.message = message
  }
}
