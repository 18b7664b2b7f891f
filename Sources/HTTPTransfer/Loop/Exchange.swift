// One exchange: a request, the redirects it leads to, and the body of the final response. Lives on the
// transfer thread alone; the loop moves its handles, libcurl's callbacks come in here. Decisions are in
// the policies.

import CCurl
import FetchCore

/// An exchange under way.
final class Exchange {
  /// What the loop has to do when a hop is over.
  enum Next {
    case hop(HTTPURL)
    case finish(ExchangeOutcome)
  }

  /// Why a callback ended the transfer, or what is settled although bytes still come.
  private enum Ending {
    case stopped
    case limit
    case status(Int)
    case redirect(HTTPURL)
    case failure(TransferFailure.Kind, FetchError)
  }

  /// Where body bytes go.
  private enum Body {
    case none
    /// Thrown away so that the connection can be used again; counts.
    case drained(Int)
    case written(BodyWriter)
  }

  /// A body that nobody wants is read up to this size, else the connection is closed.
  private static let drainLimit = 64 * 1024

  let id: ExchangeID
  private let request: HTTPRequest
  private let delegate: any ExchangeDelegate
  private let environment: TransferEnvironment
  private let limiter: RateLimiter

  // Over all hops.
  private var url: HTTPURL
  private var redirects = 0
  private var visited: Set<String> = []
  private var cookies: CookieJar
  private var addresses: HopAddresses
  private var hasWarned = false

  // Of this hop.
  private(set) var easy: EasyHandle?
  private var head = ResponseHead()
  private var response: HTTPResponse?
  private var ending: Ending?
  private var body = Body.none

  private var clock: HopClock

  init(
    id: ExchangeID, request: HTTPRequest, delegate: any ExchangeDelegate,
    environment: TransferEnvironment, classify: @escaping @Sendable (String) -> AddressClass?
  ) {
    self.id = id
    self.request = request
    self.delegate = delegate
    self.environment = environment
    limiter = request.limiter ?? RateLimiter(request.settings.rateLimit)
    clock = HopClock(stallTimeout: request.settings.stallTimeout)
    url = request.url
    cookies = request.cookies
    addresses = HopAddresses(
      policy: AddressPolicy(
        startedPublic: request.startedPublic, allowPrivate: request.settings.allowPrivate),
      classify: classify)
  }

  // MARK: - Hops

  /// Makes the handle for the first or a further hop.
  ///
  /// - Throws: what the exchange fails with; then no handle was made.
  func prepareHop(to target: HTTPURL) throws(TransferFailure) {
    url = target
    head = ResponseHead()
    ending = nil
    body = .none
    clock = HopClock(stallTimeout: request.settings.stallTimeout)
    do {
      let fields = try requestFields()
      guard visited.insert(url.text + "\n" + fields.cookieText).inserted else {
        throw failure(.redirect, RedirectPolicy.loop)
      }
      let proxy = ProxyPolicy.proxy(
        for: url, setting: request.settings.proxy, environment: environment)
      do throws(FetchError) {
        try addresses.beginHop(to: url, isProxied: proxy != nil)
      } catch {
        throw failure(.address, error)
      }
      let trust = TrustSource(setting: request.settings.caFile, environment: environment)
      let easy = try makeHandle(fields: fields, proxy: proxy, trust: trust)
      self.easy = easy
      warnAboutCredentials(fields)
      log(
        TransferLog.request(url: url, range: request.range, fields: fields, proxied: proxy != nil))
    } catch let error as TransferFailure {
      throw error
    } catch let error as FetchError {
      throw failure(error.code == .internal ? .internal : .request, error)
    } catch {
      throw failure(.internal, FetchError(.internal, "the request can't be made"))
    }
  }

  private func makeHandle(
    fields: RequestFields, proxy: String?, trust: TrustSource
  ) throws(FetchError) -> EasyHandle {
    let easy = try EasyHandle()
    try easy.apply(TransferOptions.fixed)
    try easy.apply(
      TransferOptions.specific(
        to: request, fields: fields, proxy: proxy, trust: trust, rate: limiter.rate))
    easy.setURL(try url.makeParser())
    try easy.setFields(fields.fields)
    // SAFETY: see TransferCallbacks: the loop keeps this object until the handle is gone.
    easy.setCallbacks(context: Unmanaged.passUnretained(self).toOpaque())
    return easy
  }

