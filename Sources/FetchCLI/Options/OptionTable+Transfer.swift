// How a transfer is made.

import FetchCore

extension OptionTable {
  static let transfer: [OptionDefinition] = [
    OptionDefinition(
      "x", "connections", value: OptionValue("N"), in: .transfer,
      "connections side by side (default: as it pays)",
      details: """
        Fetches a source over N connections side by side, at once. The default, 0, begins with one \
        and adds others, up to 16, for as long as they make it faster; 1 never uses a second. Ranges \
        are fetched side by side only where the server names the version of what it sends by a \
        strong ETag, and each range repeats it.
        """, environment: "VIDFETCH_CONNECTIONS", yieldsTo: ["low-disk"]
    ) { arguments, typed throws(UsageError) in
      arguments.connections = try count(typed, from: 0, to: TransferSettings.mostConnections)
    },
    OptionDefinition(
      nil, "max-per-host", value: OptionValue("N"), in: .transfer,
      "no more connections than this to one host",
      details: """
        Has no more than N connections to one host at a time, whatever --connections says.
        """, environment: "VIDFETCH_MAX_PER_HOST"
    ) { arguments, typed throws(UsageError) in
      arguments.connectionsPerHost = try count(typed, from: 1, to: 1_000)
    },
    OptionDefinition(
      nil, "retries", value: OptionValue("N"), in: .transfer,
      "retries without new bytes (default: 5)",
      details: """
        How often a transfer is tried again after an attempt that brought no new byte; any new byte \
        starts the count anew. The default is 5, and 0 gives up at the first failure. The waits \
        grow from 1 to 30 seconds, with jitter; a server's Retry-After is obeyed.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.retries = try count(typed, from: 0, to: 1_000_000)
    },
    OptionDefinition(
      nil, "retry-max-time", value: OptionValue("TIME"), in: .transfer,
      "no retry this long after the last byte (10m)",
      details: """
        No attempt is begun once this time has passed since the last new byte. The default is 10m. In \
        a list with --archive or --skip-existing, items that another run holds are waited for as long. \
        TIME is a number of seconds, or one with the unit ms, s, m or h.
        """
    ) { arguments, typed throws(UsageError) in arguments.retryMaxTime = try time(typed) },
    OptionDefinition(
      nil, "connect-timeout", value: OptionValue("TIME"), in: .transfer,
      "give up a connection not made by then (15s)",
      details: """
        Gives up an attempt whose connection, TLS included, isn't made within this time. The \
        default is 15s.
        """
    ) { arguments, typed throws(UsageError) in arguments.connectTimeout = try time(typed) },
    OptionDefinition(
      nil, "stall-timeout", value: OptionValue("TIME"), in: .transfer,
      "give up after this long without a byte (30s)",
      details: """
        Gives up an attempt that brings no byte for this long. The default is 30s. A transfer that \
        is slow but alive has no limit.
        """
    ) { arguments, typed throws(UsageError) in arguments.stallTimeout = try time(typed) },
    OptionDefinition(
      nil, "limit-rate", value: OptionValue("RATE"), in: .transfer,
      "download at most this many bytes a second",
      details: """
        Downloads at most RATE bytes a second. RATE takes the suffixes k, M, G and T (powers of \
        1000), or Ki, Mi, Gi and Ti (of 1024); 0 is no limit.
        """, environment: "VIDFETCH_LIMIT_RATE"
    ) { arguments, typed throws(UsageError) in arguments.limitRate = try bytes(typed) },
    OptionDefinition(
      nil, "max-filesize", value: OptionValue("SIZE"), in: .transfer,
      "refuse a source that is larger",
      details: """
        Refuses a source of more than SIZE bytes, whether the server says so beforehand or the \
        bytes arrive. SIZE takes the suffixes of --limit-rate; 0 is no limit.
        """
    ) { arguments, typed throws(UsageError) in arguments.maxFileSize = try bytes(typed) },
    OptionDefinition(
      nil, "checksum", value: OptionValue("ALG:HEX"), in: .transfer,
      "demand this digest of the download, or @FILE's",
      details: """
        Demands this digest of the bytes that are downloaded: md5, sha1, sha256 or sha512, a colon and \
        the hex digits. @FILE reads a list as sha256sum(1) writes it, in which an item is found by \
        the last part of its URL's path or by its name in the list of items; one that isn't there \
        is refused. A digest that differs ends the item with 31, and nothing is published.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.checksum = Typed(atFile(typed.value), option: typed.option)
    },
    OptionDefinition(
      nil, "proxy", value: OptionValue("URL"), in: .transfer,
      "use this proxy; an empty URL forbids them all",
      details: """
        Uses this proxy in place of those that the environment names. Its scheme is http, https, \
        socks4, socks4a, socks5 or socks5h; without one it is http. An empty URL forbids every proxy.
        """, isSecret: true
    ) { arguments, typed throws(UsageError) in
      try refuseControls(typed)
      if let end = typed.value.firstRange(of: "://") {
        let scheme = typed.value[..<end.lowerBound].lowercased()
        let known = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        if !known.contains(scheme) {
          throw UsageError(
            "\(typed.option) knows no scheme '\(scheme)'",
            didYouMean: Spelling.nearest(to: scheme, among: known))
        }
      }
      arguments.proxy = typed.value
    },
    OptionDefinition(
      nil, "cacert", value: OptionValue("FILE", .file), in: .transfer,
      "trust the certificates in this PEM file",
      details: """
        Trusts the certificates in this PEM file in place of the system's. It goes before \
        CURL_CA_BUNDLE and SSL_CERT_FILE.
        """
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      arguments.caFile = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "allow-private", in: .transfer, "let a public address lead to a private one",
      details: """
        Lets an item that starts at a public address be led to private and loopback addresses, by a \
        redirect or by a name. An item that starts at a private address may stay there without it.
        """
    ) { arguments, _ in arguments.allowPrivate = true },
    OptionDefinition(
      nil, "allow-downgrade", in: .transfer, "let a redirect lead from https to http",
      details: """
        Lets a redirect lead from https to plain http. Otherwise such a redirect is refused.
        """
    ) { arguments, _ in arguments.allowDowngrade = true },
  ]
}
