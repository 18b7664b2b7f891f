// A report as one HTML page that needs nothing else: no network, no script, no other file. Pure but for
// the pictures, which a closure brings.

/// The form `html`.
package struct ReportPage {
  /// How many items of each kind are named; a browser has its limits.
  package static let most = 10_000

  private let contents: ReportContents
  /// A poster's picture as a `data:` URL, or nil.
  private let picture: (String) -> String?

  package init(_ contents: ReportContents, picture: @escaping (String) -> String? = { _ in nil }) {
    self.contents = contents
    self.picture = picture
  }

  private enum State: String, CaseIterable {
    case failed, ok, skipped
  }

  private func count(_ state: State) -> Int {
    switch state {
    case .failed: contents.failed
    case .ok: contents.ok
    case .skipped: contents.skipped
    }
  }

  /// The whole page.
  package var text: String {
    let title = "vidfetch: \(Self.escape(contents.headline))"
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <meta http-equiv="Content-Security-Policy" \
      content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
      <title>\(title)</title>
      <style>
      \(Self.style)
      </style>
      </head>
      <body>
      \(choices)
      <header>
      <h1>\(Self.escape(contents.headline))</h1>
      \(facts)\(bar)<nav>\(labels)</nav>
      </header>
      <main>
      <ol>
      \(items)</ol>
      </main>
      </body>
      </html>

      """
  }

  // MARK: The head

  /// What is shown first is what somebody has to look at.
  private var choices: String {
    let chosen = contents.failed > 0 ? "failed" : "all"
    return (["all"] + State.allCases.map(\.rawValue)).map { name in
      #"<input type="radio" name="state" id="\#(name)"\#(name == chosen ? " checked" : "")>"#
    }.joined()
  }

  private var labels: String {
    var labels = [#"<label for="all">all <b>\#(contents.items)</b></label>"#]
    for state in State.allCases where count(state) > 0 {
      labels.append(
        #"<label for="\#(state)" class="\#(state)">\#(state) <b>\#(count(state))</b></label>"#)
    }
    return labels.joined()
  }

  private var facts: String {
    let facts = contents.facts.joined(separator: " · ")
    return facts.isEmpty ? "" : "<p>\(Self.escape(facts))</p>\n"
  }

  private var bar: String {
    guard contents.items > 0 else { return "" }
    let parts = [State.ok, .skipped, .failed].filter { count($0) > 0 }.map { state in
      #"<i class="\#(state)" style="flex-grow:\#(count(state))"></i>"#
    }
    return #"<div class="bar" aria-hidden="true">\#(parts.joined())</div>\#n"#
  }

  // MARK: Items

  private var items: String {
    var text = ""
    var shown: [State: Int] = [:]
    func add(_ item: RecordedResult, _ state: State, advice: String? = nil) {
      guard shown[state, default: 0] < Self.most else { return }
      shown[state, default: 0] += 1
      text += row(item, state, advice)
    }
    for failures in contents.failures {
      for item in failures.items { add(item, .failed, advice: failures.advice) }
    }
    for item in contents.successes { add(item, item.skipped == nil ? .ok : .skipped) }
    for state in State.allCases where count(state) > shown[state, default: 0] {
      let rest = count(state) - shown[state, default: 0]
      text += "\(Self.opening(state))<p>and \(rest) more</p></li>\n"
    }
    return text
  }

  private static func opening(_ state: State) -> String { #"<li class="\#(state)">"# }

  private func row(_ item: RecordedResult, _ state: State, _ advice: String?) -> String {
    var text = Self.opening(state)
    if let source = item.poster.flatMap(picture) {
      text += #"<img alt="" src="\#(Self.escape(source))">"#
    }
    text += "<div><h2>\(Self.escape(Self.title(of: item)))</h2>\(Self.link(item))"
    if state == .failed {
      let advice = advice.map { " · \($0)" } ?? ""
      text +=
        "<p><em>\(Self.escape(item.code + advice))</em> \(Self.escape(item.message ?? ""))</p>"
      for more in [item.reason, item.recovery].compactMap({ $0 }) {
        text += "<p class=\"more\">\(Self.escape(more))</p>"
      }
    } else {
      var facts = [item.path.map { "<code>\(Self.escape($0))</code>" }].compactMap { $0 }
      if let bytes = item.bytes { facts.append(Figures.size(bytes)) }
      if let time = Figures.time(item.duration) { facts.append(time) }
      if let why = item.skipped { facts.append(Self.escape(Self.meaning(ofSkipped: why))) }
      if !facts.isEmpty { text += "<p class=\"more\">\(facts.joined(separator: " · "))</p>" }
    }
    return text + "</div></li>\n"
  }

  private static func meaning(ofSkipped reason: String) -> String {
    switch reason {
    case "archive": "fetched before"
    case "duplicate": "listed twice"
    case "exists": "exists already"
    default: reason
    }
  }

  /// The file's name, or what would become one.
  private static func title(of item: RecordedResult) -> String {
    if let name = item.path?.split(separator: "/").last { return String(name) }
    if let name = item.name { return name }
    let path = item.url.prefix { $0 != "?" && $0 != "#" }
    return path.split(separator: "/").last.map(String.init) ?? item.url
  }

  /// The URL, to be followed only where it is one that a browser fetches, and whole.
  private static func link(_ item: RecordedResult) -> String {
    let shown = escape(item.url)
    let scheme = item.url.prefix { $0 != ":" }.lowercased()
    guard ["http", "https"].contains(scheme), item.url.dropFirst(scheme.count).hasPrefix("://"),
      !(item.isRedacted ?? item.url.contains("…"))
    else { return "<p class=\"url\">\(shown)</p>" }
    return #"<p class="url"><a rel="noreferrer noopener" href="\#(shown)">\#(shown)</a></p>"#
  }

  /// Text from outside, for content and for attributes in double quotes.
  package static func escape(_ text: String) -> String {
    var result = ""
    for scalar in Printable.escape(text).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