  private func requestFields() throws(FetchError) -> RequestFields {
    let settings = request.settings
    for field in settings.headers {
      if let problem = HeaderRule.problem(with: field) { throw FetchError(.usage, problem) }
    }
    let fields = RequestFields(
      for: url, settings: settings, secretsOrigin: request.secretsOrigin ?? request.url.origin,
      startCredentials: (request.typedURL ?? request.url).credentials,
      hopCredentials: url.credentials,
      cookies: cookies, ifRange: request.ifRange, condition: request.condition)
    let made = fields.fields + [HeaderField(name: "User-Agent", value: fields.userAgent)]
    let isClean = made.allSatisfy { HeaderRule.isClean($0.value) }
    guard isClean else {
      throw FetchError(.usage, "control characters in a header, cookie, token or user name")
    }
    return fields
  }

  private func warnAboutCredentials(_ fields: RequestFields) {
    guard fields.carriesCredentials, url.origin.scheme == "http", !hasWarned else { return }
    hasWarned = true
    delegate.exchange(
      id,
      didWarn: FetchWarning(
        .insecureCredentials,
        "credentials are sent to \(url.origin.host) over http, where others can read them"))
  }

  /// Lets go of the handle, which must be off the multi handle.
  func releaseHandle() { easy = nil }

  func setRateLimit(_ bytesPerSecond: Int64?) {
    limiter.setRate(bytesPerSecond)
    // What waits for the old limit shall not wait any longer.
    clock.shortenPause()
  }

  // MARK: - Addresses

  /// Whether a connection to a numeric address may be tried.
  func mayConnect(to address: String) -> Bool { addresses.mayConnect(to: address) }

  /// Whether the request may be sent over a connection to a numeric address.
  func willUse(address: String) -> Bool {
    clock.requestBegins(Monotonic.now)
    do throws(FetchError) {
      try addresses.willUse(address)
      return true
    } catch {
      ending = .failure(.address, error)
      return false
    }
  }

  // MARK: - Head

