// Blocks of a file to lines, in bounded memory. Pure.

/// Puts lines together that blocks have cut.
package struct LineSplitter {
  /// A longer line is no result, and isn't held.
  package static let longest = 4 << 20

  private var begun: [UInt8] = []
  private var isTooLong = false

  package init() {}

  /// Takes a block; `body` gets each line that it ends, without its line feed, or nil in place of one
  /// that is too long.
  ///
  /// The line is valid during the call alone.
  package mutating func feed(
    _ block: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer?) -> Void
  ) {
    var rest = block
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
      if begun.isEmpty, !isTooLong, line.count <= Self.longest {
        body(line)
      } else {
        hold(line)
        finish(body)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
    }
    if !rest.isEmpty { hold(rest) }
  }

  /// Ends the file; `body` gets its last line where that has no line feed.
  package mutating func finish(_ body: (UnsafeRawBufferPointer?) -> Void) {
    defer {
      begun.removeAll(keepingCapacity: true)
      isTooLong = false
    }
    if isTooLong {
      body(nil)
    } else if !begun.isEmpty {
      begun.withUnsafeBytes { body($0) }
    }
  }

  private mutating func hold(_ piece: UnsafeRawBufferPointer) {
    guard !isTooLong, piece.count <= Self.longest - begun.count else {
      isTooLong = true
      begun = []
      return
    }
    begun += piece
  }
}
