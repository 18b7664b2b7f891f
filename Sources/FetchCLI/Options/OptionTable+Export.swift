// What of a source is kept, and how.

import FetchCore

extension OptionTable {
  static let export: [OptionDefinition] = [
    OptionDefinition(
      nil, "streams", value: OptionValue("LIST"), in: .export,
      "keep only these streams, such as 0,2 or v,a:0",
      details: """
        Keeps only the streams in this list, separated by commas: a stream's number as --probe shows \
        it, or v, a, s or d for all video, audio, subtitle or data streams, or one of these with its \
        place among its kind, such as a:0 for the first audio stream. A stream that isn't there ends \
        the item with exit status 32 before anything is written.
        """, yieldsTo: ["audio", "no-audio", "subtitles"]
    ) { arguments, typed throws(UsageError) in
      var specifiers: [StreamSelection.Specifier] = []
      for word in typed.value.split(separator: ",", omittingEmptySubsequences: false) {
        guard let specifier = StreamSelection.Specifier(String(word)) else {
          throw UsageError(
            "\(typed.option) needs numbers, or v, a, s, d with or without a number, such as 0,2 or "
              + "v,a:0, not '\(typed.value)'")
        }
        specifiers.append(specifier)
      }
      arguments.streams = Typed(specifiers, option: typed.option)
    },
    OptionDefinition(
      nil, "audio", value: OptionValue("LANG"), in: .export,
      "keep only the audio in this language",
      details: """
        Keeps only the audio in this language, or in these, separated by commas. A language is a \
        code of two or three letters, such as en, deu or ger; und stands for audio that names none. \
        A source without such audio ends the item with exit status 32 before anything is written.
        """, yieldsTo: ["streams", "no-audio"]
    ) { arguments, typed throws(UsageError) in
      arguments.audio = Typed(try languages(typed), option: typed.option)
    },
    OptionDefinition(
      nil, "no-audio", in: .export, "leave all audio out",
      details: """
        Leaves all audio out. A source that has nothing else ends the item with exit status 32.
        """, yieldsTo: ["streams", "audio"]
    ) { arguments, typed in arguments.noAudio = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "subtitles", value: OptionValue("WHICH"), in: .export,
      "all (default), none, or a language",
      details: """
        Which subtitles are kept: all, none, or those in a language, or in several separated by \
        commas, written as for --audio. Text becomes mov_text; pictures can't be held and are \
        left out with a warning.
        """, yieldsTo: ["streams"]
    ) { arguments, typed throws(UsageError) in
      let choice: StreamSelection.ByLanguage =
        switch typed.value {
        case "all": .all
        case "none": .none
        default: .only(try languages(typed))
        }
      arguments.subtitles = Typed(choice, option: typed.option)
    },
    OptionDefinition(
      nil, "metadata", value: OptionValue("KEY=VALUE"), in: .export,
      "set this tag of the file, such as title=…",
      details: """
        Sets this tag of the file, such as title, artist, date or comment. An empty value takes the \
        tag away. It comes after --strip-metadata.
        """, isRepeatable: true
    ) { arguments, typed throws(UsageError) in
      try refuseControls(typed)
      guard let sign = typed.value.firstIndex(of: "="), sign > typed.value.startIndex else {
        throw UsageError("\(typed.option) needs KEY=VALUE, such as title=Intro")
      }
      let key = String(typed.value[..<sign])
      guard key.utf8.count <= 255, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw UsageError("\(typed.option) needs a key of printable ASCII without spaces")
      }
      if containerKeys.contains(key.lowercased()) {
        throw UsageError("\(typed.option) can't set \(key): the container says that itself")
      }
      let value = String(typed.value[typed.value.index(after: sign)...])
      arguments.metadata.append(MetadataEdits.Change(key: key, value: value))
    },
    OptionDefinition(
      nil, "strip-metadata", in: .export, "leave the source's tags out",
      details: """
        Leaves out the tags of the source and its streams (titles, names, dates, places, devices) \
        and its timed metadata tracks. Languages, dispositions, rotation, colour, chapters and \
        covers stay.
        """
    ) { arguments, _ in arguments.stripMetadata = true },
    OptionDefinition(
      nil, "strict-lossless", in: .export, "fail where anything would be left out",
      details: """
        Ends the item with exit status 32 where a stream would be left out unasked, or something \
        that belongs to one would be lost. Without it this is a warning, but for audio and video, \
        which are never left out unasked.
        """
    ) { arguments, _ in arguments.strictLossless = true },
    OptionDefinition(
      nil, "verify",
      value: OptionValue(
        "HOW", .choices(ExportSettings.Verification.allCases.map(\.rawValue))),
      in: .export, "fast (default) or hash",
      details: """
        How the result is compared with what went into it before it gets its name. fast compares \
        each stream's packets, bytes and times with the result's index. hash also reads the whole \
        result back and compares a SHA-256 of each stream's payload.
        """
    ) { arguments, typed throws(UsageError) in
      arguments.verification = try choice(ExportSettings.Verification.self, typed)
    },
    OptionDefinition(
      nil, "no-faststart", in: .export, "put the index behind the media",
      details: """
        Puts the index behind the media. By default it stands first, so that a player can begin \
        before it has the whole file.
        """
    ) { arguments, _ in arguments.indexFirst = false },
  ]
}
