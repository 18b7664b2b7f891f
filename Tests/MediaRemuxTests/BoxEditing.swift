// Real files whose index is changed box by box: what cameras and editors write, and no tool on a test
// machine does. The index must come last, so that nothing else moves.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

/// A tree of boxes that can be changed and written again.
struct BoxTree {
  var type: String
  var payload: [UInt8] = []
  var children: [BoxTree] = []

  private static let containers: Set<String> = [
    "moov", "trak", "mdia", "minf", "stbl", "udta", "edts", "tref",
  ]

  init(_ type: String, _ payload: [UInt8]) {
    self.type = type
    self.payload = payload
  }

  init(_ type: String, _ children: [BoxTree]) {
    self.type = type
    self.children = children
  }

  init(_ bytes: [UInt8], _ box: Box) {
    type = box.type
    if Self.containers.contains(box.type) {
      children = bytes.boxes(in: box.payload).map { BoxTree(bytes, $0) }
    } else {
      payload = Array(bytes[box.payload])
    }
  }

  var bytes: [UInt8] { .box(type, children.isEmpty ? payload : children.flatMap(\.bytes)) }

  /// The first box at the end of a path; a missing one is made.
  subscript(path: String...) -> BoxTree {
    get { self[path[...]] }
    set { self[path[...]] = newValue }
  }

  private subscript(path: ArraySlice<String>) -> BoxTree {
    get {
      guard let type = path.first else { return self }
      let child = children.first { $0.type == type } ?? BoxTree(type, [UInt8]())
      return child[path.dropFirst()]
    }
    set {
      guard let type = path.first else {
        self = newValue
        return
      }
      if let at = children.firstIndex(where: { $0.type == type }) {
        children[at][path.dropFirst()] = newValue
      } else {
        var child = BoxTree(type, [UInt8]())
        child[path.dropFirst()] = newValue
        children.append(child)
      }
    }
  }

  /// The tracks of a `moov`.
  var tracks: [BoxTree] {
    get { children.filter { $0.type == "trak" } }
    set {
      var next = newValue.makeIterator()
      for at in children.indices where children[at].type == "trak" {
        if let track = next.next() { children[at] = track }
      }
    }
  }

  func has(_ path: String...) -> Bool {
    var here = self
    for type in path {
      guard let child = here.children.first(where: { $0.type == type }) else { return false }
      here = child
    }
    return true
  }

  mutating func set(_ number: UInt64, at: Int, bytes: Int) {
    payload.set(number, at: at, bytes: bytes)
  }

  /// The index of a file.
  static func index(of file: URL) throws -> BoxTree {
    let bytes = [UInt8](try Data(contentsOf: file))
    let moov = try #require(bytes.boxes(in: 0..<bytes.count).first { $0.type == "moov" })
    return BoxTree(bytes, moov)
  }

  /// Writes a copy of `file` with a changed index, and more boxes behind it.
  static func edit(
    _ file: URL, to target: URL, behind: [UInt8] = [], _ change: (inout BoxTree) throws -> Void
  ) throws {
    let bytes = [UInt8](try Data(contentsOf: file))
    let last = try #require(bytes.boxes(in: 0..<bytes.count).last)
    try #require(last.type == "moov")
    var moov = BoxTree(bytes, last)
    try change(&moov)
    try Data(bytes[..<last.range.lowerBound] + moov.bytes + behind).write(to: target)
  }
}

/// Big-endian 32-bit numbers.
func words(_ numbers: UInt32...) -> [UInt8] {
  var bytes: [UInt8] = []
  for number in numbers { bytes.append(number, bytes: 4) }
  return bytes
}

/// A string, and the zero behind it.
func zeroEnded(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
