import FetchCore
import Foundation
import PartialStorage

/// A folder that goes with the test.
final class Scratch: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "vidfetch-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func folder() throws -> Folder { try Folder.existing(path) }

  func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { Array($0) }
  }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

extension PartialFile {
  func write(_ bytes: [UInt8], at offset: Int64) throws {
    var failure: FetchError?
    bytes.withUnsafeBytes { buffer in
      do throws(FetchError) { try write(buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
