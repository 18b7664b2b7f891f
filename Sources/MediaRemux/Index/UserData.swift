// User data as boxes: the children of `udta`, iTunes items (`ilst` of handler `mdir`) and named keys
// (handler `mdta`), read, made and merged. Pure; every length is checked.

/// The boxes of a `udta`.
enum UserData {
  /// More are nobody's file.
  private static let mostChildren = 65_536

  /// The boxes inside a whole box, whole.
  ///
  /// None where there are too many, so that nothing is lost that nobody names: see `isTooLong`.
  static func children(of box: [UInt8]) -> [[UInt8]] {
    guard box.count > 8, !isTooLong(box) else { return [] }
    return box.boxes(in: 8..<box.count).map { Array(box[$0.range]) }
  }

  /// Whether a whole box holds more boxes than are taken apart.
  static func isTooLong(_ box: [UInt8]) -> Bool {
    // Boxes have eight bytes at least.
    box.count / 8 > mostChildren
      && box.boxes(in: 8..<box.count, limit: mostChildren + 1).count > mostChildren
  }

  /// QuickTime's one string of a `©…` item (QuickTime File Format, "User data text strings"), where
  /// it has just one and is UTF-8 or ASCII.
  static func text(_ item: [UInt8]) -> String? {
    guard item.count > 12, item[4] == 0xA9 else { return nil }
    let length = Int(item.integer(8, 2))
    guard length > 0, length == item.count - 12 else { return nil }
    let language = item.integer(10, 2)
    let bytes = item[12...]
    // Below 0x400 the language is a Macintosh code, and the text is in its script.
    guard language >= 0x400 || bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// A `meta` box: a handler, and items below it.
struct MetadataBox: Hashable {
  /// `mdir` for iTunes items, `mdta` for named keys.
  var handlerType: String
  /// All boxes but `keys`, `ilst` and padding, whole; `hdlr` first.
  private var others: [[UInt8]]
  /// The names in `keys`, with the namespace that goes before each.
  private var keys: [[UInt8]]
  /// The items of `ilst`, whole.
  private(set) var items: [[UInt8]]

  /// An empty one.
  init(handler: String) {
    handlerType = handler
    let manufacturer = handler == "mdir" ? Array("appl".utf8) : [0, 0, 0, 0]
    let payload = [UInt8](repeating: 0, count: 8) + Array(handler.utf8) + manufacturer
    others = [.box("hdlr", payload + [UInt8](repeating: 0, count: 9))]
    keys = []
    items = []
  }

  /// Reads a whole `meta`, with version and flags (ISO 14496-12 8.11.1) or without (QuickTime).
  ///
  /// - Returns: nil where it has no handler of iTunes items or of named keys, or more items than are
  ///   taken apart.
  init?(_ meta: [UInt8]) {
    guard meta.count > 16, meta.fourCharacters(4) == "meta" else { return nil }
    let begin = meta.fourCharacters(12) == "hdlr" ? 8 : 12
    guard begin < meta.count else { return nil }
    let boxes = meta.boxes(in: begin..<meta.count, limit: 256)
    guard let handler = boxes.first, handler.type == "hdlr", handler.payload.count >= 12 else {
      return nil
    }
    handlerType = meta.fourCharacters(handler.payload.lowerBound + 8)
    guard handlerType == "mdir" || handlerType == "mdta" else { return nil }
    (others, keys, items) = ([], [], [])
    for box in boxes {
      switch box.type {
      case "ilst":
        let list = Array(meta[box.range])
        if UserData.isTooLong(list) { return nil }
        items += UserData.children(of: list)
      case "keys":
        if UserData.isTooLong(Array(meta[box.range])) { return nil }
        keys = Self.keys(meta, box.payload)
      case "free", "skip": break
      default: others.append(Array(meta[box.range]))
      }
    }
  }

  private static func keys(_ meta: [UInt8], _ payload: Range<Int>) -> [[UInt8]] {
    guard payload.count >= 8 else { return [] }
    let listed = meta.boxes(in: (payload.lowerBound + 8)..<payload.upperBound)
    return listed.map { Array(meta[$0.range]) }
  }

  var isEmpty: Bool { items.isEmpty }

  /// The types of the items.
  var types: Set<String> { Set(items.map { $0.fourCharacters(4) }) }

  /// The names of the keys.
  var names: [String] { keys.map { String(decoding: $0.dropFirst(8), as: UTF8.self) } }

  /// The whole box.
  ///
  /// - Parameter isISO: puts version and flags in front, as ISO wants it and QuickTime doesn't.
  func box(isISO: Bool) -> [UInt8] {
    var payload: [UInt8] = isISO ? [0, 0, 0, 0] : []
    payload += others.flatMap { $0 }
    if handlerType == "mdta" {
      var list: [UInt8] = [0, 0, 0, 0]
      list.append(UInt32(truncatingIfNeeded: keys.count), bytes: 4)
      payload += [UInt8].box("keys", list + keys.flatMap { $0 })
    }
    payload += [UInt8].box("ilst", items.flatMap { $0 })
    return .box("meta", payload)
  }

  // MARK: iTunes items

  /// Removes the items of these types.
  mutating func remove(_ types: Set<String>) {
    items.removeAll { types.contains($0.fourCharacters(4)) }
  }

  /// Removes the items of a name of their own (`----`), whoever gave it; in lower case.
  mutating func remove(freeform name: String) {
    items.removeAll { item in
      guard item.fourCharacters(4) == "----",
        let box = item.boxes(in: 8..<item.count).first(where: { $0.type == "name" }),
        box.payload.count >= 4
      else { return false }
      return String(decoding: item[box.payload.dropFirst(4)], as: UTF8.self).lowercased() == name
    }
  }

  /// Adds whole items.
  mutating func add(_ more: [[UInt8]]) { items += more }

  /// Adds an item of text.
  mutating func add(_ type: String, text: String) {
    items.append(.box(type, Self.data(1, Array(text.utf8))))
  }

  /// Adds pictures under one `covr`.
  mutating func add(covers: [CoverPicture]) {
    guard !covers.isEmpty else { return }
    items.append(.box("covr", covers.flatMap { Self.data($0.kind.rawValue, $0.bytes) }))
  }

  // MARK: Named keys

  /// Sets a key to a text, in place of what it had.
  mutating func set(_ name: String, to text: String) {
    let value = Self.data(1, Array(text.utf8))
    if let known = names.firstIndex(of: name) {
      let index = known + 1
      items.removeAll { $0.integer(4, 4) == UInt64(index) }
      items.append(Self.item(index, value))
    } else {
      keys.append(.box("mdta", Array(name.utf8)))
      items.append(Self.item(keys.count, value))
    }
  }

  /// Removes a key's values; in lower case.
  mutating func remove(_ name: String) {
    guard handlerType == "mdta" else { return }
    for (at, known) in names.enumerated() where known.lowercased() == name {
      items.removeAll { $0.integer(4, 4) == UInt64(at + 1) }
    }
  }

  private static func item(_ index: Int, _ value: [UInt8]) -> [UInt8] {
    var item: [UInt8] = []
    item.append(UInt32(truncatingIfNeeded: value.count + 8), bytes: 4)
    item.append(UInt32(truncatingIfNeeded: index), bytes: 4)
    return item + value
  }

  /// A `data` box of a well-known type, without a locale.
  private static func data(_ type: UInt32, _ bytes: [UInt8]) -> [UInt8] {
    var payload: [UInt8] = []
    payload.append(type, bytes: 4)
    return .box("data", payload + [0, 0, 0, 0] + bytes)
  }
}

/// A cover picture as iTunes items hold it.
struct CoverPicture: Hashable {
  /// The well-known types of pictures.
  enum Kind: UInt32 {
    case jpeg = 13
    case png = 14
    case bmp = 27
  }

  var kind: Kind
  var bytes: [UInt8]
}
