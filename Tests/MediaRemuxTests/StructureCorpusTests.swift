// Real files, where there are any: `VIDFETCH_CORPUS` names a folder with a `MANIFEST.tsv` (columns
// path … expect, the eighth) beside the files. Nothing is checked where it isn't set.

import FetchCore
import Foundation
import Testing

@testable import MediaRemux

/// One row of the manifest.
struct CorpusFile: Sendable, CustomTestStringConvertible {
  var path: String
  var kind: String
  var expectation: String

  var testDescription: String { path }

  static let folder = ProcessInfo.processInfo.environment["VIDFETCH_CORPUS"]

  static let all: [CorpusFile] = {
    guard let folder,
      let text = try? String(contentsOfFile: folder + "/MANIFEST.tsv", encoding: .utf8)
    else { return [] }
    return text.split(separator: "\n").compactMap { line in
      let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard columns.count >= 8, columns[0].hasPrefix("files/") else { return nil }
      return CorpusFile(
        path: folder + "/" + columns[0], kind: String(columns[5]), expectation: String(columns[7]))
    }
  }()

  func bytes() throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
  }
}

@Suite(.enabled(if: CorpusFile.folder != nil, "VIDFETCH_CORPUS names no folder"))
struct StructureCorpusTests {
  @Test(arguments: CorpusFile.all)
  func wholeFilesAreNeverCalledDamaged(_ file: CorpusFile) throws {
    let bytes = try file.bytes()
    let sniffed = SourceSniffer.sniff(head: Array(bytes.prefix(8192)), size: Int64(bytes.count))
    guard case .media(let kind) = sniffed else {
      #expect(!file.expectation.contains("ok"), "\(sniffed)")
      return
    }
    do throws(FetchError) {
      try ProtectionScan.check(SourceReader(bytes), kind: kind ?? .other)
      #expect(!file.expectation.contains("encrypted"))
    } catch {
      #expect(error.code == .encrypted && file.expectation.contains("encrypted"))
    }
    let verdict = try ContainerStructure.examine(SourceReader(bytes), kind: kind ?? .other)
    if file.expectation.contains("ok") { #expect(!verdict.isDamaged, "\(verdict)") }
    if file.expectation.contains("damaged") || file.expectation.contains("truncated") {
      #expect(verdict.isDamaged, "\(verdict)")
    }
  }

  @Test(arguments: CorpusFile.all)
  func cutFilesAreNeverProven(_ file: CorpusFile) throws {
    let bytes = try file.bytes()
    guard
      case .media(let kind?) = SourceSniffer.sniff(
        head: Array(bytes.prefix(8192)), size: Int64(bytes.count))
    else { return }
    // Boxes behind all media (free, uuid, a trailer) may be missing without anything being lost.
    let end = kind == .mp4 ? try Self.mediaEnd(bytes) : bytes.count
    var generator = SeededGenerator(seed: UInt64(bytes.count))
    var cuts = (0..<60).map { _ in Int.random(in: 1..<end, using: &generator) }
    cuts += (1..<40).map { end - $0 }.filter { $0 > 0 }
    for cut in cuts {
      let reader = SourceReader(Array(bytes.prefix(cut)))
      #expect(try ContainerStructure.examine(reader, kind: kind) != .proven, "cut at \(cut)")
    }
  }

  @Test(arguments: CorpusFile.all)
  func mutatedFilesNeitherTrapNorHang(_ file: CorpusFile) throws {
    let bytes = try file.bytes()
    guard
      case .media(let kind?) = SourceSniffer.sniff(
        head: Array(bytes.prefix(8192)), size: Int64(bytes.count))
    else { return }
    var generator = SeededGenerator(seed: UInt64(bytes.count) &* 31)
    for _ in 0..<100 {
      let reader = SourceReader(StructureTests.mutated(bytes, &generator))
      try? ProtectionScan.check(reader, kind: kind)
      _ = try ContainerStructure.examine(reader, kind: kind)
    }
  }

  /// One past the last box of a file that carries media or its index.
  private static func mediaEnd(_ bytes: [UInt8]) throws -> Int {
    let window = SourceWindow(SourceReader(bytes), limit: Int64(bytes.count))
    var position: Int64 = 0
    var end = bytes.count
    while let box = try window.box(at: position, parentEnd: window.limit) {
      if ["moov", "moof", "mdat", "mfra"].contains(box.type) {
        end = Int(min(box.end, window.limit))
      }
      position = box.end
    }
    return end
  }
}
