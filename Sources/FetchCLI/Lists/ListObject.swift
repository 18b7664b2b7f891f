// An item of a list as a JSON object. Its keys are long option names, with `_` for `-`, and mean what
// the options mean, but that no value names a file. Pure.

import FetchCore
import FoundationEssentials

/// Reader of a list's JSON objects.
enum ListObject {
  /// The keys that an object may have, in the order of the documentation.
  static let keys = [
    "url", "name", "format", "headers", "cookies", "user_agent", "referer", "checksum", "streams",
    "audio", "no_audio", "subtitles", "metadata",
  ]

  static func entry(_ text: String) throws(UsageError) -> ListEntry {
    do {
      return try JSONDecoder().decode(Form.self, from: Data(text.utf8)).entry
    } catch let error as UsageError {
      throw error
    } catch {
      throw UsageError("the line is not a valid JSON object")
    }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private struct Form: Decodable {
    let entry: ListEntry

    init(from decoder: any Decoder) throws {
      let values = Values(try decoder.container(keyedBy: Key.self))
      entry = try values.entry()
    }
  }

  /// The object's values, read with complaints that name the key.
  private struct Values {
    let container: KeyedDecodingContainer<Key>

    init(_ container: KeyedDecodingContainer<Key>) { self.container = container }

    func entry() throws(UsageError) -> ListEntry {
      for key in container.allKeys where !keys.contains(key.stringValue) {
        let meant = Spelling.nearest(to: key.stringValue, among: keys)
        throw UsageError(
          "unknown key \"\(key.stringValue)\"", didYouMean: meant.map { "\"\($0)\"" })
      }
      guard let source = try text("url"), !source.isEmpty else {
        throw UsageError("the object has no \"url\"")
      }
      var entry = ListEntry(source: source)
      entry.name = try text("name").map { text throws(UsageError) in try ListName(text) }
      entry.headers = try headers()
      for cookie in try texts("cookies") ?? [] {
        entry.cookies.append(try RequestText.cookie(cookie, "\"cookies\""))
      }
      if let text = try text("checksum") {
        do throws(Checksum.Malformed) {
          entry.checksum = try Checksum(text)
        } catch {
          throw UsageError("\"checksum\" \(error.message)")
        }
      }
      let options = try options()
      entry.format = try format(options.format?.value, name: entry.name)
      entry.userAgent = options.userAgent
      entry.referer = options.referer
      entry.streams = options.streams?.value
      entry.audio = options.audio?.value
      entry.noAudio = options.noAudio != nil
      entry.subtitles = options.subtitles?.value
      entry.metadata = options.metadata
      try checkSelection(entry)
      return entry
    }

    /// What the table's own rows make of the values.
    private func options() throws(UsageError) -> ParsedArguments {
      var arguments = ParsedArguments()
      for key in ["format", "user_agent", "referer"] {
        if let text = try text(key) { try apply(key, text, &arguments) }
      }
      for key in ["streams", "audio", "subtitles"] {
        if let words = try words(key) { try apply(key, words, &arguments) }
      }
      if isThere("no_audio") {
        guard let isSet = try? container.decode(Bool.self, forKey: Key(stringValue: "no_audio"))
        else { throw UsageError("\"no_audio\" needs true or false") }
        if isSet { try apply("no_audio", "", &arguments) }
      }
      for (name, value) in try pairs("metadata") ?? [] {
        try apply("metadata", "\(name)=\(value)", &arguments)
      }
      return arguments
    }

    private func apply(
      _ key: String, _ value: String, _ arguments: inout ParsedArguments
    ) throws(UsageError) {
      let long = key.replacing("_", with: "-")
      guard let row = OptionTable.rows.first(where: { $0.long == long }) else { return }
      let occurrence = OptionDefinition.Occurrence(option: "\"\(key)\"", value: value)
      try row.update(&arguments, occurrence)
    }

    private func format(
      _ written: ContainerFormat?, name: ListName?
    ) throws(UsageError) -> ContainerFormat? {
      if let written, let named = name?.format, written != named {
        throw UsageError(
          "\"format\" \(written.rawValue) and the extension of \"name\" contradict each other")
      }
      return written ?? name?.format
    }

    private func checkSelection(_ entry: ListEntry) throws(UsageError) {
      if entry.audio != nil, entry.noAudio {
        throw UsageError("\"audio\" and \"no_audio\" contradict each other")
      }
      if entry.streams != nil, entry.audio != nil || entry.noAudio || entry.subtitles != nil {
        throw UsageError(
          "\"streams\" names all that is wanted; \"audio\", \"no_audio\" and \"subtitles\" "
            + "contradict it")
      }
    }

    /// An object of names and values, or lines as `--header` takes them.
    private func headers() throws(UsageError) -> [HeaderField] {
      guard isThere("headers") else { return [] }
      var fields: [HeaderField] = []
      let lines: [String]
      if let pairs = try? pairs("headers") {
        lines = pairs.map { "\($0.name): \($0.value)" }
      } else if let written = try? texts("headers") {
        lines = written
      } else {
        throw UsageError(
          "\"headers\" needs an object of names and values, or an array of \"Name: value\"")
      }
      for line in lines { fields.append(try RequestText.header(line, "\"headers\"")) }
      return fields
    }

    // MARK: Values by type

    /// Whether a key has a value; null is none.
    private func isThere(_ key: String) -> Bool {
      let key = Key(stringValue: key)
      return container.contains(key) && (try? container.decodeNil(forKey: key)) != true
    }

    private func text(_ key: String) throws(UsageError) -> String? {
      guard isThere(key) else { return nil }
      guard let text = try? container.decode(String.self, forKey: Key(stringValue: key)) else {
        throw UsageError("\"\(key)\" needs a text")
      }
      if RequestText.hasControls(text) {
        throw UsageError("\"\(key)\" can't hold control characters")
      }
      return text
    }

    /// A text, or an array of them.
    private func texts(_ key: String) throws(UsageError) -> [String]? {
      guard isThere(key) else { return nil }
      if let text = try? text(key) { return [text] }
      guard let texts = try? container.decode([String].self, forKey: Key(stringValue: key)) else {
        throw UsageError("\"\(key)\" needs a text, or an array of texts")
      }
      return texts
    }

    /// A text as the option takes it, or an array of its words; a stream may be a number.
    private func words(_ key: String) throws(UsageError) -> String? {
      guard isThere(key) else { return nil }
      if let words = try? texts(key) { return words.joined(separator: ",") }
      let name = Key(stringValue: key)
      if let number = try? container.decode(Int.self, forKey: name) { return String(number) }
      guard let words = try? container.decode([Word].self, forKey: name) else {
        throw UsageError("\"\(key)\" needs a text, or an array of texts")
      }
      return words.map(\.text).joined(separator: ",")
    }

    /// An object whose values are texts, in the order of their names.
    private func pairs(
      _ key: String
    ) throws(UsageError) -> [(name: String, value: String)]? {
      guard isThere(key) else { return nil }
      guard
        let pairs = try? container.decode([String: String].self, forKey: Key(stringValue: key))
      else { throw UsageError("\"\(key)\" needs an object of names and texts") }
      return pairs.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
  }

  /// A text or a whole number.
  private struct Word: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      text = try (try? value.decode(String.self)) ?? String(value.decode(Int.self))
    }
  }
}
