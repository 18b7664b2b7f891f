// The private-address rule, applied to what a job's hops really connect to. Confined to the transfer
// thread; the rule itself is `AddressPolicy`.

import FetchCore

/// The addresses of one exchange's hops.
struct HopAddresses {
  private var policy: AddressPolicy
  private let classify: @Sendable (String) -> AddressClass?

  // Of this hop.
  private var isProxied = false
  private(set) var isConnected = false
  /// The address at the connection's other end.
  private(set) var remote: String?
  /// Why an address was left out, where one was.
  private(set) var blocked: FetchError?

  init(policy: AddressPolicy, classify: @escaping @Sendable (String) -> AddressClass?) {
    self.policy = policy
    self.classify = classify
  }

  /// As in `HTTPResponse.reachedPublic`.
  var startedPublic: Bool? { policy.startedPublic }

  /// Begins a hop.
  ///
  /// - Throws: `.refused` where the rule forbids the URL's own host.
  mutating func beginHop(to url: HTTPURL, isProxied: Bool) throws(FetchError) {
    self.isProxied = isProxied
    isConnected = false
    remote = nil
    blocked = nil
    guard isProxied else { return }
    // Behind a proxy only the URL's own text tells where a request goes.
    let name = url.host.hasSuffix(".") ? String(url.host.dropLast()) : url.host
    let isLocal = name == "localhost" || name.hasSuffix(".localhost")
    // A name that the proxy looks up counts as public: nobody here sees where it leads, and what it
    // redirects to, perhaps around the proxy, must not be nearer than that.
    let found = isLocal ? .loopback : classify(name) ?? .global
    guard policy.permits(found) else { throw Self.refusal(url.host, found) }
    policy.note(found)
  }

  /// Whether a connection to a numeric address may be tried.
  mutating func mayConnect(to address: String) -> Bool {
    if isProxied { return true }
    let found = classify(address) ?? .reserved
    if policy.permits(found) { return true }
    blocked = Self.refusal(address, found)
    return false
  }

  /// Notes the connection that the request is about to be sent over.
  ///
  /// - Throws: `.refused` where it must not be.
  mutating func willUse(_ address: String) throws(FetchError) {
    isConnected = true
    remote = address
    if isProxied { return }
    let found = classify(address) ?? .reserved
    guard policy.permits(found) else { throw Self.refusal(address, found) }
    policy.note(found)
  }

  private static func refusal(_ address: String, _ found: AddressClass) -> FetchError {
    FetchError(
      .refused, "a public address leads to \(address), which is not public (\(found.rawValue))",
      recovery: "--allow-private lets it, where you trust the address")
  }
}