  /// Takes one line of a head; false ends the transfer.
  func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    let isTrailer = head.isFinal
    head.take(line)
    guard !head.isExcessive else {
      ending =
        ending
        ?? .failure(
          .request, FetchError(.refused, "the server sends header fields without end"))
      return false
    }
    if isTrailer { return true }
    // An interim head asks for patience; it brings nothing that would earn it.
    if !head.isInterim { clock.bytesCame(Monotonic.now) }
    guard head.isComplete else { return true }
    log(TransferLog.response(head))
    guard head.isFinal else { return true }
    clock.headIsComplete()
    return takeFinalHead()
  }

  private func takeFinalHead() -> Bool {
    let now = Monotonic.date
    for field in head.fields where field.name.hasSameName(as: "Set-Cookie") {
      cookies.store(field.value, from: url, now: now)
    }
    do throws(FetchError) {
      if RedirectPolicy.isRedirect(head.status) { return try takeRedirect() }
      let response = try makeResponse(now: now)
      self.response = response
      return takeFinalResponse(response)
    } catch {
      let kind: TransferFailure.Kind =
        RedirectPolicy.isRedirect(head.status)
        ? .redirect : error.code == .damaged ? .lengths : .contentCoding
      ending = .failure(kind, error)
      return false
    }
  }

  private func takeRedirect() throws(FetchError) -> Bool {
    let location = head.fields.first { $0.name.hasSameName(as: "Location") }?.value
    let target = try RedirectPolicy.target(
      status: head.status, location: location, from: url, followed: redirects,
      allowDowngrade: request.settings.allowDowngrade)
    ending = .redirect(target)
    return drain()
  }

  private func makeResponse(now: Int64) throws(FetchError) -> HTTPResponse {
    var response = HTTPResponse(
      status: head.status, finalURL: url, fields: head.fields, redirects: redirects,
      httpVersion: head.version)
    response.cookies = cookies
    response.reachedPublic = addresses.startedPublic
    response.remoteAddress = addresses.remote
    response.retryAfter = response.value("Retry-After").flatMap { RetryAfter($0, now: now) }
    // What is wrong with the body of an error doesn't matter.
    guard StatusPolicy.hasResource(head.status) else { return response }
    if let coding = response.contentEncoding {
      throw FetchError(
        .refused, "the server sends content coding \(coding.prefix(40)), which wasn't asked for",
        reason: "packed bytes can't be resumed or checked against their length",
        recovery: "ask for another address of the file: this server's set-up is wrong for media")
    }
    response.framing = try head.framing()
    if case .length(let length) = response.framing { response.contentLength = length }
    return response
  }

  private func takeFinalResponse(_ response: HTTPResponse) -> Bool {
    if let limit = request.settings.maxFileSize, let size = response.resourceSize, size > limit,
      StatusPolicy.hasResource(response.status)
    {
      ending = .failure(.tooLarge, BodyWriter.tooLarge(limit: limit, size: size))
      return false
    }
    switch delegate.exchange(id, didReceive: response) {
    case .discard:
      ending = .stopped
      // It has no body, whatever length its head gives (RFC 9110 15.4.5).
      if response.status == 304 { return true }
      // The small body of an error is read, so that the connection can serve the next try.
      return StatusPolicy.hasResource(response.status) ? false : drain()
    case .write(let sink, let offset, let end):
      guard StatusPolicy.hasResource(response.status) else {
        ending = .status(response.status)
        return drain()
      }
      prepareBody(response, sink: sink, at: offset, until: end)
      return true
    }
  }

  /// Has the body thrown away where it is known to be short; false where it isn't.
  private func drain() -> Bool {
    guard let length = try? head.contentLength(), length <= Self.drainLimit else { return false }
    body = .drained(0)
    clock.drainBegins(Monotonic.now)
    return true
  }

  // MARK: - Body

  private func prepareBody(
    _ response: HTTPResponse, sink: any ByteSink, at offset: Int64, until end: BodyEnd?
  ) {
    let lengths = [response.contentRange?.count, response.contentLength].compactMap { $0 }
    body = .written(
      BodyWriter(
        sink, at: offset, declared: lengths.min(), end: end,
        maxFileSize: request.settings.maxFileSize))
  }

  /// What a body callback answers.
  enum Reception { case taken, paused, ended }

  /// Takes some of the body.
  func takeBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
    let now = Monotonic.now
    clock.bytesCame(now)
    switch body {
    case .none:
      return .ended
    case .drained(let count):
      body = .drained(count + bytes.count)
      return count + bytes.count <= Self.drainLimit ? .taken : .ended
    case .written(let writer):
      // libcurl keeps the bytes and brings them again.
      if clock.isPaused(now) { return .paused }
      let wait = limiter.take(bytes.count, now: now)
      if wait > 0 { clock.pause(until: now + wait) }
      switch writer.take(bytes, now: now) {
      case .more: return .taken
      case .limitReached: ending = .limit
      case .failed(let kind, let error): ending = .failure(kind, error)
      }
      return .ended
    }
  }

  /// Writes the bytes that wait for a full block.
  private func flush() {
    do throws(FetchError) {
      try writer?.flush()
    } catch {
      ending = .failure(error.isCancellation ? .cancelled : .sink, error)
    }
  }

  private var writer: BodyWriter? {
    if case .written(let writer) = body { writer } else { nil }
  }

  /// Bytes that the sink has taken.
  private var written: Int64 { writer?.written ?? 0 }

  // MARK: - Time

  /// A slow stream's bytes are written after this many nanoseconds, full block or not.
  private static let flushDelay: Int64 = 100_000_000

  /// What the loop has to do about time.
  enum Due {
    case nothing
    case failure(TransferFailure)
    /// The hop is to be ended as if libcurl were done with it.
    case hopIsOver
  }

  /// Does what is due.
  ///
  /// - Parameter roundStart: when the last `curl_multi_perform` began: what has come since then may
  ///   still wait for its turn, so that silence is measured up to there.
  func tick(now: Int64, roundStart: Int64) -> Due {
    if let since = writer?.waitingSince, now - since >= Self.flushDelay {
      flush()
      if case .failure(let kind, let error) = ending { return .failure(failure(kind, error)) }
    }
    switch clock.due(now, roundStart: roundStart) {
    case .nothing:
      return .nothing
    case .pauseIsOver:
      easy?.resume()
      return .nothing
    case .drainIsOver:
      return .hopIsOver
    case .stalled:
      flush()
      let seconds = request.settings.stallTimeout.components.seconds
      return .failure(
        failure(
          .stall,
          FetchError(
            .network, "no byte from \(place) for \(seconds) s",
            recovery: "run the same command again to continue")))
    }
  }

  /// When `tick` should be called next, in nanoseconds.
  var nextTick: Int64? {
    let flushTime = writer?.waitingSince.map { $0 + Self.flushDelay }
    return [flushTime, clock.next].compactMap { $0 }.min()
  }

  // MARK: - Ends

  /// What follows when libcurl is done with a hop.
  func hopDidEnd(_ code: CURLcode) -> Next {
    flush()
    switch ending {
    case .stopped:
      return response.map { .finish(.stopped($0)) } ?? .finish(.failed(curlFailure(code)))
    case .limit:
      return completed()
    case .status(let status):
      return .finish(.failed(failure(.status(status), StatusPolicy.error(status))))
    case .redirect(let target):
      return follow(target)
    case .failure(let kind, let error):
      return .finish(.failed(failure(kind, error)))
    case nil:
      guard code == CURLE_OK else { return .finish(.failed(curlFailure(code))) }
      // libcurl counts against Content-Length only.
      return writer?.isShort == true
        ? .finish(.failed(curlFailure(CURLE_PARTIAL_FILE))) : completed()
    }
  }

  private func completed() -> Next {
    guard let response else { return .finish(.failed(curlFailure(CURLE_GOT_NOTHING))) }
    return .finish(.completed(response, bodyBytes: written))
  }

  private func follow(_ target: HTTPURL) -> Next {
    if url.origin.scheme == "https", target.origin.scheme == "http" {
      delegate.exchange(
        id,
        didWarn: FetchWarning(
          .downgrade, "a redirect leads from https to http, where others can read and change it"))
    }
    redirects += 1
    delegate.exchange(id, willFollowRedirectTo: target, status: head.status)
    return .hop(target)
  }

  /// The end that the loop or the caller brings about.
  func abandon(_ failure: TransferFailure) {
    flush()
    var failure = failure
    if case .failure(let kind, let error) = ending { failure = self.failure(kind, error) }
    failure.bodyBytes = written
    finish(.failed(failure))
  }

  var cancellation: TransferFailure { failure(.cancelled, .cancelled) }

  func finish(_ outcome: ExchangeOutcome) { delegate.exchange(id, didFinish: outcome) }

  func failure(_ kind: TransferFailure.Kind, _ error: FetchError) -> TransferFailure {
    TransferFailure(
      kind, error, response: response, bodyBytes: written, reachedPublic: addresses.startedPublic)
  }

  private func curlFailure(_ code: CURLcode) -> TransferFailure {
    if code == CURLE_COULDNT_CONNECT, let blocked = addresses.blocked {
      return failure(.address, blocked)
    }
    let found = CurlFailure(
      code: code, text: easy?.errorText ?? "", verifyResult: easy?.verifyResult ?? 0,
      osError: easy?.osError ?? 0, connectStatus: easy?.connectStatus ?? 0,
      isConnected: addresses.isConnected, place: place,
      connectTimeout: request.settings.connectTimeout,
      caFile: request.settings.caFile
    ).failure
    return failure(found.kind, found.error)
  }

  private var place: String { "\(url.origin.host):\(url.origin.port)" }

  private func log(_ lines: @autoclosure () -> [String]) {
    guard let log = request.log else { return }
    for line in lines() { log(line) }
  }
}
