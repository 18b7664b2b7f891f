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

@Suite(.enabled(if: CorpusFile.folder != nil))
struct StructureCorpusTests {
  @Test(arguments: CorpusFile.all)
  func wholeFilesAreNeverCalledDamaged(_ file: CorpusFile) throws {
    let bytes = try file.bytes()
    let sniffed = SourceSniffer.sniff(head: Array(bytes.prefix(8192)), size: Int64(bytes.count))
    var line = "\(file.path.split(separator: "/").last ?? "") \(sniffed)"
    if case .media(let kind) = sniffed {
      do throws(FetchError) {
        try ProtectionScan.check(SourceReader(bytes), kind: kind ?? .other)
      } catch {
        line += " ENC \(error.message)"
        #expect(error.code == .encrypted && file.expectation.contains("encrypted"))
      }
      let verdict = try ContainerStructure.examine(SourceReader(bytes), kind: kind ?? .other)
      line += " \(verdict)"
      if file.expectation.contains("ok") {
        #expect(!verdict.isDamaged, "\(file.path): \(verdict)")
      }
    } else {
      #expect(!file.expectation.contains("ok"))
    }
    if ProcessInfo.processInfo.environment["VIDFETCH_CORPUS_REPORT"] != nil {
      print("##", line, "| \(file.kind) | \(file.expectation)")
    }
  }
}
