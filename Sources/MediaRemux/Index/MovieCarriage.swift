// What an ISO source says of the whole film beside its tracks, and putting it into the output's index
// together with what the muxer wrote. Pure but for the reading of the source's boxes.

import FetchCore

/// The film's own boxes.
struct MovieCarriage: Hashable {
  /// Seconds since 1904; nil where the source has no such header.
  private var created: UInt64?
  private var modified: UInt64?
  /// The preferred rate and volume, as they stand.
  private var pace: [UInt8] = []
  /// The boxes inside `udta` but for `meta`, whole.
  var userData: [[UInt8]] = []
  /// The `meta` inside `udta`: iTunes items as a rule.
  var items: MetadataBox?
  /// Whether these go before the other user data, as readers let the last word count.
  private var itemsStandFirst = false
  /// The `meta` of the film: named keys as a rule.
  var keys: MetadataBox?
  /// Other boxes of the film, whole.
  var others: [[UInt8]] = []

  init() {}

  /// What the muxer makes itself, or what says where something stands in the old file.
  private static let rebuilt: Set<String> = [
    "mvhd", "trak", "mvex", "iods", "cmov", "rmra", "pssh", "free", "skip", "wide", "udta",
  ]

  /// Takes one box of the source's `moov`.
  mutating func take(
    _ box: BoxHeader, _ window: SourceWindow, _ budget: inout CopyBudget
  ) throws(FetchError) {
    let type = box.type.text
    guard type == "udta" || type == "mvhd" || !Self.rebuilt.contains(type) else { return }
    let bytes = try budget.whole(box, window)
    guard !bytes.isEmpty else { return }
    switch type {
    case "mvhd":
      guard let times = TrackCarriage.times(bytes) else { return }
      (created, modified) = times
      let at = bytes[8] == 1 ? 40 : 28
      if bytes.count >= at + 6 { pace = Array(bytes[at..<(at + 6)]) }
    case "udta":
      for child in UserData.children(of: bytes) { take(userData: child, &budget) }
      if UserData.isTooLong(bytes) { budget.refuse("udta") }
    case "meta":
      if keys == nil, let meta = MetadataBox(bytes), meta.handlerType == "mdta" {
        keys = meta
      } else if CopyBudget.isMovable(bytes) {
        others.append(bytes)
      } else {
        budget.refuse("meta")
      }
    default:
      others.append(bytes)
    }
  }

  private mutating func take(userData child: [UInt8], _ budget: inout CopyBudget) {
    switch child.fourCharacters(4) {
    // Nero's list of chapters is made anew, and hints are not carried.
    case "chpl", "hnti", "free", "skip": break
    case "meta":
      if items == nil, let meta = MetadataBox(child), meta.handlerType == "mdir" {
        items = meta
        itemsStandFirst = userData.isEmpty
      } else if CopyBudget.isMovable(child) {
        userData.append(child)
      } else {
        budget.refuse("meta")
      }
    default: userData.append(child)
    }
  }

  /// The bytes that it will take in the output, about.
  var size: Int {
    (userData + others + (items?.items ?? []) + (keys?.items ?? [])).reduce(0) { $0 + $1.count }
  }

  /// Removes the cover pictures, in both of their forms.
  mutating func removeCovers() {
    items?.remove(["covr"])
    keys?.remove("com.apple.quicktime.artwork")
  }

  /// Leaves nothing but how fast and loud the film is to be played.
  mutating func removeMetadata() {
    (userData, items, keys, others) = ([], nil, nil, [])
    (created, modified) = (nil, nil)
  }

  /// Removes what says the same as a key of libavformat's, in lower case.
  mutating func remove(key: String) {
    if key == "creation_time" { (created, modified) = (nil, nil) }
    let types = TagNames.boxes(of: key)
    userData.removeAll { types.contains($0.fourCharacters(4)) }
    items?.remove(types)
    items?.remove(freeform: key)
    keys?.remove(key)
    keys?.remove("com.apple.quicktime." + key)
    if key == "location" { keys?.remove("com.apple.quicktime.location.iso6709") }
  }

  // MARK: Into the output

  /// A whole `mvhd` with the source's times, rate and volume.
  func header(_ mvhd: [UInt8]) -> [UInt8] {
    var bytes = mvhd
    if let created, let modified { TrackRewrite.set((created, modified), &bytes) }
    let at = bytes.count > 8 && bytes[8] == 1 ? 40 : 28
    if !pace.isEmpty, bytes.count >= at + pace.count {
      bytes.replaceSubrange(at..<(at + pace.count), with: pace)
    }
    return bytes
  }

  /// QuickTime's items of text that iTunes items have under the same name.
  private static let shared: Set<String> = [
    "©nam", "©ART", "©alb", "©day", "©cmt", "©gen", "©wrt", "©grp", "©lyr",
  ]

  /// The boxes that end a `moov`: `udta`, `meta` and whatever else the source had.
  ///
  /// - Parameter written: the muxer's own `udta`, or empty. What it says wins over the source.
  func tail(_ written: [UInt8], in format: ContainerFormat) -> [UInt8] {
    var own = UserData.children(of: written)
    var items = self.items
    if let at = own.firstIndex(where: { $0.fourCharacters(4) == "meta" }),
      let made = MetadataBox(own[at])
    {
      own.remove(at: at)
      var merged = made
      var rest = items
      rest?.remove(made.types)
      merged.add(rest?.items ?? [])
      items = merged
    }
    let ownTypes = Set(own.map { $0.fourCharacters(4) })
    items?.remove(ownTypes)
    var source = userData.filter { !ownTypes.contains($0.fourCharacters(4)) }
    if format == .mp4 { Self.convert(&source, &items) }

    var children = (own + source).flatMap { $0 }
    if let items, !items.isEmpty {
      let box = items.box(isISO: true)
      children = itemsStandFirst ? box + children : children + box
    }
    // Readers take the kind of a key from the last handler, so iTunes items come first.
    var tail = children.isEmpty ? [] : [UInt8].box("udta", children)
    if let keys, !keys.isEmpty { tail += keys.box(isISO: format == .mp4) }
    return tail + others.flatMap { $0 }
  }

  /// Puts QuickTime's strings where players of mp4 look for them.
  private static func convert(_ source: inout [[UInt8]], _ items: inout MetadataBox?) {
    source.removeAll { box in
      let type = box.fourCharacters(4)
      guard shared.contains(type) else { return false }
      if let items, items.types.contains(type) { return true }
      guard let text = UserData.text(box) else { return false }
      items = items ?? MetadataBox(handler: "mdir")
      items?.add(type, text: text)
      return true
    }
  }
}
