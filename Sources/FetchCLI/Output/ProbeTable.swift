// What a probe has found, as a table for a terminal. Pure. All text from outside is made safe here.

import FetchCore
package import VidFetchKit

/// The table of `--probe`.
package enum ProbeTable {
  /// Where less is left for a stream's facts, they stand under its name rather than beside it.
  private static let narrow = 24
  /// Longer lines are hard to read.
  private static let widest = 100
  /// Where the texts at the table's foot begin.
  private static let indent = 6

  /// The whole table, ended by a line feed; no line is wider than `width` columns.
  package static func text(_ result: ProbeResult, width: Int) -> String {
    guard let source = result.source else { return "" }
    let width = min(max(width, 24), widest)
    var lines = [DisplayWidth.truncate(Printable.escape(result.url), columns: width)]
    lines += wrap(facts(result, source), 0, width)
    lines.append("")
    lines += streams(source, width)
    if !source.streams.isEmpty { lines.append("") }
    for verdict in source.verdicts { lines += foot(verdict, width) }
    if let need = result.diskNeed {
      lines += note("disk", "\(Figures.size(need)) while a run works", width)
    }
    if result.attempts > 0 {
      let requests = result.attempts == 1 ? "one request" : "\(result.attempts) requests"
      lines += note("read", "\(Figures.size(result.received)) in \(requests)", width)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: The source

  private static func facts(_ result: ProbeResult, _ source: SourceProbe) -> String {
    var facts = [name(ofContainer: source.container)]
    if let duration = Figures.time(source.duration) { facts.append(duration) }
    if let size = result.size { facts.append(Figures.size(size)) }
    switch source.index {
    case .first: facts.append("index first")
    case .last: facts.append("index last")
    case .fragmented: facts.append("fragmented")
    case nil: break
    }
    if source.chapters > 0 {
      facts.append(source.chapters == 1 ? "1 chapter" : "\(source.chapters) chapters")
    }
    return facts.joined(separator: ", ")
  }

  private static func name(ofContainer name: String) -> String {
    switch name {
    case "mp4": "MP4"
    case "mov": "QuickTime"
    case "matroska": "Matroska"
    case "webm": "WebM"
    case "mpegts": "MPEG-TS"
    case "mpeg": "MPEG-PS"
    case "avi", "flv", "asf", "wav", "mxf": name.uppercased()
    case "ogg": "Ogg"
    default: name
    }
  }

  // MARK: Streams

  private static func streams(_ source: SourceProbe, _ width: Int) -> [String] {
    let formats = source.verdicts.map(\.format.rawValue)
    let rows = source.streams.map { stream in
      Row(
        lead: ["\(stream.index)", stream.type.rawValue, Printable.escape(stream.codec)],
        details: details(stream),
        fates: source.verdicts.map { fate(of: stream.index, in: $0) })
    }
    if rows.isEmpty { return ["no streams"] }
    return table(rows, formats, width) ?? stacked(rows, formats, width)
  }

  private struct Row {
    var lead: [String]
    var details: [String]
    var fates: [String]
  }

  private static func fate(of index: Int, in verdict: PassthroughVerdict) -> String {
    verdict.streams.first { $0.index == index }?.action.rawValue ?? "-"
  }

  /// nil where the screen is too narrow for columns.
  private static func table(_ rows: [Row], _ formats: [String], _ width: Int) -> [String]? {
    let heads = Row(lead: ["#", "type", "codec"], details: ["details"], fates: formats)
    let all = [heads] + rows
    func columns(_ cells: (Row) -> [String]) -> [Int] {
      let count = all.map { cells($0).count }.max() ?? 0
      return (0..<count).map { at in
        all.map { at < cells($0).count ? DisplayWidth.of(cells($0)[at]) : 0 }.max() ?? 0
      }
    }
    let leads = columns(\.lead)
    let fates = columns(\.fates)
    let taken = (leads + fates).reduce(0) { $0 + $1 + 2 }
    let room = width - taken
    guard room >= narrow else { return nil }
    // What most rows leave free stays free at the right rather than in the middle.
    let longest = all.map { DisplayWidth.of($0.details.joined(separator: ", ")) }.max() ?? 0
    let middle = min(room, longest)
    return all.flatMap { row -> [String] in
      let texts = wrap(row.details.joined(separator: ", "), 0, middle)
      return texts.enumerated().map { line, text in
        let isFirst = line == 0
        let left = zip(row.lead, leads).map { padded(isFirst ? $0 : "", $1) }
        let right = zip(row.fates, fates).map { padded(isFirst ? $0 : "", $1) }
        return trimmed((left + [padded(text, middle)] + right).joined(separator: "  "))
      }
    }
  }

  private static func stacked(_ rows: [Row], _ formats: [String], _ width: Int) -> [String] {
    rows.flatMap { row -> [String] in
      let fates = zip(formats, row.fates).map { "\($0) \($1)" }.joined(separator: ", ")
      return wrap(row.lead.joined(separator: " "), 0, width)
        + (row.details.isEmpty ? [] : wrap(row.details.joined(separator: ", "), 2, width))
        + wrap(fates, 2, width)
    }
  }

  private static func details(_ stream: ProbedStream) -> [String] {
    var details: [String] = []
    if let profile = stream.profile { details.append(profile) }
    if let width = stream.width, let height = stream.height {
      details.append("\(width)x\(height)")
      if let wide = stream.displayWidth, let high = stream.displayHeight,
        wide != width || high != height
      {
        details.append("shown \(wide)x\(high)")
      }
    }
    switch stream.rotation {
    case nil: break
    case 90: details.append("turned right")
    case 180: details.append("upside down")
    case 270: details.append("turned left")
    case let degrees?: details.append("turned by \(degrees)")
    }
    if stream.isMirrored { details.append("mirrored") }
    if let rate = stream.frameRate { details.append("\(Figures.number(rate)) fps") }
    if let tier = stream.resolution { details.append(tier.rawValue) }
    if let range = stream.dynamicRange { details.append(range.label) }
    details += colour(stream.colour)
    if let rate = stream.sampleRate { details.append("\(Figures.number(Double(rate) / 1000)) kHz") }
    if let channels = stream.channels {
      details.append(stream.channelLayout ?? "\(channels) channels")
    }
    if let rate = stream.bitRate { details.append(Figures.bitRate(rate)) }
    // The code that says that nothing is known (ISO 639-2).
    if let language = stream.language, language != "und" { details.append(language) }
    let title = stream.title.map { Printable.escape("\"\($0)\"") }
    let uses = stream.dispositions.map { $0 == "attached_pic" ? "cover picture" : $0 }
    return details.map(unbroken) + (title.map { [$0] } ?? []) + uses.map(unbroken)
  }

  /// A fact that lines are broken before or behind only, made safe.
  private static func unbroken(_ fact: String) -> String {
    Printable.escape(fact).replacing(" ", with: "\u{A0}")
  }

  /// Primaries, transfer and matrix as far as they are told, in one word where they share it; and
  /// the range.
  private static func colour(_ colour: ProbedStream.Colour) -> [String] {
    var words = [colour.primaries, colour.transfer, colour.matrix].compactMap { $0 }
    if Set(words).count == 1 { words = [words[0]] }
    return (words.isEmpty ? [] : [words.joined(separator: "/")]) + (colour.range.map { [$0] } ?? [])
  }

  // MARK: The foot

  private static func foot(_ verdict: PassthroughVerdict, _ width: Int) -> [String] {
    let name = verdict.format.rawValue
    if let refusal = verdict.refusal {
      let texts = ["impossible: \(refusal.message)", refusal.recovery].compactMap { $0 }
      return note(name, texts.joined(separator: "; "), width)
    }
    var texts: [String] = []
    for stream in verdict.streams where stream.action != .kept {
      let reason = stream.reason.map { ": \($0)" } ?? ""
      texts.append("stream \(stream.index) \(stream.action.rawValue)\(reason)")
    }
    // What becomes of streams has been said.
    let told: Set<FetchWarning.Name> = [.streamDropped, .streamConverted]
    texts += verdict.warnings.filter { !told.contains($0.warning) }.map(\.message)
    let first = texts.isEmpty ? "possible, every stream is kept" : "possible"
    return note(name, first, width) + texts.flatMap { note("", $0, width) }
  }

  private static func note(_ label: String, _ text: String, _ width: Int) -> [String] {
    var lines = wrap(Printable.escape(text), indent, width)
    if let first = lines.first {
      lines[0] = padded(label, indent) + first.dropFirst(indent)
    }
    return lines
  }

  // MARK: Columns

  private static func padded(_ text: String, _ columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - DisplayWidth.of(text)))
  }

  private static func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }

  /// The words in lines of at most `width` columns, each begun with `indent` spaces; a word that is
  /// wider is cut up, and no-break spaces end as plain ones.
  static func wrap(_ text: String, _ indent: Int, _ width: Int) -> [String] {
    let room = max(width - indent, 8)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      var rest = String(word)
      if !line.isEmpty, DisplayWidth.of(line) + 1 + DisplayWidth.of(rest) > room {
        lines.append(line)
        line = ""
      }
      while DisplayWidth.of(rest) > room {
        let head = DisplayWidth.prefix(rest, columns: room)
        guard !head.isEmpty else { break }
        lines.append(head)
        rest = String(rest.dropFirst(head.count))
      }
      line += line.isEmpty ? rest : " " + rest
    }
    if !line.isEmpty || lines.isEmpty { lines.append(line) }
    let margin = String(repeating: " ", count: indent)
    return lines.map { margin + $0.replacing("\u{A0}", with: " ") }
  }
}
